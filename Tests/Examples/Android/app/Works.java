package org.example.wake;

import android.app.Notification;
import android.content.Context;
import androidx.core.app.NotificationCompat;
import androidx.core.app.NotificationManagerCompat;
import androidx.work.ExistingPeriodicWorkPolicy;
import androidx.work.Worker;
import androidx.work.WorkerParameters;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.LinkedHashMap;
import java.util.Map;
import org.reveille.Registration;
import org.reveille.WakeClient;

/** What WorkManager runs. */
public final class Works {
    private Works() {}

    /** Registers, checks, and notifies: the periodic poll, and what a push asks for. */
    public static final class Check extends Worker {
        public Check(Context context, WorkerParameters parameters) {
            super(context, parameters);
        }

        @Override public Result doWork() {
            WakeApp app = (WakeApp) getApplicationContext();
            try {
                WakeClient client = app.client();
                WakeClient.Result result = client.cycle(() -> secrets(app), () -> !isStopped());
                notifyOf(client);
                continueRegistration(app, result);
                WakeApp.poll(app, client.pollSeconds(), ExistingPeriodicWorkPolicy.UPDATE);
                // The next poll tries again; a retry of WorkManager would be one more request at a
                // time of this device's own.
                return Result.success();
            } catch (IOException fault) {
                // Of the state's file: nothing was sent that was not written before.
                return Result.retry();
            }
        }

        /** Shown first, then acknowledged: a kill in between shows it again under the same tag. */
        private void notifyOf(WakeClient client) throws IOException {
            NotificationManagerCompat manager =
                NotificationManagerCompat.from(getApplicationContext());
            for (WakeClient.Match match : client.matches()) {
                Notification shown = new NotificationCompat.Builder(
                        getApplicationContext(), "matches")
                    .setSmallIcon(android.R.drawable.ic_dialog_info)
                    .setContentTitle("This concerns you")
                    .setContentText(match.note == null ? match.secretID : match.note)
                    .build();
                manager.notify(match.id, 1, shown);
                client.acknowledge(match.id);
            }
        }
    }

    /**
     * Brings about what the app wishes of the registration: "wake-register" at once for a new
     * token, "wake-renew" when it is due. Both are short, and the later one finds nothing to do.
     */
    public static final class Register extends Worker {
        public Register(Context context, WorkerParameters parameters) {
            super(context, parameters);
        }

        @Override public Result doWork() {
            WakeApp app = (WakeApp) getApplicationContext();
            try {
                continueRegistration(app, app.client().renew(() -> !isStopped()));
                return Result.success();
            } catch (IOException fault) {
                return Result.retry();
            }
        }
    }

    /** A renewal has a work of its own, so that it does not wait for the next poll, nor a token for
     * it. */
    private static void continueRegistration(Context context, WakeClient.Result result) {
        if (result.registration == Registration.State.REFUSED) {
            // A defect of the app, or of this token: SupportActivity shows it.
            return;
        }
        if (result.seconds >= 0) {
            WakeApp.enqueue(context, "wake-renew", Register.class, Math.max(1, result.seconds));
        }
    }

    /** The secrets of this device. Here each is a file in a folder; an app has them where it has
     * its other data. What cannot be read throws: then the check asks for what every client asks
     * for, and tries again. */
    private static Map<String, byte[]> secrets(Context context) throws IOException {
        Map<String, byte[]> secrets = new LinkedHashMap<>();
        File[] files = new File(context.getNoBackupFilesDir(), "secrets").listFiles();
        for (File file : files == null ? new File[0] : files) {
            try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
                byte[] secret = new byte[(int) Math.min(in.length(), 1024)];
                in.readFully(secret);
                secrets.put(file.getName(), secret);
            }
        }
        return secrets;
    }
}
