package org.reveille;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.SecretKey;
import javax.net.ssl.TrustManager;

/**
 * The client of one app: its registration at a service, and what it has checked of a feed. One
 * object in one process, for every thread; Deploy/PHONES.md shows the use.
 *
 * <p>Everything that it keeps is one file, replaced as a whole: a kill at any moment loses no match
 * and makes none of one two.
 */
public final class WakeClient implements Closeable {
    /** The secrets of this device, by the app's own names for them. */
    public interface Secrets {
        /** All of them, of 16 to 1024 bytes each. When this throws, the check requests what every
         * client requests, and finds nothing. */
        Map<String, byte[]> read() throws Exception;
    }

    /** A published item that belongs to a secret. */
    public static final class Match {
        /** The same however often it is published: a name for the notification. */
        public final String id;
        /** The app's name for the secret. */
        public final String secretID;
        /** The publisher's note, which may be empty; null if there is none. */
        public final byte[] noteBytes;
        /** The note as text; null if there is none. What is not UTF-8 in it is U+FFFD. */
        public final String note;

        private Match(String id, String secretID, byte[] noteBytes) {
            this.id = id;
            this.secretID = secretID;
            this.noteBytes = noteBytes;
            note = noteBytes == null ? null : Bytes.characters(noteBytes);
        }
    }

    /** What {@link #cycle} or {@link #renew} came to. */
    public static final class Result {
        public final Registration.State registration;
        /** Seconds until the registration is due again: before that, nothing is sent for it. -1:
         * nothing is due. */
        public final long seconds;
        /** Why the check did not come to its end, as {@link ClientStatus#failure}; or null. */
        public final String failure;
        /** What {@link Secrets#read} threw; null if nothing. */
        public final Exception unreadable;

        private Result(
                Registration.State registration, long seconds, String failure,
                Exception unreadable) {
            this.registration = registration;
            this.seconds = seconds;
            this.failure = failure;
            this.unreadable = unreadable;
        }
    }

    /** What an app says of itself. */
    public static final class Configuration {
        final String service, feed;
        final byte[] feedKey;
        final File directory;
        WitnessPolicy policy;
        SecretKey key;
        /** Null: the system's. */
        TrustManager[] trust;
        int window = Exchange.WINDOW;

        /**
         * @param service the service's URL, such as https://wake.example.org
         * @param feed the feed's URL, such as https://feed.example.org/feed
         * @param feedKey a key of the feed, best the newest: 43 characters, as `reveille init`
         *     prints it
         * @param directory of the state, for one client alone: of Android's noBackupFilesDir
         * @throws IllegalArgumentException for what is no such URL or key
         */
        public Configuration(String service, String feed, String feedKey, File directory) {
            this.service = base(service);
            this.feed = base(feed);
            this.feedKey = Bytes.fromBase64URL(feedKey);
            if (this.feedKey == null || !Ed25519.isKey(this.feedKey)) {
                throw new IllegalArgumentException("the feed's key is none");
            }
            this.directory = directory;
        }

        /** Believes only heads that a quorum of witnesses has cosigned.
         * @param policy the text that the feed's operator publishes */
        public Configuration witnesses(String policy) {
            this.policy = new WitnessPolicy(policy);
            return this;
        }

        /** Seals the state with a key for AES and GCM, of the Android Keystore or another one. */
        public Configuration sealedBy(SecretKey key) {
            this.key = key;
            return this;
        }

        /** Trusts what these trust, as an app that pins keys, in place of the system's. (Those of a
         * network security configuration of Android are the system's.) */
        public Configuration trusting(TrustManager... managers) {
            trust = managers.clone();
            return this;
        }

        /** For tests: the milliseconds in which a server has to say something. */
        Configuration window(int milliseconds) {
            window = milliseconds;
            return this;
        }

        /** Without a slash at its end. */
        private static String base(String text) {
            try {
                URL url = new URL(text);
                boolean isLocal = url.getHost().matches("localhost|127\\.[0-9.]+|\\[::1\\]");
                boolean isSafe = url.getProtocol().equals("https")
                    || url.getProtocol().equals("http") && isLocal;
                if (isSafe && !url.getHost().isEmpty() && url.getUserInfo() == null
                        && url.getQuery() == null && url.getRef() == null) {
                    return text.replaceAll("/+$", "");
                }
            } catch (MalformedURLException malformed) {
                // As any other text.
            }
            throw new IllegalArgumentException("not the https URL of a service or a feed");
        }
    }

    /** Of what the service says, a problem at most. */
    private static final int ANSWER = 4096;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Configuration configuration;
    /** Its lock is never held while something is sent. */
    private final ClientStore store;
    private final FeedCheck check;
    /** Of one request at a time. */
    private final Object line = new Object();
    /** What was found by checks that have ended. */
    private List<Match> shown;

