package org.example.wake;

import android.app.Notification;
import android.content.Context;
import androidx.core.app.NotificationCompat;
import androidx.core.app.NotificationManagerCompat;
import androidx.work.ExistingPeriodicWorkPolicy;
import androidx.work.Worker;
import androidx.work.WorkerParameters;
import java.io.IOException;
import java.util.Map;
import org.reveille.Registration;
import org.reveille.WakeClient;

/** Registers, checks, and notifies: the periodic poll, and what a push asks for. */
public final class CheckWork extends Worker {
    public CheckWork(Context context, WorkerParameters parameters) { super(context, parameters); }

    @Override public Result doWork() {
        WakeApp app = (WakeApp) getApplicationContext();
        try {
            WakeClient client = app.client();
            WakeClient.Result result = client.cycle(this::secrets, () -> !isStopped());
            notifyOf(client);
            continueRegistration(app, result);
            WakeApp.poll(app, client.pollSeconds(), ExistingPeriodicWorkPolicy.UPDATE);
            // The next poll tries again; a retry of WorkManager would be one more request at a time
            // of this device's own.
            return Result.success();
        } catch (IOException fault) {
            // Of the state's file: nothing was sent that was not written before.
            return Result.retry();
        }
    }

    /** The app's own: from its database, 16 to 1024 bytes each, by names that it knows again. */
    private Map<String, byte[]> secrets() throws IOException {
        return Secrets.of(getApplicationContext()).read();
    }

    /** A renewal has a work of its own, so that it does not wait for the next poll, nor a token for
     * it. */
    static void continueRegistration(Context context, WakeClient.Result result) {
        if (result.registration == Registration.State.REFUSED) {
            // A defect of the app, or of this token: SupportActivity shows it.
            return;
        }
        if (result.seconds >= 0) {
            WakeApp.enqueue(context, "wake-renew", RegisterWork.class, Math.max(1, result.seconds));
        }
    }

    /** Shown first, then acknowledged: a kill in between shows it again under the same tag. */
    private void notifyOf(WakeClient client) throws IOException {
        NotificationManagerCompat manager =
            NotificationManagerCompat.from(getApplicationContext());
        for (WakeClient.Match match : client.matches()) {
            Notification shown = new NotificationCompat.Builder(getApplicationContext(), "matches")
                .setSmallIcon(android.R.drawable.ic_dialog_info)
                .setContentTitle("This concerns you")
                .setContentText(match.note == null ? match.secretID : match.note)
                .build();
            manager.notify(match.id, 1, shown);
            client.acknowledge(match.id);
        }
    }
}
