package org.example.wake;

import com.google.firebase.messaging.FirebaseMessagingService;
import com.google.firebase.messaging.RemoteMessage;
import org.reveille.Registration;
import org.unifiedpush.android.connector.FailedReason;
import org.unifiedpush.android.connector.PushService;
import org.unifiedpush.android.connector.data.PublicKeySet;
import org.unifiedpush.android.connector.data.PushEndpoint;
import org.unifiedpush.android.connector.data.PushMessage;

/** The two ways by which pushes come; an app may have one of them. Every push says: look. */
public final class PushServices {
    private PushServices() {}

    /** Firebase's side. */
    public static final class Firebase extends FirebaseMessagingService {
        @Override public void onNewToken(String token) {
            ((WakeApp) getApplication()).register(Registration.PushToken.fcm(token));
        }

        @Override public void onMessageReceived(RemoteMessage message) {
            ((WakeApp) getApplication()).pushed();
        }
    }

    /** UnifiedPush's side, with its connector 3, for phones without Google. The app subscribes with
     * the service's key, which GET /v1/webpush gives. */
    public static final class UnifiedPush extends PushService {
        @Override public void onNewEndpoint(PushEndpoint endpoint, String instance) {
            PublicKeySet keys = endpoint.getPubKeySet();
            ((WakeApp) getApplication()).register(
                keys == null
                    ? Registration.PushToken.webPush(endpoint.getUrl())
                    : Registration.PushToken.webPush(
                        endpoint.getUrl(), keys.getPubKey(), keys.getAuth()));
        }

        @Override public void onMessage(PushMessage message, String instance) {
            ((WakeApp) getApplication()).pushed();
        }

        /** Polling is the floor: nothing is lost but time. */
        @Override public void onRegistrationFailed(FailedReason reason, String instance) {}

        @Override public void onUnregistered(String instance) {}
    }
}
