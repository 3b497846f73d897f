package org.reveille;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/**
 * The registration of one app instance at a Reveille service, for Android and every other JVM. Copy
 * this file: it needs the standard library alone, of Java 8 and of Android 5 (API level 21), and is
 * called from Kotlin as it is. The rules are those of Policy/PROTOCOL.md; Deploy/PHONES.md shows
 * the use.
 *
 * <p>{@link Client} is what an app calls. A {@code Registration} itself is the machine behind it:
 * it says what to send next, and when, and sends nothing. One thread at a time.
 */
public final class Registration {
    /** Seconds after which a registration is renewed, at random: nobody learns a rhythm. */
    public static final long SHORTEST_RENEWAL = 86_400, LONGEST_RENEWAL = 86_400 * 7 / 3;

    private static final long LONGEST_PAUSE = 6 * 3600;
    private static final SecureRandom RANDOM = new SecureRandom();

    /** 32 random bytes under which the service knows this instance; null before the first request
     * and after a deletion: none is used again. */
    private byte[] instanceToken;
    private PushToken wish;
    /** What the service said 204 to. */
    private PushToken confirmed;
    private boolean isErasing;
    /** The service refuses this push token for good. */
    private boolean isRefused;
    private int failures;
    private long nextTime;
    private Challenge challenge;
    private String proof;

    /** For an app that has not been started before. */
    public Registration() {}

    /** Whether the service has said that it holds the present push token. */
    public boolean isRegistered() { return wish != null && wish.equals(confirmed) && !isErasing; }

    /** Whether the service refuses the present push token for good: a defect of the app, or a token
     * of another form. Nothing is sent until there is another one. */
    public boolean isRefused() { return isRefused; }

    /** Registers a push token, at each start of the app and whenever the system issues another. */
    public void register(PushToken token, long now) {
        if (!token.equals(wish)) {
            isRefused = false;
            // A pause that the service asked for holds for every token.
            if (failures == 0 && !token.equals(confirmed)) nextTime = now;
        }
        wish = token;
    }

    /** Deletes the registration; the service has forgotten it when {@link #next} says REST. */
    public void erase(long now) {
        wish = null;
        challenge = null;
        proof = null;
        isErasing = instanceToken != null;
        if (isErasing) {
            failures = 0;
            nextTime = now;
        }
    }

    /** What to do at this time, in seconds since 1970. */
    public Step next(long now) {
        if (!isErasing && (wish == null || isRefused)) return new Step(Step.Kind.REST);
        // A clock that was set back must not stop renewals.
        nextTime = Math.min(nextTime, now + LONGEST_RENEWAL);
        if (now < nextTime) return new Step(nextTime);
        if (challenge != null && proof == null) {
            if (now < challenge.expires && now + 3600 >= challenge.expires) {
                return new Step(challenge);
            }
            challenge = null;
        }
        if (instanceToken == null) RANDOM.nextBytes(instanceToken = new byte[32]);
        String authorization = "Bearer " + base64URL(instanceToken);
        if (isErasing) return new Step(new Request("DELETE", authorization, null, null, false));
        byte[] body = wish.body(proof);
        return new Step(new Request("PUT", authorization, body, wish, proof != null));
    }

    /** Continues with a solved challenge; null: none was found in time. */
    public void add(String proof, Challenge challenge) {
        if (challenge != this.challenge) return;
        this.proof = proof;
        if (proof == null) this.challenge = null;
    }

    /**
     * @param retryAfter the field Retry-After, or null
     * @param body of an answer with another status than 204
     */
    public void received(int status, Request request, String retryAfter, byte[] body, long now) {
        proof = null;
        challenge = null;
        if (status == 204) {
            succeeded(request, now);
            return;
        }
        long asked = 0;
        if (retryAfter != null && retryAfter.matches("[0-9]{1,9}")) {
            asked = Math.min(Long.parseLong(retryAfter), 86_400);
        }
        if (request.method.equals("DELETE")) {
            pause(now, asked);
        } else if (status == 429) {
            if (!isErasing) challenge = Challenge.of(body, instanceToken, now);
            // A proof that was not enough: many come, and not at once again.
            if (challenge == null || request.hasProof) pause(now, challenge == null ? asked : 0);
        } else if (status == 422) {
            // Only the operator can change that.
            pause(now, LONGEST_PAUSE);
        } else if (status == 400 || status == 401 || status == 413) {
            // Not of the form that this service takes: a defect of this app, or of the token.
            isRefused = request.token.equals(wish);
        } else {
            pause(now, asked);
        }
    }

