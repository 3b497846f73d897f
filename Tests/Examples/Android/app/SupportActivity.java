package org.example.wake;

import android.app.Activity;
import android.os.Bundle;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.TextView;
import java.io.IOException;
import org.reveille.ClientStatus;
import org.reveille.Registration;
import org.reveille.WakeClient;

/** The settings page: how it stands, a text for the support, and the way out. */
public final class SupportActivity extends Activity {
    private TextView page;

    @Override protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        page = new TextView(this);
        // A person may copy it into a message: no token, address or URL is in it.
        page.setTextIsSelectable(true);
        Button out = new Button(this);
        out.setText("Delete my registration");
        out.setOnClickListener(pressed -> unregister());
        Button test = new Button(this);
        test.setText("Test pushes");
        test.setOnClickListener(pressed -> testPush());
        LinearLayout all = new LinearLayout(this);
        all.setOrientation(LinearLayout.VERTICAL);
        all.addView(page);
        all.addView(test);
        all.addView(out);
        setContentView(all);
    }

    @Override protected void onResume() {
        super.onResume();
        WakeApp.BACKGROUND.execute(() -> {
            try {
                WakeClient client = ((WakeApp) getApplication()).client();
                String text = summary(client.status()) + "\n\n" + client.diagnostics();
                runOnUiThread(() -> page.setText(text));
            } catch (IOException fault) {
                runOnUiThread(() -> page.setText("The state cannot be read."));
            }
        });
    }

    private static String summary(ClientStatus status) {
        if (status.isForked) return "The publisher has shown two different feeds.";
        if (status.silentDays >= 2) return "No check for " + status.silentDays + " days.";
        if (status.registration == Registration.State.REFUSED) {
            return "Pushes are not possible with this version of the app. Checks continue.";
        }
        return status.lastChecked == null ? "Not checked yet." : "In order.";
    }

    /** A page that also listens for WakeApp.pushed could show the moment at which it arrives. */
    private void testPush() {
        WakeApp.BACKGROUND.execute(() -> {
            try {
                String refusal = ((WakeApp) getApplication()).client().testPush(() -> true);
                runOnUiThread(() -> page.setText(
                    refusal == null ? "A push is on its way." : "Not asked for: " + refusal));
            } catch (IOException fault) {
                runOnUiThread(() -> page.setText("The state cannot be read."));
            }
        });
    }

    private void unregister() {
        WakeApp.BACKGROUND.execute(() -> {
            try {
                ((WakeApp) getApplication()).client().unregister();
                WakeApp.enqueue(this, "wake-register", Works.Register.class, 0);
            } catch (IOException fault) {
                runOnUiThread(() -> page.setText("Not stored: try again."));
            }
        });
    }
}
