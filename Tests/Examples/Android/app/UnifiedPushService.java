package org.example.wake;

import org.reveille.Registration;
import org.unifiedpush.android.connector.FailedReason;
import org.unifiedpush.android.connector.PushService;
import org.unifiedpush.android.connector.data.PublicKeySet;
import org.unifiedpush.android.connector.data.PushEndpoint;
import org.unifiedpush.android.connector.data.PushMessage;

/**
 * UnifiedPush's side, with its connector 3, for phones without Google. In the manifest:
 *
 * <pre>
 * &lt;service android:name=".UnifiedPushService" android:exported="false"&gt;
 *     &lt;intent-filter&gt;
 *         &lt;action android:name="org.unifiedpush.android.connector.PUSH_EVENT" /&gt;
 *     &lt;/intent-filter&gt;
 * &lt;/service&gt;
 * </pre>
 *
 * <p>The app subscribes with the service's key, which GET /v1/webpush gives.
 */
public final class UnifiedPushService extends PushService {
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
