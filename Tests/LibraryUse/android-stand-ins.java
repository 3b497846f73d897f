// What Tests/Examples/Android/app needs of Android, WorkManager, Firebase and UnifiedPush, as far as the
// compiler sees it: names and signatures alone. Each part is a file, by the line before it.
// file android/R.java
package android;
public final class R {
    public static final class drawable { public static final int ic_dialog_info = 1; }
}
// file android/content/Context.java
package android.content;
public abstract class Context {
    public abstract Context getApplicationContext();
    public abstract java.io.File getNoBackupFilesDir();
}
// file android/content/ContextWrapper.java
package android.content;
public class ContextWrapper extends Context {
    @Override public Context getApplicationContext() { return this; }
    @Override public java.io.File getNoBackupFilesDir() { return null; }
}
// file android/app/Application.java
package android.app;
public class Application extends android.content.ContextWrapper {
    public void onCreate() {}
}
// file android/app/Service.java
package android.app;
public abstract class Service extends android.content.ContextWrapper {
    public final Application getApplication() { return null; }
}
// file android/app/Notification.java
package android.app;
public class Notification {}
// file android/app/Activity.java
package android.app;
public class Activity extends android.content.ContextWrapper {
    public final Application getApplication() { return null; }
    protected void onCreate(android.os.Bundle saved) {}
    protected void onResume() {}
    public void setContentView(android.view.View view) {}
    public final void runOnUiThread(Runnable action) {}
}
// file android/os/Bundle.java
package android.os;
public final class Bundle {}
// file android/os/Build.java
package android.os;
public class Build {
    public static class VERSION { public static final int SDK_INT = Integer.parseInt("21"); }
    public static class VERSION_CODES { public static final int M = 23; }
}
// file android/view/View.java
package android.view;
public class View {
    public interface OnClickListener { void onClick(View pressed); }
    public void setOnClickListener(OnClickListener listener) {}
}
// file android/widget/TextView.java
package android.widget;
public class TextView extends android.view.View {
    public TextView(android.content.Context context) {}
    public final void setText(CharSequence text) {}
    public void setTextIsSelectable(boolean is) {}
}
// file android/widget/Button.java
package android.widget;
public class Button extends TextView {
    public Button(android.content.Context context) { super(context); }
}
// file android/widget/LinearLayout.java
package android.widget;
public class LinearLayout extends android.view.View {
    public static final int VERTICAL = 1;
    public LinearLayout(android.content.Context context) {}
    public void setOrientation(int orientation) {}
    public void addView(android.view.View child) {}
}
// file android/security/keystore/KeyProperties.java
package android.security.keystore;
public abstract class KeyProperties {
    public static final int PURPOSE_ENCRYPT = 1, PURPOSE_DECRYPT = 2;
}
// file android/security/keystore/KeyGenParameterSpec.java
package android.security.keystore;
public final class KeyGenParameterSpec implements java.security.spec.AlgorithmParameterSpec {
    public static final class Builder {
        public Builder(String alias, int purposes) {}
        public Builder setBlockModes(String... modes) { return this; }
        public Builder setEncryptionPaddings(String... paddings) { return this; }
        public Builder setKeySize(int bits) { return this; }
        public KeyGenParameterSpec build() { return new KeyGenParameterSpec(); }
    }
}
// file androidx/core/app/NotificationCompat.java
package androidx.core.app;
public class NotificationCompat {
    public static class Builder {
        public Builder(android.content.Context context, String channel) {}
        public Builder setSmallIcon(int icon) { return this; }
        public Builder setContentTitle(CharSequence title) { return this; }
        public Builder setContentText(CharSequence text) { return this; }
        public android.app.Notification build() { return null; }
    }
}
// file androidx/core/app/NotificationChannelCompat.java
package androidx.core.app;
public class NotificationChannelCompat {
    public static class Builder {
        public Builder(String id, int importance) {}
        public Builder setName(CharSequence name) { return this; }
        public NotificationChannelCompat build() { return new NotificationChannelCompat(); }
    }
}
// file androidx/core/app/NotificationManagerCompat.java
package androidx.core.app;
public final class NotificationManagerCompat {
    public static final int IMPORTANCE_HIGH = 4;
    public static NotificationManagerCompat from(android.content.Context context) { return null; }
    public void createNotificationChannel(NotificationChannelCompat channel) {}
    public void notify(String tag, int id, android.app.Notification notification) {}
}
// file androidx/work/ListenableWorker.java
package androidx.work;
public abstract class ListenableWorker {
    public abstract static class Result {
        public static Result success() { return null; }
        public static Result retry() { return null; }
    }
    public ListenableWorker(android.content.Context context, WorkerParameters parameters) {}
    public final android.content.Context getApplicationContext() { return null; }
    public final boolean isStopped() { return false; }
}
// file androidx/work/Worker.java
package androidx.work;
public abstract class Worker extends ListenableWorker {
    public Worker(android.content.Context context, WorkerParameters parameters) {
        super(context, parameters);
    }
    public abstract Result doWork();
}
// file androidx/work/WorkerParameters.java
package androidx.work;
public final class WorkerParameters {}
// file androidx/work/NetworkType.java
package androidx.work;
public enum NetworkType { NOT_REQUIRED, CONNECTED }
// file androidx/work/Constraints.java
package androidx.work;
public final class Constraints {
    public static final class Builder {
        public Builder setRequiredNetworkType(NetworkType type) { return this; }
        public Constraints build() { return new Constraints(); }
    }
}
// file androidx/work/ExistingWorkPolicy.java
package androidx.work;
public enum ExistingWorkPolicy { REPLACE, KEEP, APPEND, APPEND_OR_REPLACE }
// file androidx/work/ExistingPeriodicWorkPolicy.java
package androidx.work;
public enum ExistingPeriodicWorkPolicy { KEEP, UPDATE, CANCEL_AND_REENQUEUE }
// file androidx/work/WorkRequest.java
package androidx.work;
public abstract class WorkRequest {
    public abstract static class Builder<B extends Builder<B, ?>, W extends WorkRequest> {
        abstract B self();
        public final B setConstraints(Constraints constraints) { return self(); }
        public B setInitialDelay(long duration, java.util.concurrent.TimeUnit unit) { return self(); }
        public final W build() { return null; }
    }
}
// file androidx/work/OneTimeWorkRequest.java
package androidx.work;
public final class OneTimeWorkRequest extends WorkRequest {
    public static final class Builder extends WorkRequest.Builder<Builder, OneTimeWorkRequest> {
        public Builder(Class<? extends ListenableWorker> worker) {}
        @Override Builder self() { return this; }
    }
}
// file androidx/work/PeriodicWorkRequest.java
package androidx.work;
public final class PeriodicWorkRequest extends WorkRequest {
    public static final class Builder extends WorkRequest.Builder<Builder, PeriodicWorkRequest> {
        public Builder(
            Class<? extends ListenableWorker> worker, long interval,
            java.util.concurrent.TimeUnit unit) {}
        @Override Builder self() { return this; }
    }
}
// file androidx/work/Operation.java
package androidx.work;
public interface Operation {}
// file androidx/work/WorkManager.java
package androidx.work;
public abstract class WorkManager {
    public static WorkManager getInstance(android.content.Context context) { return null; }
    public abstract Operation enqueueUniqueWork(
        String name, ExistingWorkPolicy policy, OneTimeWorkRequest work);
    public abstract Operation enqueueUniquePeriodicWork(
        String name, ExistingPeriodicWorkPolicy policy, PeriodicWorkRequest work);
}
// file com/google/android/gms/tasks/OnSuccessListener.java
package com.google.android.gms.tasks;
public interface OnSuccessListener<T> { void onSuccess(T result); }
// file com/google/android/gms/tasks/Task.java
package com.google.android.gms.tasks;
public abstract class Task<T> {
    public abstract Task<T> addOnSuccessListener(OnSuccessListener<? super T> listener);
}
// file com/google/firebase/messaging/RemoteMessage.java
package com.google.firebase.messaging;
public final class RemoteMessage {}
// file com/google/firebase/messaging/FirebaseMessaging.java
package com.google.firebase.messaging;
public class FirebaseMessaging {
    public static FirebaseMessaging getInstance() { return null; }
    public com.google.android.gms.tasks.Task<String> getToken() { return null; }
}
// file com/google/firebase/messaging/FirebaseMessagingService.java
package com.google.firebase.messaging;
public class FirebaseMessagingService extends android.app.Service {
    public void onNewToken(String token) {}
    public void onMessageReceived(RemoteMessage message) {}
}
// file org/unifiedpush/android/connector/FailedReason.java
package org.unifiedpush.android.connector;
public enum FailedReason { INTERNAL_ERROR, NETWORK, ACTION_REQUIRED, VAPID_REQUIRED }
// file org/unifiedpush/android/connector/PushService.java
package org.unifiedpush.android.connector;
import org.unifiedpush.android.connector.data.PushEndpoint;
import org.unifiedpush.android.connector.data.PushMessage;
public abstract class PushService extends android.app.Service {
    public abstract void onMessage(PushMessage message, String instance);
    public abstract void onNewEndpoint(PushEndpoint endpoint, String instance);
    public abstract void onRegistrationFailed(FailedReason reason, String instance);
    public abstract void onUnregistered(String instance);
}
// file org/unifiedpush/android/connector/data/PublicKeySet.java
package org.unifiedpush.android.connector.data;
public final class PublicKeySet {
    public String getPubKey() { return null; }
    public String getAuth() { return null; }
}
// file org/unifiedpush/android/connector/data/PushEndpoint.java
package org.unifiedpush.android.connector.data;
public final class PushEndpoint {
    public String getUrl() { return null; }
    public PublicKeySet getPubKeySet() { return null; }
}
// file org/unifiedpush/android/connector/data/PushMessage.java
package org.unifiedpush.android.connector.data;
public final class PushMessage {}
