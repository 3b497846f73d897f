package org.reveille;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.CookieHandler;
import java.net.HttpURLConnection;
import java.net.ResponseCache;
import java.net.SocketTimeoutException;
import java.net.URISyntaxException;
import java.net.URL;
import java.security.GeneralSecurityException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/**
 * One request and its answer. Only constants that are the same for every client are added: no
 * language, no device, no cookie, no condition. Redirects are not followed, a connection serves one
 * request, and a TLS session is not resumed: it would tell the server which client comes back.
 */
final class Exchange {
    /** No answer, or not all of it; the message is a word without any address in it. */
    static final class Lost extends IOException {
        private static final long serialVersionUID = 1;

        Lost(String word) { super(word); }
    }

    /** Milliseconds: to connect, and in which some bytes must come. */
    static final int WINDOW = 30_000;
    /** The least that must come within one or two windows, and the windows of a whole answer. */
    private static final int LEAST_BYTES = 3840, MOST_WINDOWS = 20;

    private final HttpURLConnection line;
    private final int window;
    private volatile int received, windows;
    private volatile boolean isCut;
    int status;
    /** The field Retry-After; null for none. */
    String retryAfter;
    byte[] body;

    Exchange(URL url, WakeClient.Configuration configuration) throws IOException {
        line = (HttpURLConnection) url.openConnection();
        window = configuration.window;
        line.setInstanceFollowRedirects(false);
        // Without a cache there is nothing to forbid: the JVM would say so in two fields.
        line.setUseCaches(ResponseCache.getDefault() == null);
        line.setConnectTimeout(window);
        line.setReadTimeout(window);
        // Android's own names the device and its version, the JVM's the version of Java.
        set("User-Agent", "Reveille");
        set("Accept", "*/*");
        // Android would offer gzip.
        set("Accept-Encoding", "identity");
        set("Connection", "close");
        if (!(line instanceof HttpsURLConnection)) return;
        try {
            // Another one each time: with no session to resume.
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, configuration.trust, null);
            ((HttpsURLConnection) line).setSSLSocketFactory(context.getSocketFactory());
        } catch (GeneralSecurityException missing) {
            throw new Lost("tls");
        }
    }

    Exchange set(String field, String value) {
        line.setRequestProperty(field, value);
        return this;
    }

    /**
     * @param content null for none
     * @param limit of the body's bytes: what is beyond it is not read
     */
    Exchange run(String method, byte[] content, int limit, Registration.Running running)
            throws Lost {
        Timer watch = new Timer("reveille-watch", true);
        watch.schedule(new TimerTask() {
            private int before;

            @Override public void run() {
                boolean isSlow = windows > 0 && received - before < LEAST_BYTES;
                before = received;
                if (!isSlow && windows++ < MOST_WINDOWS) return;
                isCut = true;
                line.disconnect();
            }
        }, window, window);
        try {
            refuseCookies();
            line.setRequestMethod(method);
            if (content != null) {
                line.setDoOutput(true);
                line.getOutputStream().write(content);
            }
            status = line.getResponseCode();
            if (status < 0) throw new Lost("protocol");
            retryAfter = line.getHeaderField("Retry-After");
            InputStream in = status < 400 ? line.getInputStream() : line.getErrorStream();
            body = in == null ? new byte[0] : read(in, limit, running);
            return this;
        } catch (Lost lost) {
            throw lost;
        } catch (SSLException refused) {
            throw new Lost("tls");
        } catch (IOException lost) {
            throw new Lost(isCut || lost instanceof SocketTimeoutException ? "timeout" : "network");
        } finally {
            watch.cancel();
            line.disconnect();
        }
    }

    private byte[] read(InputStream in, int limit, Registration.Running running)
            throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[16_384];
        while (received < limit) {
            if (!running.isRunning()) throw new Lost("stopped");
            int count = in.read(buffer, 0, Math.min(buffer.length, limit - received));
            if (count < 0) break;
            bytes.write(buffer, 0, count);
            received += count;
            if (isCut) throw new Lost("timeout");
        }
        // A connection that is not kept says nothing of an end that came too early.
        if (received < Math.min(line.getContentLength(), limit)) throw new Lost("network");
        return bytes.toByteArray();
    }

    /** A cookie that the app's own CookieHandler took from these servers would name this client. */
    private void refuseCookies() throws IOException {
        CookieHandler handler = CookieHandler.getDefault();
        if (handler == null) return;
        try {
            Map<String, List<String>> none = Collections.emptyMap();
            for (List<String> cookies : handler.get(line.getURL().toURI(), none).values()) {
                if (!cookies.isEmpty()) throw new Lost("cookie");
            }
        } catch (URISyntaxException malformed) {
            throw new Lost("cookie");
        }
    }
}