    /** The request got no answer. The service may have done it: it will be sent again. */
    public void failed(long now) { pause(now, 0); }

    private void succeeded(Request request, long now) {
        failures = 0;
        nextTime = now;
        if (request.method.equals("DELETE")) {
            instanceToken = null;
            confirmed = null;
            isErasing = false;
        } else if (!isErasing) {
            confirmed = request.token;
            if (confirmed.equals(wish)) nextTime = now + random(SHORTEST_RENEWAL, LONGEST_RENEWAL);
        }
    }

    /** 30 s and twice as long each time, 6 hours at most, and half of it at random. */
    private void pause(long now, long asked) {
        long longest = Math.min(30L << failures, LONGEST_PAUSE);
        failures = Math.min(failures + 1, 16);
        nextTime = now + asked + random(longest / 2, longest);
    }

    private static long random(long from, long to) {
        return from + (long) (RANDOM.nextDouble() * (to - from + 1));
    }

    // ---- Kept across kills ----------------------------------------------------------------------

    /** Everything, to be saved after each call that changes it, and before a request leaves: a
     * token that was forgotten cannot be deleted any more. */
    public byte[] saved() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            out.writeByte(1);
            out.writeUTF(instanceToken == null ? "" : base64URL(instanceToken));
            PushToken.write(wish, out);
            PushToken.write(confirmed, out);
            out.writeBoolean(isErasing);
            out.writeBoolean(isRefused);
            out.writeInt(failures);
            out.writeLong(nextTime);
            out.writeUTF(proof == null ? "" : proof);
            out.writeUTF(challenge == null ? "" : challenge.text);
            out.writeInt(challenge == null ? 0 : challenge.bits);
            out.writeLong(challenge == null ? 0 : challenge.expires);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return bytes.toByteArray();
    }

    /** @throws IOException if these are not bytes of {@link #saved} */
    public static Registration restored(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        Registration made = new Registration();
        if (in.readByte() != 1) throw new IOException("not a registration of this version");
        String token = in.readUTF();
        if (!token.isEmpty()) made.instanceToken = fromBase64URL(token);
        made.wish = PushToken.read(in);
        made.confirmed = PushToken.read(in);
        made.isErasing = in.readBoolean();
        made.isRefused = in.readBoolean();
        made.failures = in.readInt() & 31;
        made.nextTime = in.readLong();
        String proof = in.readUTF(), text = in.readUTF();
        int bits = in.readInt();
        long expires = in.readLong();
        if (!proof.isEmpty()) made.proof = proof;
        if (!text.isEmpty()) {
            made.challenge = new Challenge(text, bits, made.instanceToken, expires);
        }
        return made;
    }

    // ---- What is sent ---------------------------------------------------------------------------

    /** What the push service issued. */
    public static final class PushToken {
        private final String[] members;

        private PushToken(String... members) { this.members = members; }

        /** A registration token of Firebase, or a Firebase installation ID. */
        public static PushToken fcm(String token) {
            return new PushToken("service", "fcm", "token", token);
        }

        /** An endpoint of UnifiedPush or Web Push without keys. */
        public static PushToken webPush(String endpoint) {
            return new PushToken("service", "webpush", "endpoint", endpoint);
        }

        /** An endpoint of UnifiedPush or Web Push, with the subscription's keys in base64url. */
        public static PushToken webPush(String endpoint, String p256dh, String auth) {
            return new PushToken(
                "service", "webpush", "endpoint", endpoint, "p256dh", p256dh, "auth", auth);
        }

        @Override public boolean equals(Object other) {
            return other instanceof PushToken
                && Arrays.equals(members, ((PushToken) other).members);
        }

        @Override public int hashCode() { return Arrays.hashCode(members); }

        /** Of one length, whatever is in it. */
        private byte[] body(String proof) {
            StringBuilder json = new StringBuilder("{");
            json.append(member(members[0], members[1])).append(',');
            json.append(member(members[2], members[3])).append(',');
            if (members.length > 4) {
                json.append("\"keys\":{").append(member(members[4], members[5])).append(',')
                    .append(member(members[6], members[7])).append("},");
            }
            if (proof != null) json.append(member("proof", proof)).append(',');
            json.setCharAt(json.length() - 1, '}');
            byte[] bytes = json.toString().getBytes(StandardCharsets.UTF_8);
            byte[] padded = Arrays.copyOf(bytes, Math.max(bytes.length, 1024));
            Arrays.fill(padded, bytes.length, padded.length, (byte) ' ');
            return padded;
        }

        /** RFC 8259. */
        private static String member(String name, String value) {
            StringBuilder text = new StringBuilder("\"").append(name).append("\":\"");
            for (char c : value.toCharArray()) {
                if (c < ' ') text.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
                else if (c == '"' || c == '\\') text.append('\\').append(c);
                else text.append(c);
            }
            return text.append('"').toString();
        }

        private static void write(PushToken token, DataOutputStream out) throws IOException {
            out.writeByte(token == null ? 0 : token.members.length);
            if (token != null) for (String member : token.members) out.writeUTF(member);
        }

        private static PushToken read(DataInputStream in) throws IOException {
            String[] members = new String[in.readByte()];
            for (int i = 0; i < members.length; i++) members[i] = in.readUTF();
            return members.length == 0 ? null : new PushToken(members);
        }
    }

    /** A request to /v1/registration, without cookies, cache and redirects. */
    public static final class Request {
        /** PUT or DELETE. */
        public final String method;
        /** The field Authorization. */
        public final String authorization;
        /** JSON, Content-Type: application/json; null with DELETE. */
        public final byte[] body;
        private final PushToken token;
        private final boolean hasProof;

        private Request(
                String method, String authorization, byte[] body, PushToken token,
                boolean hasProof) {
            this.method = method;
            this.authorization = authorization;
            this.body = body;
            this.token = token;
            this.hasProof = hasProof;
        }
    }

    /** What is to be done now. */
    public static final class Step {
        public enum Kind {
            /** Send {@link Step#request}. */
            SEND,
            /** Off the main thread: {@link Challenge#solve}, then {@link Registration#add}. */
            SOLVE,
            /** Ask again at {@link Step#time}, or at the next start of the app. */
            WAIT,
            /** Nothing is left to do. */
            REST
        }

        public final Kind kind;
        public final Request request;
        public final Challenge challenge;
        /** Seconds since 1970. */
        public final long time;

        private Step(Kind kind) { this(kind, null, null, 0); }

        private Step(Request request) { this(Kind.SEND, request, null, 0); }

        private Step(Challenge challenge) { this(Kind.SOLVE, null, challenge, 0); }

        private Step(long time) { this(Kind.WAIT, null, null, time); }

        private Step(Kind kind, Request request, Challenge challenge, long time) {
            this.kind = kind;
            this.request = request;
            this.challenge = challenge;
            this.time = time;
        }
    }

    // ---- Proof of work --------------------------------------------------------------------------

    /** Asked now and then by what takes long. */
    public interface Running {
        /** False ends it without a result, as when a job is stopped. */
        boolean goesOn();
    }

    /** Work that a service asks of new registrations while many come. */
    public static final class Challenge {
        private static final Pattern MEMBER =
            Pattern.compile("\"(code|challenge|bits|seconds)\"\\s*:\\s*\"?([A-Za-z0-9_-]{1,64})");

        private final String text;
        private final int bits;
        private final byte[] token;
        private final long expires;

        private Challenge(String text, int bits, byte[] token, long expires) {
            this.text = text;
            this.bits = bits;
            this.token = token;
            this.expires = expires;
        }

        /** Null if the problem asks for no work, or for more than anybody should do. */
        static Challenge of(byte[] problem, byte[] token, long now) {
            String code = "", text = "";
            long bits = 0, seconds = 0;
            Matcher found = MEMBER.matcher(new String(problem, StandardCharsets.UTF_8));
            while (found.find()) {
                String value = found.group(2);
                boolean isNumber = value.matches("[0-9]{1,9}");
                switch (found.group(1)) {
                    case "code": code = value; break;
                    case "challenge": text = value; break;
                    case "bits": bits = isNumber ? Long.parseLong(value) : 0; break;
                    default: seconds = isNumber ? Long.parseLong(value) : 0;
                }
            }
            if (!code.equals("proof_needed") || text.length() != 32 || token == null) return null;
            if (bits < 1 || bits > 26 || seconds < 1) return null;
            return new Challenge(text, (int) bits, token, now + Math.min(seconds, 3600));
        }

        /** Searches, for some hundredths of a second up to a minute of one core.
         * @return null if it was ended */
        public String solve(Running running) {
            byte[] message = new byte[128];
            byte[] challenge = fromBase64URL(text);
            byte[] name = "reveille-proof-1".getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(name, 0, message, 0, 16);
            System.arraycopy(challenge, 0, message, 16, 24);
            System.arraycopy(token, 0, message, 46, 32);
            Blake2b blake = new Blake2b();
            long[] m = Blake2b.words(message);
            long rest = m[5];
            for (long nonce = 0; nonce < 1L << 34; nonce++) {
                if ((nonce & 0xFFF) == 0 && !running.goesOn()) return null;
                // Six bytes, the most significant first, at place 40.
                m[5] = rest | Long.reverseBytes(nonce) >>> 16;
                if (Long.numberOfLeadingZeros(blake.hash(m, 78)) >= bits) {
                    byte[] proof = Arrays.copyOf(challenge, 30);
                    for (int i = 0; i < 6; i++) proof[24 + i] = (byte) (nonce >>> 40 - 8 * i);
                    return base64URL(proof);
                }
            }
            return null;
        }
    }

    /** BLAKE2b (RFC 7693), which neither the JVM nor Android has, of at most 128 bytes. */
    private static final class Blake2b {
        private static final long[] IV = {
            0x6a09e667f3bcc908L, 0xbb67ae8584caa73bL, 0x3c6ef372fe94f82bL, 0xa54ff53a5f1d36f1L,
            0x510e527fade682d1L, 0x9b05688c2b3e6c1fL, 0x1f83d9abfb41bd6bL, 0x5be0cd19137e2179L,
        };
        /** RFC 7693, section 2.7, a digit for each word. */
        private static final String[] SIGMA = {
            "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8",
            "905724afe1bc683d", "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a",
            "6fe9b308c2d714a5", "a2847615fb9e3cd0",
        };
        private static final int[][] ORDER = new int[12][16];

        static {
            for (int round = 0; round < 12; round++) {
                for (int i = 0; i < 16; i++) {
                    ORDER[round][i] = Character.digit(SIGMA[round % 10].charAt(i), 16);
                }
            }
        }

        private final long[] v = new long[16];

        /** The first eight bytes of the hash of 32 bytes, the first one most significant. */
        long hash(long[] m, int size) {
            long first = IV[0] ^ 0x01010020;
            System.arraycopy(IV, 0, v, 0, 8);
            System.arraycopy(IV, 0, v, 8, 8);
            v[0] = first;
            v[12] ^= size;
            v[14] = ~v[14];
            for (int[] order : ORDER) {
                for (int lane = 0; lane < 8; lane++) {
                    int shift = lane / 4;
                    int a = lane % 4, b = 4 + (lane + shift) % 4;
                    int c = 8 + (lane + 2 * shift) % 4, d = 12 + (lane + 3 * shift) % 4;
                    v[a] += v[b] + m[order[2 * lane]];
                    v[d] = Long.rotateRight(v[d] ^ v[a], 32);
                    v[c] += v[d];
                    v[b] = Long.rotateRight(v[b] ^ v[c], 24);
                    v[a] += v[b] + m[order[2 * lane + 1]];
                    v[d] = Long.rotateRight(v[d] ^ v[a], 16);
                    v[c] += v[d];
                    v[b] = Long.rotateRight(v[b] ^ v[c], 63);
                }
            }
            return Long.reverseBytes(first ^ v[0] ^ v[8]);
        }

        static long[] words(byte[] block) {
            long[] m = new long[16];
            for (int i = 0; i < block.length; i++) m[i / 8] |= (block[i] & 0xFFL) << 8 * (i % 8);
            return m;
        }
    }

    // ---- Base64url (RFC 4648, section 5, without padding) ---------------------------------------

    private static final String DIGITS =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    private static String base64URL(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        int bits = 0, count = 0;
        for (byte b : bytes) {
            bits = bits << 8 | b & 0xFF;
            for (count += 8; count >= 6; count -= 6) {
                text.append(DIGITS.charAt(bits >> count - 6 & 63));
            }
        }
        if (count > 0) text.append(DIGITS.charAt(bits << 6 - count & 63));
        return text.toString();
    }

    /** What is no digit counts as a zero: a proof made of it is refused. */
    private static byte[] fromBase64URL(String text) {
        byte[] bytes = new byte[text.length() * 6 / 8];
        int bits = 0, count = 0, length = 0;
        for (char c : text.toCharArray()) {
            bits = bits << 6 | Math.max(DIGITS.indexOf(c), 0);
            if ((count += 6) >= 8) bytes[length++] = (byte) (bits >> (count -= 8));
        }
        return bytes;
    }

    // ---- For apps -------------------------------------------------------------------------------

    /** The durable place of one registration. Only this app on this device reads it, and no backup
     * takes it. */
    public interface Storage {
        /** What was written last; null before the first time. */
        byte[] read() throws IOException;

        /** Replaces it. A kill leaves the one or the other. */
        void write(byte[] state) throws IOException;
    }

    /** A file that is encrypted with a key of the Android Keystore, or of another KeyStore. */
    public static final class SealedFile implements Storage {
        private static final String CIPHER = "AES/GCM/NoPadding";

        private final File file;
        private final SecretKey key;

        /** @param file in a directory that exists: of Android's noBackupFilesDir */
        public SealedFile(File file, SecretKey key) {
            this.file = file;
            this.key = key;
        }

        @Override public byte[] read() throws IOException {
            if (!file.exists()) return null;
            byte[] sealed;
            try (InputStream in = new FileInputStream(file)) {
                sealed = readAll(in, 65_536);
            }
            try {
                Cipher cipher = Cipher.getInstance(CIPHER);
                cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(128, sealed, 0, 12));
                return cipher.doFinal(sealed, 12, sealed.length - 12);
            } catch (GeneralSecurityException | IllegalArgumentException fault) {
                throw new IOException("not sealed with this key", fault);
            }
        }

        @Override public void write(byte[] state) throws IOException {
            File next = new File(file.getPath() + ".new");
            try (FileOutputStream out = new FileOutputStream(next)) {
                Cipher cipher = Cipher.getInstance(CIPHER);
                // The Keystore chooses the nonce of 12 bytes itself, and so does every JVM.
                cipher.init(Cipher.ENCRYPT_MODE, key);
                out.write(cipher.getIV());
                out.write(cipher.doFinal(state));
                out.getFD().sync();
            } catch (GeneralSecurityException fault) {
                throw new IOException("cannot seal with this key", fault);
            }
            if (!next.renameTo(file)) throw new IOException("cannot replace " + file.getName());
        }
    }

    /**
     * The registration at one service, kept in a storage: one object in one process, for every
     * thread.
     * An app whose CookieHandler has a default takes it away: nothing may tell requests apart.
     */
    public static final class Client {
        private final URL route;
        private final Storage storage;
        private final Registration registration;
        private final Object line = new Object();

        /**
         * @param service the service's URL, such as https://wake.example.org
         * @throws IOException when the storage cannot be read; the app decides whether to empty it
         */
        public Client(String service, Storage storage) throws IOException {
            route = new URL(service.replaceAll("/+$", "") + "/v1/registration");
            this.storage = storage;
            byte[] saved = storage.read();
            registration = saved == null ? new Registration() : restored(saved);
        }

        /** Stores the wish; {@link #run} brings it about. At each start of the app, and from
         * onNewToken. */
        public void register(PushToken token) throws IOException {
            synchronized (registration) {
                registration.register(token, now());
                storage.write(registration.saved());
            }
        }

        /** The same for the wish that the service holds nothing. */
        public void erase() throws IOException {
            synchronized (registration) {
                registration.erase(now());
                storage.write(registration.saved());
            }
        }

        public boolean isRegistered() {
            synchronized (registration) {
                return registration.isRegistered();
            }
        }

        /** See {@link Registration#isRefused}. */
        public boolean isRefused() {
            synchronized (registration) {
                return registration.isRefused();
            }
        }

        /**
         * Does all that is due: not on the main thread. A second thread waits for the first.
         *
         * @return seconds until something is due again: before that, nothing is sent; -1 for never,
         *     as all is done or {@link #isRefused}
         * @throws IOException from the storage: nothing is sent that was not written before
         */
        public long run(Running running) throws IOException {
            synchronized (line) {
                while (true) {
                    Step step;
                    synchronized (registration) {
                        step = registration.next(now());
                        if (step.kind == Step.Kind.REST) return -1;
                        if (step.kind == Step.Kind.WAIT) return Math.max(1, step.time - now());
                        storage.write(registration.saved());
                    }
                    if (!running.goesOn()) return 1;
                    if (step.kind == Step.Kind.SEND) {
                        send(step.request);
                        continue;
                    }
                    String proof = step.challenge.solve(running);
                    synchronized (registration) {
                        registration.add(proof, step.challenge);
                    }
                }
            }
        }

        private void send(Request request) throws IOException {
            Answer answer = null;
            try {
                answer = new Answer(route, request);
            } catch (IOException lost) {
                // It may have arrived, and comes again.
            }
            synchronized (registration) {
                if (answer == null) {
                    registration.failed(now());
                } else {
                    registration.received(
                        answer.status, request, answer.retryAfter, answer.body, now());
                }
                storage.write(registration.saved());
            }
        }

        private static long now() { return System.currentTimeMillis() / 1000; }
    }

    /** One exchange. */
    private static final class Answer {
        final int status;
        final String retryAfter;
        final byte[] body;

        Answer(URL route, Request request) throws IOException {
            HttpURLConnection line = (HttpURLConnection) route.openConnection();
            try {
                line.setRequestMethod(request.method);
                line.setInstanceFollowRedirects(false);
                line.setUseCaches(false);
                line.setConnectTimeout(30_000);
                line.setReadTimeout(30_000);
                line.setRequestProperty("Authorization", request.authorization);
                // Android's own names the device and its version.
                line.setRequestProperty("User-Agent", "reveille");
                line.setRequestProperty("Accept-Encoding", "identity");
                if (request.body != null) {
                    line.setRequestProperty("Content-Type", "application/json");
                    line.setDoOutput(true);
                    line.getOutputStream().write(request.body);
                }
                status = line.getResponseCode();
                retryAfter = line.getHeaderField("Retry-After");
                InputStream in = status < 400 ? line.getInputStream() : line.getErrorStream();
                body = in == null ? new byte[0] : readAll(in, 4096);
            } catch (RuntimeException fault) {
                // Of Android's HTTP, for what no server should send.
                throw new IOException(fault);
            } finally {
                line.disconnect();
            }
        }
    }

    /** The beginning, of so many bytes at most. */
    private static byte[] readAll(InputStream in, int limit) throws IOException {
        byte[] bytes = new byte[limit];
        int length = 0;
        while (length < limit) {
            int count = in.read(bytes, length, limit - length);
            if (count < 0) break;
            length += count;
        }
        return Arrays.copyOf(bytes, length);
    }
}
