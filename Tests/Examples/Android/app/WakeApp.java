package org.example.wake;

import android.app.Application;
import android.content.Context;
import android.os.Build;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyProperties;
import androidx.core.app.NotificationChannelCompat;
import androidx.core.app.NotificationManagerCompat;
import androidx.work.Constraints;
import androidx.work.ExistingPeriodicWorkPolicy;
import androidx.work.ExistingWorkPolicy;
import androidx.work.NetworkType;
import androidx.work.OneTimeWorkRequest;
import androidx.work.PeriodicWorkRequest;
import androidx.work.WorkManager;
import androidx.work.Worker;
import com.google.firebase.messaging.FirebaseMessaging;
import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.crypto.KeyGenerator;
import javax.crypto.SecretKey;
import org.reveille.Registration;
import org.reveille.WakeClient;

/** The one client of the process, and the works that call it. */
public final class WakeApp extends Application {
    private static final String SERVICE = "https://wake.example.org";
    private static final String FEED = "https://feed.example.org/feed";
    private static final String FEED_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    /** Files and the Keystore are not for the main thread. */
    static final Executor BACKGROUND = Executors.newSingleThreadExecutor();

    private WakeClient client;

    @Override public void onCreate() {
        super.onCreate();
        NotificationManagerCompat.from(this).createNotificationChannel(
            new NotificationChannelCompat.Builder(
                    "matches", NotificationManagerCompat.IMPORTANCE_HIGH)
                .setName("Matches").build());
        poll(this, 4 * 3600, ExistingPeriodicWorkPolicy.KEEP);
        // Also the token of an app that was just restored, or updated.
        FirebaseMessaging.getInstance().getToken().addOnSuccessListener(
            token -> register(Registration.PushToken.fcm(token)));
    }

    /** On a thread of the background. */
    synchronized WakeClient client() throws IOException {
        if (client != null) return client;
        File directory = new File(getNoBackupFilesDir(), "wake");
        WakeClient.Configuration configuration =
            new WakeClient.Configuration(SERVICE, FEED, FEED_KEY, directory);
        // Before Android 6 the directory of the app is all that protects the file.
        if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.M) configuration.sealedBy(key());
        client = new WakeClient(configuration);
        return client;
    }

    private static SecretKey key() throws IOException {
        try {
            KeyStore store = KeyStore.getInstance("AndroidKeyStore");
            store.load(null);
            SecretKey known = (SecretKey) store.getKey("wake", null);
            if (known != null) return known;
            KeyGenerator generator = KeyGenerator.getInstance("AES", "AndroidKeyStore");
            generator.init(
                new KeyGenParameterSpec.Builder(
                        "wake", KeyProperties.PURPOSE_ENCRYPT | KeyProperties.PURPOSE_DECRYPT)
                    .setBlockModes("GCM").setEncryptionPaddings("NoPadding").setKeySize(256)
                    .build());
            return generator.generateKey();
        } catch (GeneralSecurityException fault) {
            throw new IOException("the Keystore gives no key", fault);
        }
    }

    /** A push token, at each start and whenever there is another one. */
    void register(Registration.PushToken token) {
        BACKGROUND.execute(() -> {
            try {
                client().register(token);
                enqueue(this, "wake-register", Works.Register.class, 0);
            } catch (IOException fault) {
                // The disk is full: at the next start.
            }
        });
    }

    /** What a push asks for: a check within the time that the publisher spreads them over. */
    void pushed() {
        BACKGROUND.execute(() -> {
            try {
                long seconds = client().secondsAfterPush();
                if (seconds >= 0) enqueue(this, "wake-check", Works.Check.class, seconds);
            } catch (IOException fault) {
                // The poll comes all the same.
            }
        });
    }

    /** Unique by its name: a new token does not wait for a renewal that is due in days. */
    static void enqueue(
            Context context, String name, Class<? extends Worker> work, long seconds) {
        WorkManager.getInstance(context).enqueueUniqueWork(
            name, ExistingWorkPolicy.REPLACE,
            new OneTimeWorkRequest.Builder(work)
                .setConstraints(online())
                .setInitialDelay(seconds, TimeUnit.SECONDS)
                .build());
    }

    /** The floor: a push only makes an app look earlier. The first poll comes at random within its
     * time, so that the phones that were updated together do not ask together. */
    static void poll(Context context, long seconds, ExistingPeriodicWorkPolicy policy) {
        WorkManager.getInstance(context).enqueueUniquePeriodicWork(
            "wake-poll", policy,
            new PeriodicWorkRequest.Builder(Works.Check.class, seconds, TimeUnit.SECONDS)
                .setConstraints(online())
                .setInitialDelay(new Random().nextInt((int) seconds), TimeUnit.SECONDS)
                .build());
    }

    private static Constraints online() {
        return new Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build();
    }
}