    /** @throws IOException when the state cannot be read, or another client uses its directory. If
     *     its key is lost: delete the directory and begin again; the old row expires by itself */
    public WakeClient(Configuration configuration) throws IOException {
        this.configuration = configuration;
        store = new ClientStore(configuration);
        check = new FeedCheck(configuration, store);
        boolean isOpen = false;
        synchronized (store) {
            try {
                store.state().serve(configuration.service, now());
                store.save();
                show();
                isOpen = true;
            } finally {
                if (!isOpen) store.close();
            }
        }
    }

    /** Lets another client have the directory. */
    @Override public void close() throws IOException {
        synchronized (line) {
            store.close();
        }
    }

    // ---- Registration ---------------------------------------------------------------------------

    /** Stores the wish; {@link #cycle} or {@link #renew} brings it about. At each start of the app,
     * and whenever the system issues another token. */
    public void register(Registration.PushToken token) throws IOException {
        synchronized (store) {
            registration(configuration.service).register(token, now());
            store.save();
        }
    }

    /** The same for the wish that the service holds nothing. */
    public void unregister() throws IOException {
        synchronized (store) {
            registration(configuration.service).erase(now());
            store.save();
        }
    }

    private Feed feed() { return store.state().feed; }

    private Registration registration(String service) {
        return store.state().registrations.get(service);
    }

    /**
     * Does what is due of the registration, and no check: not on the main thread. A second thread
     * waits for the first.
     *
     * @throws IOException of the state's file: nothing is sent that was not written before
     */
    public Result renew(Registration.Running running) throws IOException {
        synchronized (line) {
            renewDue(running);
            return result(null, null);
        }
    }

    private Result result(String failure, Exception unreadable) {
        synchronized (store) {
            long seconds = -1;
            for (Registration each : store.state().registrations.values()) {
                long due = isSuspended(each) ? -1 : each.secondsUntilDue(now());
                if (due >= 0 && (seconds < 0 || due < seconds)) seconds = due;
            }
            return new Result(registrationState(), seconds, failure, unreadable);
        }
    }

    private Registration.State registrationState() {
        Registration registration = registration(configuration.service);
        Registration.State own = registration.state();
        boolean isWished = own == Registration.State.REGISTERED
            || own == Registration.State.REGISTERING;
        if (isWished && isSuspended(registration)) return Registration.State.SUSPENDED;
        boolean isLeft = store.state().registrations.size() > 1;
        return isLeft && own == Registration.State.NONE ? Registration.State.UNREGISTERING : own;
    }

    /** The publisher wants no push tokens for now; erasures are sent all the same. */
    private boolean isSuspended(Registration registration) {
        return (feed().isWithoutRegistration() || feed().isRetired())
            && registration.state() != Registration.State.UNREGISTERING;
    }

    private void renewDue(Registration.Running running) throws IOException {
        List<String> services;
        synchronized (store) {
            services = new ArrayList<>(store.state().registrations.keySet());
        }
        for (String service : services) {
            while (running.isRunning() && renewStep(service, running)) {}
        }
    }

    /** @return whether there may be more to do now */
    private boolean renewStep(String service, Registration.Running running) throws IOException {
        Registration.Step step;
        synchronized (store) {
            Registration registration = registration(service);
            if (registration == null || isSuspended(registration)) return false;
            step = registration.next(now());
            if (step.kind == Registration.Step.Kind.REST
                    || step.kind == Registration.Step.Kind.WAIT) {
                return false;
            }
            // Before it leaves: a token that was forgotten cannot be deleted any more.
            store.save();
        }
        if (step.kind == Registration.Step.Kind.SOLVE) {
            String proof = step.challenge.solve(running);
            synchronized (store) {
                registration(service).add(proof, step.challenge);
            }
            return proof != null;
        }
        send(service, step.request, running);
        return true;
    }

    private void send(String service, Registration.Request request, Registration.Running running)
            throws IOException {
        Exchange answer = null;
        String failure = "fault";
        try {
            answer = exchange(service + "/v1/registration", request, running);
            failure = answer.status == 204 ? "" : "httpStatus " + answer.status;
        } catch (Exchange.Lost lost) {
            // It may have arrived, and comes again.
            failure = lost.getMessage();
        } finally {
            // Also when this throws what is no loss of the network.
            synchronized (store) {
                Registration registration = registration(service);
                if (answer == null) {
                    registration.failed(now());
                } else {
                    registration.received(
                        answer.status, request, answer.retryAfter, answer.body, now());
                }
                store.state().registrationFailure = failure;
                store.state().dropDone(configuration.service);
                store.save();
            }
        }
    }

    private Exchange exchange(
            String url, Registration.Request request, Registration.Running running)
            throws IOException {
        Exchange exchange = new Exchange(new URL(url), configuration)
            .set("Authorization", request.authorization);
        if (request.body != null) exchange.set("Content-Type", "application/json");
        if (request.padding != null) exchange.set("Padding", request.padding);
        return exchange.run(request.method, request.body, ANSWER, running);
    }

