package org.example.wake;

import android.content.Context;
import androidx.work.Worker;
import androidx.work.WorkerParameters;
import java.io.IOException;

/**
 * Brings about what the app wishes of the registration: "wake-register" at once for a new token,
 * "wake-renew" when it is due. Both are short, and the later one finds nothing left to do.
 */
public final class RegisterWork extends Worker {
    public RegisterWork(Context context, WorkerParameters parameters) {
        super(context, parameters);
    }

    @Override public Result doWork() {
        WakeApp app = (WakeApp) getApplicationContext();
        try {
            CheckWork.continueRegistration(app, app.client().renew(() -> !isStopped()));
            return Result.success();
        } catch (IOException fault) {
            return Result.retry();
        }
    }
}
