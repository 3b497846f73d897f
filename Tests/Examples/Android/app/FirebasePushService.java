package org.example.wake;

import com.google.firebase.messaging.FirebaseMessagingService;
import com.google.firebase.messaging.RemoteMessage;
import org.reveille.Registration;

/**
 * Firebase's side. In the manifest:
 *
 * <pre>
 * &lt;service android:name=".FirebasePushService" android:exported="false"&gt;
 *     &lt;intent-filter&gt;
 *         &lt;action android:name="com.google.firebase.MESSAGING_EVENT" /&gt;
 *     &lt;/intent-filter&gt;
 * &lt;/service&gt;
 * </pre>
 */
public final class FirebasePushService extends FirebaseMessagingService {
    @Override public void onNewToken(String token) {
        ((WakeApp) getApplication()).register(Registration.PushToken.fcm(token));
    }

    /** Every push says the same: look. */
    @Override public void onMessageReceived(RemoteMessage message) {
        ((WakeApp) getApplication()).pushed();
    }
}