    /**
     * Asks the service for one push to this device, for a page of the app that shows whether pushes
     * arrive: the app sees it come, as a rule within seconds, or not. Not on the main thread.
     *
     * @return null if the service has taken it; else {@code notRegistered}, {@code httpStatus 429}
     *     within ten minutes of the one before, or another word of {@link ClientStatus#failure}
     */
    public String testPush(Registration.Running running) throws IOException {
        synchronized (line) {
            Registration.Request request;
            synchronized (store) {
                request = registration(configuration.service).pushRequest();
            }
            if (request == null) return "notRegistered";
            try {
                String url = configuration.service + "/v1/registration/wake";
                int status = exchange(url, request, running).status;
                return status == 202 ? null : "httpStatus " + status;
            } catch (Exchange.Lost lost) {
                return lost.getMessage();
            }
        }
    }

    // ---- Check ----------------------------------------------------------------------------------

    /**
     * Does what is due of the registration, and checks what is published now; matches are there
     * when it returns, and not before. Not on the main thread: it takes seconds. A second thread
     * waits for the first.
     *
     * @throws IOException of the state's file: nothing is sent that was not written before, and
     *     nothing counts that was not written
     */
    public Result cycle(Secrets secrets, Registration.Running running) throws IOException {
        synchronized (line) {
            long begin = System.nanoTime();
            Map<String, byte[]> read = null;
            Exception unreadable = null;
            try {
                read = new LinkedHashMap<>(secrets.read());
            } catch (Exception thrown) {
                unreadable = thrown;
            }
            try {
                renewDue(running);
                return result(check.run(read, begin, running), unreadable);
            } finally {
                synchronized (store) {
                    show();
                }
            }
        }
    }

    // ---- Matches --------------------------------------------------------------------------------

    /** What was found and not acknowledged, the oldest first. */
    public List<Match> matches() {
        synchronized (store) {
            return shown;
        }
    }

    private void show() {
        List<Match> all = new ArrayList<>();
        for (Map.Entry<String, ClientState.Found> each : store.state().matches.entrySet()) {
            ClientState.Found found = each.getValue();
            if (found.secret != null) all.add(new Match(each.getKey(), found.secret, found.note));
        }
        shown = Collections.unmodifiableList(all);
    }

    /** The user was notified: note and name are erased, and only the id is kept. Not on the main
     * thread: it waits until no check runs. */
    public void acknowledge(String id) throws IOException {
        synchronized (line) {
            synchronized (store) {
                ClientState.Found found = store.state().matches.get(id);
                if (found == null || found.secret == null) return;
                found.secret = null;
                found.note = null;
                found.shown = now();
                store.save();
                show();
            }
        }
    }

    // ---- Around it ------------------------------------------------------------------------------

    /** Seconds between two polls, as the publisher wants it. */
    public long pollSeconds() {
        synchronized (store) {
            return Math.max(900, Math.min(feed().pollSeconds(), 86_400));
        }
    }

    /** How long to wait after a push before {@link #cycle}, drawn anew each time; -1: this push is
     * ignored, as the publisher has paused wake-ups or ended the feed. */
    public long secondsAfterPush() {
        synchronized (store) {
            if (feed().isRetired() || pausedUntil() > now()) return -1;
            // A client that was just installed waits for its first head.
            long spread = feed().issued() < 0 ? 10 : Math.min(feed().spreadSeconds(), 3600);
            return (long) (RANDOM.nextDouble() * (spread + 1));
        }
    }

    private long pausedUntil() {
        long seen = store.state().directivesSeen, pause = feed().pauseSeconds();
        return pause > 0 && now() >= seen ? seen + pause : 0;
    }

    public ClientStatus status() {
        synchronized (store) {
            return new ClientStatus(store.state(), registrationState(), pausedUntil(), now());
        }
    }

    /** For a support page: what the client knows about itself, as text in English, without any
     * token, address or URL. */
    public String diagnostics() { return status().toString(); }

    /** After {@link ClientStatus#isForked}: the head that was accepted, and the head or the header
     * of a batch that contradicts it. Empty otherwise. */
    public List<byte[]> evidence() {
        synchronized (store) {
            return feed().isForked()
                ? Arrays.asList(feed().head(), store.state().evidence)
                : Collections.<byte[]>emptyList();
        }
    }

    /** Begins the feed again: all that is retained is checked once more. Matches that were shown
     * are not shown again, and keys that have retired stay so. */
    public void startOver() throws IOException {
        synchronized (line) {
            synchronized (store) {
                ClientState state = store.state();
                state.feed = state.feed.restarted();
                state.evidence = new byte[0];
                state.verified = 0;
                store.save();
            }
        }
    }

    static long now() { return System.currentTimeMillis() / 1000; }
}
