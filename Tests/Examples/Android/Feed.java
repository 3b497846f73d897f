package org.reveille;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * A reader of one feed, for Android and every other JVM: it checks what was fetched, and compares
 * it with the secrets of this device. Copy this file: it needs the standard library alone, of Java
 * 8 and of Android 5 (API level 21), and is called from Kotlin as it is. The rules and their
 * numbers are those of Policy/FEED.md; Deploy/PHONES.md shows the use.
 *
 * <p>One thread at a time. What {@link #saved} gives is stored together with the matches that were
 * found, in one transaction; only then is the user told.
 */
public final class Feed {
    /** What came is not what it should be; the message is the name of the error. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        private Refused(String error) { super(error); }
    }

    /** A published item that belongs to a secret. */
    public static final class Match {
        /** The same however often it is published: told once. */
        public final byte[] id;
        public final byte[] secret;
        /** The publisher's note; null if there is none. */
        public final byte[] note;

        private Match(byte[] id, byte[] secret, byte[] note) {
            this.id = id;
            this.secret = secret;
            this.note = note;
        }
    }

    private static final int HEAD_FILE = 12_104, KEYS = 4096, HEADER = 256, LARGEST = 4 << 20,
        TOLERANCE = 600;

    private final byte[] configured;
    /** All keys, and the number of the first batch of each; the configured one alone at first. */
    private List<byte[]> keys;
    private List<Long> froms;
    private boolean hasChain;
    /** The file of keys for the next head is a feed's, and lacks the configured key. */
    private boolean isForeign;
    private byte[] feedID;
    /** The oldest key that may still sign heads: an index of `keys`. */
    private int oldest;
    /** The newest head that was accepted; empty at first. */
    private byte[] head = new byte[0];
    private long newestIssued = -1;
    private byte[] signerID = new byte[0];
    /** The cursor. An empty hash is unknown. */
    private long sequence;
    private byte[] headerHash = new byte[32];
    /** Before the cursor, named and not checked. */
    private final SortedSet<Long> missing = new TreeSet<>();
    /** Of the adopted head. */
    private long pollSeconds = 4 * 3600, spreadSeconds = 300, flags, pauseSeconds;

    /** A reader that has seen nothing.
     * @param key one of the feed's keys, best the newest: 32 bytes */
    public Feed(byte[] key) {
        if (!Ed25519.isKey(key)) throw new IllegalArgumentException("no key");
        configured = key.clone();
        begin();
    }

    private void begin() {
        keys = new ArrayList<>(Arrays.asList(configured));
        froms = new ArrayList<>(Arrays.asList(1L));
        feedID = feedID(configured);
    }

    /** Seconds between two polls. */
    public long pollSeconds() { return pollSeconds; }

    /** The longest random wait after a push. */
    public long spreadSeconds() { return spreadSeconds; }

    /** For how many seconds after this head came first wake-ups are ignored; polls go on. */
    public long pauseSeconds() { return (flags & 1) == 0 ? 0 : Math.min(pauseSeconds, 259_200); }

    /** The feed has ended: unregister and stop. */
    public boolean isRetired() { return (flags & 2) != 0; }

    /** Push tokens are not sent for now. */
    public boolean isWithoutRegistration() { return (flags & 4) != 0; }

    // ---- Keys -----------------------------------------------------------------------------------

    /** Whether the file `keys` is fetched after this head, before it is read. */
    public boolean needsKeys(byte[] head) {
        try {
            return signerID.length == 0 || !Arrays.equals(signerID, part(head, end(head), 8));
        } catch (Refused refused) {
            return false;
        }
    }

    /** Takes the file `keys`, if it is this feed's; otherwise it counts as absent. */
    public void readKeys(byte[] file) {
        List<byte[]> offered = new ArrayList<>();
        List<Long> begins = new ArrayList<>();
        try {
            checkKeys(file, offered, begins);
        } catch (Refused refused) {
            return;
        }
        isForeign = indexOf(configured, offered) < 0;
        if (isForeign) return;
        if (newestIssued >= 0 && !Arrays.equals(feedID, feedID(offered.get(0)))) return;
        boolean isOlder = hasChain && indexOf(configured, keys) >= 0;
        for (int i = 0; isOlder && i < keys.size(); i++) {
            if (i >= offered.size() || !Arrays.equals(keys.get(i), offered.get(i))
                    || !froms.get(i).equals(begins.get(i))) {
                return;
            }
        }
        byte[] known = keys.get(oldest);
        keys = offered;
        froms = begins;
        hasChain = true;
        feedID = feedID(keys.get(0));
        oldest = Math.max(Math.max(indexOf(known, keys), indexOf(configured, keys)), 0);
    }

    /** Section 9, "Checks of the file keys". */
    private static void checkKeys(byte[] file, List<byte[]> found, List<Long> froms)
            throws Refused {
        require(file.length == KEYS, file.length < KEYS ? "truncated" : "tooLarge");
        for (int at = 0; at < KEYS; at += HEADER) {
            byte[] record = part(file, at, HEADER);
            if (at > 0 && isZero(record, 0, HEADER)) {
                require(isZero(file, at, KEYS - at), "malformedKeys");
                return;
            }
            byte[] key = part(record, 64, 32);
            byte[] before = found.isEmpty() ? key : found.get(found.size() - 1);
            require(startsWith(record, "WAKEKY01"), "badSignature");
            require(signer(record, "wake-feed/acceptance/1\n", 184, Arrays.asList(key), 0) == 0
                && signer(record, "wake-feed/succession/1\n", 112, Arrays.asList(before), 0) == 0,
                "badSignature");
            byte[] first = found.isEmpty() ? key : found.get(0);
            require(Arrays.equals(part(record, 8, 16), feedID(first)), "wrongFeed");
            long from = number(record, 24, 8);
            long least = froms.isEmpty() ? 1 : froms.get(froms.size() - 1);
            require(Arrays.equals(part(record, 32, 32), before) && indexOf(key, found) < 0
                && isZero(record, 96, 16) && from >= least && from < Long.MAX_VALUE
                && (!froms.isEmpty() || from == 1), "malformedKeys");
            found.add(key);
            froms.add(from);
        }
    }

    // ---- Head -----------------------------------------------------------------------------------

    /** Where the table of a head ends, and what its signer adds begins. Behind that is the proof
     * for clients with a policy of witnesses, which is not looked at here. */
    private static int end(byte[] file) throws Refused {
        require(file.length <= HEAD_FILE, "tooLarge");
        require(startsWith(file, "WAKEHD02"), "badSignature");
        require(file.length >= 256, "truncated");
        long count = number(file, 24, 8) + 1 - number(file, 32, 8);
        require(count >= 0 && count <= 448, "badSignature");
        int end = 256 + 8 * (int) count;
        require(file.length >= end + 72, "truncated");
        return end;
    }

    /**
     * Checks the file `head`, after {@link #readKeys} where that was needed.
     *
     * @param now seconds since 1970
     * @return stale, clockSkew, gap: for the user, and nothing stops for them
     */
    public List<String> readHead(byte[] data, long now) throws Refused {
        String unsigned = isForeign ? "wrongFeed" : "badSignature";
        isForeign = false;
        int end = end(data);
        int self = indexOf(configured, keys);
        require(self >= 0, "wrongFeed");
        int signer = signer(data, "wake-feed/head/2\n", end, keys, Math.max(oldest, self));
        require(signer >= 0, unsigned);
        require(Arrays.equals(part(data, 8, 16), feedID), "wrongFeed");
        require(isZero(data, 184, 72), "malformedHead(reservedBytes)");
        long last = number(data, 24, 8), first = number(data, 32, 8);
        long issued = number(data, 40, 8), expires = number(data, 48, 8);
        require(last >= 0 && last < Long.MAX_VALUE && first >= 1 && first <= last + 1
            && issued >= 0 && expires >= 0, "malformedHead(range)");
        require(end == 256 || Arrays.equals(part(data, end - 8, 8), part(data, 56, 8)),
            "malformedHead(table)");
        require(last > 0 || isZero(data, 56, 32), "malformedHead(table)");
        require(signer + 1 == keys.size() || last < froms.get(signer + 1), unsigned);
        // What is signed and contradicts the newest accepted head is more than old.
        require(last >= sequence, contradicts(data, first, last) ? "fork" : "rollback");
        require(last > sequence || headerHash.length == 0
            || Arrays.equals(part(data, 56, 32), headerHash), "fork");
        byte[] own = suffix(data, sequence);
        require(own == null || headerHash.length == 0
            || Arrays.equals(own, part(headerHash, 0, 8)), "fork");
        require(!contradicts(data, first, last), "fork");

        List<String> warnings = new ArrayList<>();
        if (expires < now - TOLERANCE) warnings.add("stale");
        if (issued > now + TOLERANCE) warnings.add("clockSkew");
        boolean isGap = sequence + 1 < first;
        if (isGap && newestIssued >= 0) warnings.add("gap");
        if (isGap) {
            sequence = first - 1;
            headerHash = new byte[0];
        }
        // What the head names no more never comes.
        missing.headSet(first).clear();
        oldest = signer;
        signerID = part(data, end, 8);
        head = part(data, 0, end + 72);
        if (issued >= newestIssued) {
            newestIssued = issued;
            pollSeconds = number(data, 96, 4);
            spreadSeconds = number(data, 100, 4);
            flags = number(data, 104, 4);
            pauseSeconds = number(data, 108, 4);
        }
        return warnings;
    }

    /** Whether a head names another batch than the newest accepted one does, under one number. */
    private boolean contradicts(byte[] data, long first, long last) {
        for (long each = first; head.length > 0 && each <= last; each++) {
            byte[] known = suffix(head, each);
            if (known != null && !Arrays.equals(known, suffix(data, each))) return true;
        }
        return false;
    }

    /** The batches that are named and were not checked, in their order: all of them are fetched,
     * match or not. */
    public List<Long> unchecked() {
        List<Long> numbers = new ArrayList<>(missing);
        long last = head.length == 0 ? 0 : number(head, 24, 8);
        for (long each = sequence + 1; each <= last; each++) numbers.add(each);
        return numbers;
    }

    /** The path of a batch below the feed's URL. */
    public String path(long number) {
        // Never in the digits of the phone's language.
        StringBuilder name = new StringBuilder(String.format(Locale.ROOT, "b/%020d-", number));
        for (byte b : suffix(head, number)) name.append(String.format(Locale.ROOT, "%02x", b));
        return name.toString();
    }

    /** The head's table; null for what it does not name. */
    private static byte[] suffix(byte[] head, long number) {
        long first = number(head, 32, 8), last = number(head, 24, 8);
        if (number < first || number > last) return null;
        return part(head, 256 + 8 * (int) (number - first), 8);
    }

    // ---- Batch ----------------------------------------------------------------------------------

    /** Checks a batch of {@link #unchecked}, and finds what belongs to the secrets. One that is
     * refused, or does not come, stays unchecked; later ones are read all the same. */
    public List<Match> readBatch(long number, byte[] data, Collection<byte[]> secrets)
            throws Refused {
        require(startsWith(data, "WAKEBT01"), "badSignature");
        require(data.length >= HEADER, "truncated");
        byte[] header = part(data, 0, HEADER);
        int signer = signer(header, "wake-feed/batch/1\n", 184, keys, 0);
        require(signer >= 0, "badSignature");
        require(isZero(header, 136, 48), "corruptBatch(reservedBytes)");
        long count = number(header, 40, 4);
        int bits = header[44], kind = header[45], note = (int) number(header, 46, 2);
        require(number(header, 32, 8) >= 0 && bits >= 40 && bits <= 54
            && count >= 1024 && count % 1024 == 0 && count <= 1L << 64 - bits
            && (kind == 0 && note == 0 || kind == 1 && note >= 42), "corruptBatch(shape)");
        require(Arrays.equals(part(header, 8, 16), feedID), "wrongFeed");
        require(number(header, 24, 8) == number, "corruptBatch(sequence)");
        require(signer + 1 == keys.size() || number < froms.get(signer + 1), "badSignature");
        require(number >= froms.get(signer), "badSignature");
        byte[] previous = part(header, 64, 32);
        require(number != sequence + 1 || headerHash.length == 0
            || Arrays.equals(previous, headerHash), "fork");
        byte[] before = suffix(head, number - 1);
        require(before == null || Arrays.equals(part(previous, 0, 8), before), "fork");
        byte[] hash = Blake2b.hash(32, null, header);
        require(Arrays.equals(part(hash, 0, 8), suffix(head, number)), "fork");
        require(number != number(head, 24, 8) || Arrays.equals(hash, part(head, 56, 32)), "fork");
        long size = number(header, 128, 8);
        require(size >= 0 && size <= LARGEST, "tooLarge");
        long end = size - count * note;
        require(count * (bits + 1) <= 8 * end && 8 * end <= count * (bits + 2),
            "corruptBatch(size)");
        require(data.length >= HEADER + size, "truncated");
        require(data.length == HEADER + size, "tooLarge");
        byte[] payload = part(data, HEADER, (int) size);
        require(Arrays.equals(Blake2b.hash(32, null, payload), part(header, 96, 32)),
            "corruptBatch(payloadHash)");
        long[] values = values(payload, (int) end, (int) count, bits);

        List<Match> matches = new ArrayList<>();
        byte[] salt = part(header, 48, 16);
        for (byte[] secret : secrets) {
            int row = Arrays.binarySearch(values, value(secret, salt, count, bits));
            if (row < 0) continue;
            byte[] sealed = part(payload, (int) end + row * note, note);
            byte[] text = kind == 0 ? null : Note.open(sealed, secret);
            matches.add(new Match(matchID(secret, text), secret, text));
        }
        if (number > sequence) {
            for (long each = sequence + 1; each < number; each++) missing.add(each);
            sequence = number;
            headerHash = hash;
        } else {
            missing.remove(number);
        }
        return matches;
    }

    /**
     * The values of a code (section 4), ascending. They are unsigned: with the first bit turned
     * they are in the order of signed numbers.
     */
    private static long[] values(byte[] code, int bytes, int count, int bits) throws Refused {
        long[] values = new long[count];
        int[] quotients = new int[8];
        int at = 0, end = 8 * bytes;
        // The least that the next value can be, and the most that any can.
        long least = 0, most = count == 1L << 64 - bits ? -1 : ((long) count << bits) - 1;
        for (int i = 0; i < count; i += 8) {
            for (int k = 0; k < 8; k++, at++) {
                quotients[k] = 0;
                for (; at < end && bit(code, at) == 0; at++) quotients[k]++;
                require(at < end && quotients[k] < count, "corruptBatch(code)");
            }
            for (int k = 0; k < 8; k++) {
                require(at + bits <= end, "corruptBatch(code)");
                long rest = 0;
                for (int n = 0; n < bits; n++, at++) rest |= (long) bit(code, at) << n;
                long value = least + ((long) quotients[k] << bits) + rest;
                // Beyond the range, or beyond 64 bits: then it would seem less than what it follows.
                require(compare(value, least) >= 0 && compare(value, most) <= 0
                    && (i + k == 0 || least != 0), "corruptBatch(code)");
                values[i + k] = value ^ Long.MIN_VALUE;
                least = value + 1;
            }
        }
        require(end - at < 8, "corruptBatch(code)");
        for (; at < end; at++) require(bit(code, at) == 0, "corruptBatch(code)");
        return values;
    }

    private static int bit(byte[] code, int at) { return code[at >> 3] >> (at & 7) & 1; }

    private static int compare(long a, long b) {
        return Long.compare(a ^ Long.MIN_VALUE, b ^ Long.MIN_VALUE);
    }

    /** Section 6, as {@link #values} gives them. */
    private static long value(byte[] secret, byte[] salt, long count, int bits) {
        byte[] hash = Blake2b.hash(32, null, join(ascii("wake-feed/digest/1"), secret));
        byte[] digest = isZero(salt, 0, 16) ? part(hash, 0, 16) : sipHash(part(hash, 16, 16), salt);
        return new BigInteger(1, digest).multiply(BigInteger.valueOf(count)).shiftRight(128 - bits)
            .longValue() ^ Long.MIN_VALUE;
    }

    /** SipHash-2-4 of 128 bits, of a message of 16 bytes. */
    private static byte[] sipHash(byte[] key, byte[] message) {
        long k0 = number(key, 0, 8), k1 = number(key, 8, 8);
        long[] v = {
            k0 ^ 0x736f6d6570736575L, k1 ^ 0x646f72616e646f83L,
            k0 ^ 0x6c7967656e657261L, k1 ^ 0x7465646279746573L,
        };
        // The last block has no bytes but the message's length.
        for (long word : new long[] {number(message, 0, 8), number(message, 8, 8), 16L << 56}) {
            v[3] ^= word;
            for (int round = 0; round < 2; round++) sipRound(v);
            v[0] ^= word;
        }
        v[2] ^= 0xee;
        ByteBuffer out = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
        for (int half = 0; half < 2; half++) {
            for (int round = 0; round < 4; round++) sipRound(v);
            out.putLong(v[0] ^ v[1] ^ v[2] ^ v[3]);
            v[1] ^= 0xdd;
        }
        return out.array();
    }

    private static void sipRound(long[] v) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = Long.rotateLeft(v[1], 13) ^ v[0];
        v[3] = Long.rotateLeft(v[3], 16) ^ v[2];
        v[0] = Long.rotateLeft(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = Long.rotateLeft(v[1], 17) ^ v[2];
        v[3] = Long.rotateLeft(v[3], 21) ^ v[0];
        v[2] = Long.rotateLeft(v[2], 32);
    }

    /** Section 8. */
    private byte[] matchID(byte[] secret, byte[] note) {
        byte[] length = {(byte) secret.length, (byte) (secret.length >> 8)};
        byte[] message = join(feedID, length, secret, note == null ? new byte[0] : note);
        return Blake2b.hash(16, Blake2b.hash(32, null, ascii("wake-feed/match/1")), message);
    }

    // ---- Kept across kills ----------------------------------------------------------------------

    /** Everything, to be stored with the matches that were found. */
    public byte[] saved() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            out.writeByte(1);
            out.writeByte(hasChain ? keys.size() : 0);
            for (int i = 0; hasChain && i < keys.size(); i++) {
                out.write(keys.get(i));
                out.writeLong(froms.get(i));
            }
            out.writeByte(oldest);
            for (byte[] field : new byte[][] {head, signerID, headerHash}) {
                out.writeShort(field.length);
                out.write(field);
            }
            for (long value : new long[] {
                newestIssued, sequence, pollSeconds, spreadSeconds, flags, pauseSeconds}) {
                out.writeLong(value);
            }
            out.writeShort(missing.size());
            for (long each : missing) out.writeLong(each);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return bytes.toByteArray();
    }

    /** A reader that goes on.
     * @throws IOException if these are not bytes of {@link #saved} */
    public static Feed restored(byte[] key, byte[] saved) throws IOException {
        Feed feed = new Feed(key);
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved));
        if (in.readByte() != 1) throw new IOException("not a feed of this version");
        int count = in.readByte();
        if (count > 0) {
            feed.keys.clear();
            feed.froms.clear();
        }
        for (int i = 0; i < count; i++) {
            byte[] each = new byte[32];
            in.readFully(each);
            feed.keys.add(each);
            feed.froms.add(in.readLong());
        }
        feed.hasChain = count > 0;
        feed.feedID = feedID(feed.keys.get(0));
        feed.oldest = in.readByte();
        byte[][] fields = new byte[3][];
        for (int i = 0; i < 3; i++) {
            fields[i] = new byte[in.readShort()];
            in.readFully(fields[i]);
        }
        feed.head = fields[0];
        feed.signerID = fields[1];
        feed.headerHash = fields[2];
        feed.newestIssued = in.readLong();
        feed.sequence = in.readLong();
        feed.pollSeconds = in.readLong();
        feed.spreadSeconds = in.readLong();
        feed.flags = in.readLong();
        feed.pauseSeconds = in.readLong();
        int left = in.readShort();
        for (int i = 0; i < left; i++) feed.missing.add(in.readLong());
        return feed;
    }

    // ---- Fetching -------------------------------------------------------------------------------

    /** Fetches a file of the feed: the same request for everybody, of a bounded answer.
     * @return at most one byte more than the largest file: such a one is refused */
    public static byte[] fetch(String feed, String path) throws IOException {
        URL url = new URL(feed.replaceAll("/+$", "") + "/" + path);
        int limit = (path.startsWith("b/") ? HEADER + LARGEST : HEAD_FILE) + 1;
        HttpURLConnection line = (HttpURLConnection) url.openConnection();
        try {
            line.setInstanceFollowRedirects(false);
            line.setUseCaches(false);
            line.setConnectTimeout(30_000);
            line.setReadTimeout(30_000);
            // Android's own names the device and its version.
            line.setRequestProperty("User-Agent", "reveille");
            line.setRequestProperty("Accept-Encoding", "identity");
            if (line.getResponseCode() != 200) throw new IOException("not status 200");
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[16_384];
            try (InputStream in = line.getInputStream()) {
                while (bytes.size() < limit) {
                    int want = Math.min(buffer.length, limit - bytes.size());
                    int count = in.read(buffer, 0, want);
                    if (count < 0) break;
                    bytes.write(buffer, 0, count);
                }
            }
            return bytes.toByteArray();
        } catch (RuntimeException fault) {
            // Of Android's HTTP, for what no server should send.
            throw new IOException(fault);
        } finally {
            line.disconnect();
        }
    }

    // ---- Signatures -----------------------------------------------------------------------------

    /** The key that signed: key ID and signature end all layouts. */
    private static int signer(byte[] data, String domain, int at, List<byte[]> keys, int from) {
        byte[] id = part(data, at, 8), signature = part(data, at + 8, 64);
        for (int i = from; i < keys.size(); i++) {
            if (!Arrays.equals(id, part(Blake2b.hash(16, null, keys.get(i)), 0, 8))) continue;
            byte[] message = join(ascii(domain), part(data, 0, at + 8));
            if (Ed25519.verify(keys.get(i), message, signature)) return i;
        }
        return -1;
    }

    /** Ed25519 (RFC 8032), which not every Android has for keys outside its Keystore. Everything in
     * it is public, so that its time may tell what it will; some milliseconds each. */
    private static final class Ed25519 {
        private static final BigInteger ONE = BigInteger.ONE, TWO = BigInteger.valueOf(2);
        private static final BigInteger P = ONE.shiftLeft(255).subtract(BigInteger.valueOf(19));
        private static final BigInteger D = BigInteger.valueOf(-121665)
            .multiply(BigInteger.valueOf(121666).modInverse(P)).mod(P);
        /** The order of the base point. */
        private static final BigInteger L = ONE.shiftLeft(252)
            .add(new BigInteger("27742317777372353535851937790883648493"));
        /** The base point: y = 4/5, x even. */
        private static final BigInteger[] BASE = point(
            BigInteger.valueOf(4).multiply(BigInteger.valueOf(5).modInverse(P)).mod(P), false);

        /** Whether this is a key: a point whose order is not small. */
        static boolean isKey(byte[] key) {
            BigInteger[] p = key.length == 32 ? decoded(key) : null;
            if (p == null) return false;
            for (int i = 0; i < 3; i++) p = sum(p, p);
            return p[0].signum() != 0 || !p[1].equals(p[2]);
        }

        static boolean verify(byte[] key, byte[] message, byte[] signature) {
            BigInteger s = little(signature, 32, 32);
            if (!isKey(key) || s.compareTo(L) >= 0) return false;
            BigInteger k;
            try {
                MessageDigest sha = MessageDigest.getInstance("SHA-512");
                sha.update(signature, 0, 32);
                sha.update(key);
                k = little(sha.digest(message), 0, 64).mod(L);
            } catch (GeneralSecurityException missing) {
                throw new IllegalStateException(missing);
            }
            // s·B - k·A, both at once, is the point that the signature begins with.
            BigInteger[] a = decoded(key);
            BigInteger[] minus = {P.subtract(a[0]).mod(P), a[1], a[2], P.subtract(a[3]).mod(P)};
            BigInteger[] both = sum(BASE, minus);
            BigInteger[] r = {BigInteger.ZERO, ONE, ONE, BigInteger.ZERO};
            for (int bit = 252; bit >= 0; bit--) {
                r = sum(r, r);
                if (s.testBit(bit) && k.testBit(bit)) r = sum(r, both);
                else if (s.testBit(bit)) r = sum(r, BASE);
                else if (k.testBit(bit)) r = sum(r, minus);
            }
            BigInteger inverse = r[2].modInverse(P);
            BigInteger y = r[1].multiply(inverse).mod(P);
            if (r[0].multiply(inverse).mod(P).testBit(0)) y = y.setBit(255);
            return y.equals(little(signature, 0, 32));
        }

        /** Null for what is no point, or not written as it must be. */
        private static BigInteger[] decoded(byte[] key) {
            BigInteger y = little(key, 0, 32).clearBit(255);
            return y.compareTo(P) < 0 ? point(y, key[31] < 0) : null;
        }

        /** Section 5.1.3: X, Y, Z and T of section 5.1.4. */
        private static BigInteger[] point(BigInteger y, boolean isOdd) {
            BigInteger yy = y.multiply(y).mod(P);
            BigInteger xx = yy.subtract(ONE)
                .multiply(D.multiply(yy).add(ONE).modInverse(P)).mod(P);
            BigInteger x = xx.modPow(P.add(BigInteger.valueOf(3)).shiftRight(3), P);
            if (!x.multiply(x).mod(P).equals(xx)) {
                x = x.multiply(TWO.modPow(P.subtract(ONE).shiftRight(2), P)).mod(P);
            }
            if (!x.multiply(x).mod(P).equals(xx) || x.signum() == 0 && isOdd) return null;
            if (x.testBit(0) != isOdd) x = P.subtract(x).mod(P);
            return new BigInteger[] {x, y, ONE, x.multiply(y).mod(P)};
        }

        /** Section 5.1.4, of any two points. */
        private static BigInteger[] sum(BigInteger[] p, BigInteger[] q) {
            BigInteger a = p[1].subtract(p[0]).multiply(q[1].subtract(q[0])).mod(P);
            BigInteger b = p[1].add(p[0]).multiply(q[1].add(q[0])).mod(P);
            BigInteger c = p[3].multiply(TWO).multiply(D).mod(P).multiply(q[3]).mod(P);
            BigInteger d = p[2].multiply(TWO).multiply(q[2]).mod(P);
            BigInteger e = b.subtract(a), f = d.subtract(c), g = d.add(c), h = b.add(a);
            return new BigInteger[] {
                e.multiply(f).mod(P), g.multiply(h).mod(P), f.multiply(g).mod(P),
                e.multiply(h).mod(P)};
        }
    }

    // ---- Notes ----------------------------------------------------------------------------------

    /** Section 7: XSalsa20-Poly1305, NaCl's crypto_secretbox. */
    private static final class Note {
        /** Null if it does not open. */
        static byte[] open(byte[] sealed, byte[] secret) {
            byte[] key = Blake2b.hash(
                32, Blake2b.hash(32, null, ascii("wake-feed/note/1")), secret);
            byte[] cipher = part(sealed, 40, sealed.length - 40);
            byte[] stream = stream(key, part(sealed, 0, 24), 32 + cipher.length);
            if (!Arrays.equals(tag(part(stream, 0, 32), cipher), part(sealed, 24, 16))) return null;
            for (int i = 0; i < cipher.length; i++) cipher[i] ^= stream[32 + i];
            int length = (int) number(cipher, 0, 2);
            return length <= cipher.length - 2 ? part(cipher, 2, length) : null;
        }

        /** Poly1305 (RFC 8439, section 2.5). */
        private static byte[] tag(byte[] key, byte[] message) {
            BigInteger prime = BigInteger.ONE.shiftLeft(130).subtract(BigInteger.valueOf(5));
            BigInteger r = little(key, 0, 16).and(
                new BigInteger("0ffffffc0ffffffc0ffffffc0fffffff", 16));
            BigInteger sum = BigInteger.ZERO;
            for (int at = 0; at < message.length; at += 16) {
                int size = Math.min(16, message.length - at);
                BigInteger block = little(message, at, size).setBit(8 * size);
                sum = sum.add(block).multiply(r).mod(prime);
            }
            sum = sum.add(little(key, 16, 16));
            byte[] tag = new byte[16];
            for (int i = 0; i < 16; i++) tag[i] = sum.shiftRight(8 * i).byteValue();
            return tag;
        }

        private static byte[] stream(byte[] key, byte[] nonce, int count) {
            int[] x = rounds(state(key, part(nonce, 0, 16)));
            ByteBuffer inner = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
            for (int i : new int[] {0, 5, 10, 15, 6, 7, 8, 9}) inner.putInt(x[i]);
            ByteBuffer out = ByteBuffer.allocate(count + 64).order(ByteOrder.LITTLE_ENDIAN);
            for (long block = 0; out.position() < count; block++) {
                ByteBuffer middle = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
                middle.put(nonce, 16, 8).putLong(block);
                int[] start = state(inner.array(), middle.array());
                int[] mixed = rounds(start.clone());
                for (int i = 0; i < 16; i++) out.putInt(start[i] + mixed[i]);
            }
            return part(out.array(), 0, count);
        }

        private static int[] state(byte[] key, byte[] middle) {
            byte[] s = ascii("expand 32-byte k");
            ByteBuffer all = ByteBuffer.wrap(join(
                part(s, 0, 4), part(key, 0, 16), part(s, 4, 4), middle, part(s, 8, 4),
                part(key, 16, 16), part(s, 12, 4))).order(ByteOrder.LITTLE_ENDIAN);
            int[] words = new int[16];
            for (int i = 0; i < 16; i++) words[i] = all.getInt();
            return words;
        }

        private static final int[][] QUARTERS = {
            {0, 4, 8, 12}, {5, 9, 13, 1}, {10, 14, 2, 6}, {15, 3, 7, 11},
            {0, 1, 2, 3}, {5, 6, 7, 4}, {10, 11, 8, 9}, {15, 12, 13, 14},
        };

        private static int[] rounds(int[] x) {
            for (int round = 0; round < 10; round++) {
                for (int[] q : QUARTERS) {
                    x[q[1]] ^= Integer.rotateLeft(x[q[0]] + x[q[3]], 7);
                    x[q[2]] ^= Integer.rotateLeft(x[q[1]] + x[q[0]], 9);
                    x[q[3]] ^= Integer.rotateLeft(x[q[2]] + x[q[1]], 13);
                    x[q[0]] ^= Integer.rotateLeft(x[q[3]] + x[q[2]], 18);
                }
            }
            return x;
        }
    }

    /** BLAKE2b (RFC 7693), which neither the JVM nor Android has. */
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

        /** @param key null for none */
        static byte[] hash(int size, byte[] key, byte[] message) {
            int keySize = key == null ? 0 : key.length;
            byte[] all = key == null ? message : join(Arrays.copyOf(key, 128), message);
            long[] h = IV.clone(), v = new long[16], m = new long[16];
            h[0] ^= 0x01010000 ^ keySize << 8 ^ size;
            int at = 0;
            do {
                int count = Math.min(128, all.length - at);
                byte[] block = Arrays.copyOf(part(all, at, count), 128);
                ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(m);
                at += count;
                compress(h, v, m, at, at == all.length);
            } while (at < all.length);
            ByteBuffer out = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
            for (long word : h) out.putLong(word);
            return part(out.array(), 0, size);
        }

        private static void compress(long[] h, long[] v, long[] m, long count, boolean isLast) {
            System.arraycopy(h, 0, v, 0, 8);
            System.arraycopy(IV, 0, v, 8, 8);
            v[12] ^= count;
            if (isLast) v[14] = ~v[14];
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
            for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
        }
    }

    // ---- Bytes ----------------------------------------------------------------------------------

    private static void require(boolean condition, String error) throws Refused {
        if (!condition) throw new Refused(error);
    }

    private static byte[] feedID(byte[] key) {
        return Blake2b.hash(16, null, join(ascii("wake-feed-id"), key));
    }

    private static byte[] ascii(String text) { return text.getBytes(StandardCharsets.US_ASCII); }

    private static byte[] part(byte[] bytes, int at, int count) {
        return Arrays.copyOfRange(bytes, at, at + count);
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] each : parts) all.write(each, 0, each.length);
        return all.toByteArray();
    }

    /** Little-endian; of eight bytes, what is 2⁶³ or more is negative. */
    private static long number(byte[] bytes, int at, int count) {
        long value = 0;
        for (int i = count - 1; i >= 0; i--) value = value << 8 | bytes[at + i] & 0xFF;
        return value;
    }

    private static BigInteger little(byte[] bytes, int at, int size) {
        byte[] reversed = new byte[size];
        for (int i = 0; i < size; i++) reversed[i] = bytes[at + size - 1 - i];
        return new BigInteger(1, reversed);
    }

    private static boolean isZero(byte[] bytes, int at, int count) {
        for (int i = at; i < at + count; i++) if (bytes[i] != 0) return false;
        return true;
    }

    /** Also for what is cut within the mark. */
    private static boolean startsWith(byte[] bytes, String mark) {
        int count = Math.min(bytes.length, mark.length());
        return Arrays.equals(part(bytes, 0, count), part(ascii(mark), 0, count));
    }

    private static int indexOf(byte[] key, List<byte[]> keys) {
        for (int i = 0; i < keys.size(); i++) if (Arrays.equals(key, keys.get(i))) return i;
        return -1;
    }
}
