package org.reveille;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The registration of one app instance at a Reveille service: it says what to send next, and when,
 * and sends nothing. The rules are those of Policy/PROTOCOL.md. {@link WakeClient} has one, with
 * requests and storage; this is for apps with both of their own. One thread at a time.
 */
public final class Registration {
    /** The progress of what is desired. */
    public enum State {
        /** Nothing is registered, and nothing is desired. */
        NONE,
        /** The service has acknowledged the push token. */
        REGISTERED,
        /** The push token is on its way. */
        REGISTERING,
        /** The service takes no such push token: a defect of the app, or a token of another form.
         * Nothing is sent until there is another one. */
        REFUSED,
        /** The erasure is on its way. */
        UNREGISTERING,
        /** The feed's publisher has switched registrations off for now; it stays desired. */
        SUSPENDED
    }

    /** Seconds after which a registration is renewed, at random: it has no rhythm. */
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

    public State state() {
        if (isErasing) return State.UNREGISTERING;
        if (wish == null) return State.NONE;
        if (isRefused) return State.REFUSED;
        return wish.equals(confirmed) ? State.REGISTERED : State.REGISTERING;
    }

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
        String authorization = "Bearer " + Bytes.base64URL(instanceToken);
        if (isErasing) return new Step(new Request("DELETE", authorization, null, null, false));
        byte[] body = wish.body(proof);
        return new Step(new Request("PUT", authorization, body, wish, proof != null));
    }

    /** Seconds until something is to be done; -1 if nothing is. */
    public long secondsUntilDue(long now) {
        if (!isErasing && (wish == null || isRefused)) return -1;
        return Math.max(0, Math.min(nextTime - now, LONGEST_RENEWAL));
    }

    /** What asks the service for one push to this device; null while it is not registered. The answer
     * changes nothing: 202, or 429 within ten minutes of the one before. */
    public Request pushRequest() {
        if (state() != State.REGISTERED) return null;
        String authorization = "Bearer " + Bytes.base64URL(instanceToken);
        return new Request("POST", authorization, new byte[0], null, false);
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
            out.writeUTF(instanceToken == null ? "" : Bytes.base64URL(instanceToken));
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
        if (!token.isEmpty()) made.instanceToken = Bytes.fromBase64URL(token);
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
            byte[] padded = Arrays.copyOf(bytes, Math.max(bytes.length, Request.BODY));
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

    /** A request to /v1/registration, without cookies, cache and redirects. All have one size: a body
     * is padded, and the field Padding stands for what others have not. */
    public static final class Request {
        private static final int BODY = 1024;
        private static final String LINES =
            "Content-Type: application/json\r\nContent-Length: 1024\r\n";
        /** Without a body, and of a POST, which has one without bytes, and a longer path. */
        private static final int PADDING = ("PUT" + LINES).length() + BODY
                - ("DELETE" + "Padding: \r\n").length(),
            PUSH_PADDING = "PUT1024".length() + BODY - ("POST/wake0" + "Padding: \r\n").length();

        /** PUT or DELETE; POST to /v1/registration/wake. */
        public final String method;
        /** The field Authorization. */
        public final String authorization;
        /** JSON, Content-Type: application/json; null with DELETE. */
        public final byte[] body;
        /** The field Padding; null with PUT. */
        public final String padding;
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
            char[] zeros = new char[body == null ? PADDING : PUSH_PADDING];
            Arrays.fill(zeros, '0');
            padding = method.equals("PUT") ? null : new String(zeros);
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
        boolean isRunning();
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

        /** Null if the problem asks for no work, or for more than a phone should do. */
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
            byte[] challenge = Bytes.fromBase64URL(text);
            byte[] name = "reveille-proof-1".getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(name, 0, message, 0, 16);
            System.arraycopy(challenge, 0, message, 16, 24);
            System.arraycopy(token, 0, message, 46, 32);
            long[] m = Blake2b.words(message), h = new long[8], v = new long[16];
            long rest = m[5];
            for (long nonce = 0; nonce < 1L << 34; nonce++) {
                if ((nonce & 0xFFF) == 0 && !running.isRunning()) return null;
                // Six bytes, the most significant first, at place 40.
                m[5] = rest | Long.reverseBytes(nonce) >>> 16;
                if (Long.numberOfLeadingZeros(Blake2b.first(m, 78, h, v)) >= bits) {
                    byte[] proof = Arrays.copyOf(challenge, 30);
                    for (int i = 0; i < 6; i++) proof[24 + i] = (byte) (nonce >>> 40 - 8 * i);
                    return Bytes.base64URL(proof);
                }
            }
            return null;
        }
    }
}
