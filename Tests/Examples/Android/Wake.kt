// The glue of the folder `app`, in Kotlin. It is not compiled by the tests, as the Java of that folder is.
package org.example.wake

import android.app.Application
import android.content.Context
import android.os.Build
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties.PURPOSE_DECRYPT
import android.security.keystore.KeyProperties.PURPOSE_ENCRYPT
import androidx.core.app.NotificationChannelCompat
import androidx.core.app.NotificationCompat
import androidx.core.app.NotificationManagerCompat
import androidx.work.*
import com.google.firebase.messaging.FirebaseMessaging
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import java.io.File
import java.io.IOException
import java.security.KeyStore
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import kotlin.random.Random
import org.reveille.Registration
import org.reveille.WakeClient
import org.unifiedpush.android.connector.FailedReason
import org.unifiedpush.android.connector.PushService
import org.unifiedpush.android.connector.data.PushEndpoint
import org.unifiedpush.android.connector.data.PushMessage

class WakeApp : Application() {
    private val background = Executors.newSingleThreadExecutor()

    /** Not for the main thread. */
    val client: WakeClient by lazy {
        val configuration = WakeClient.Configuration(
            "https://wake.example.org", "https://feed.example.org/feed",
            "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", File(noBackupFilesDir, "wake"))
        if (Build.VERSION.SDK_INT >= 23) configuration.sealedBy(key())
        WakeClient(configuration)
    }

    override fun onCreate() {
        super.onCreate()
        NotificationManagerCompat.from(this).createNotificationChannel(
            NotificationChannelCompat.Builder("matches", NotificationManagerCompat.IMPORTANCE_HIGH)
                .setName("Matches").build())
        poll(4 * 3600, ExistingPeriodicWorkPolicy.KEEP)
        FirebaseMessaging.getInstance().token.addOnSuccessListener { register(Registration.PushToken.fcm(it)) }
    }

    /** At each start, and whenever there is another token. */
    fun register(token: Registration.PushToken) = background.execute {
        client.register(token)
        enqueue<RegisterWork>("wake-register", 0)
    }

    fun pushed() = background.execute {
        val seconds = client.secondsAfterPush()
        if (seconds >= 0) enqueue<CheckWork>("wake-check", seconds)
    }

    private fun key(): SecretKey = KeyStore.getInstance("AndroidKeyStore").run {
        load(null)
        getKey("wake", null) as SecretKey? ?: KeyGenerator.getInstance("AES", "AndroidKeyStore").run {
            init(KeyGenParameterSpec.Builder("wake", PURPOSE_ENCRYPT or PURPOSE_DECRYPT)
                .setBlockModes("GCM").setEncryptionPaddings("NoPadding").setKeySize(256).build())
            generateKey()
        }
    }
}

val online = Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build()

/** Unique by its name: a new token does not wait for a renewal that is due in days. */
inline fun <reified W : ListenableWorker> Context.enqueue(name: String, seconds: Long) =
    WorkManager.getInstance(this).enqueueUniqueWork(
        name, ExistingWorkPolicy.REPLACE, OneTimeWorkRequestBuilder<W>()
            .setConstraints(online).setInitialDelay(seconds, TimeUnit.SECONDS).build())

/** The floor: a push only makes an app look earlier. */
fun Context.poll(seconds: Long, policy: ExistingPeriodicWorkPolicy) =
    WorkManager.getInstance(this).enqueueUniquePeriodicWork(
        "wake-poll", policy, PeriodicWorkRequestBuilder<CheckWork>(seconds, TimeUnit.SECONDS)
            .setConstraints(online).setInitialDelay(Random.nextLong(seconds), TimeUnit.SECONDS).build())

class CheckWork(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    override fun doWork(): Result = try {
        val client = (applicationContext as WakeApp).client
        val result = client.cycle({ applicationContext.secrets() }) { !isStopped }
        for (match in client.matches()) {
            NotificationManagerCompat.from(applicationContext).notify(
                match.id, 1, NotificationCompat.Builder(applicationContext, "matches")
                    .setSmallIcon(android.R.drawable.ic_dialog_info)
                    .setContentTitle("This concerns you").setContentText(match.note ?: match.secretID).build())
            client.acknowledge(match.id)
        }
        applicationContext.renewLater(result)
        applicationContext.poll(client.pollSeconds(), ExistingPeriodicWorkPolicy.UPDATE)
        Result.success()
    } catch (fault: IOException) { Result.retry() }
}

class RegisterWork(context: Context, parameters: WorkerParameters) : Worker(context, parameters) {
    override fun doWork(): Result = try {
        applicationContext.renewLater((applicationContext as WakeApp).client.renew { !isStopped })
        Result.success()
    } catch (fault: IOException) { Result.retry() }
}

/** Here each is a file in a folder; an app has them where it has its other data. */
fun Context.secrets(): Map<String, ByteArray> =
    (File(noBackupFilesDir, "secrets").listFiles() ?: emptyArray()).associate { it.name to it.readBytes() }

fun Context.renewLater(result: WakeClient.Result) {
    if (result.seconds >= 0) enqueue<RegisterWork>("wake-renew", maxOf(1, result.seconds))
}

class FirebasePushService : FirebaseMessagingService() {
    override fun onNewToken(token: String) =
        (application as WakeApp).register(Registration.PushToken.fcm(token))

    override fun onMessageReceived(message: RemoteMessage) = (application as WakeApp).pushed()
}

class UnifiedPushService : PushService() {
    override fun onNewEndpoint(endpoint: PushEndpoint, instance: String) {
        val keys = endpoint.pubKeySet
        (application as WakeApp).register(
            if (keys == null) Registration.PushToken.webPush(endpoint.url)
            else Registration.PushToken.webPush(endpoint.url, keys.pubKey, keys.auth))
    }

    override fun onMessage(message: PushMessage, instance: String) = (application as WakeApp).pushed()
    override fun onRegistrationFailed(reason: FailedReason, instance: String) {}
    override fun onUnregistered(instance: String) {}
}
