package org.reveille;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A reader of one feed: it checks what was fetched, and compares it with the secrets of this
 * device. The rules and their numbers are those of Policy/FEED.md. {@link WakeClient} has one, with
 * requests and storage; this is for apps with both of their own.
 *
 * <p>One thread at a time. {@link #saved} is stored together with the matches that were found, in
 * one transaction; only then is the user notified.
 */
public final class Feed {
    /** What came is not what it should be; the message is the name of the error, of the tables of
     * section 9, or {@code proof(…)} with a fault of section 15. The reader is as it was,
     * but for {@link #isForked}. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String error) { super(error); }
    }

    /** Said of a head that counts all the same. */
    public enum Warning {
        /** The publisher is silent, or newer heads are withheld. */
        STALE("stale"),
        /** The head comes from the future: one of the two clocks is wrong. */
        CLOCK_SKEW("clockSkew"),
        /** Batches are gone that this client has not checked. */
        GAP("gap"),
        /** The witnesses' cosignatures are older than a head's life. */
        STALE_PROOF("staleProof");

        private final String name;

        Warning(String name) { this.name = name; }

        @Override public String toString() { return name; }
    }

    /** A published item that belongs to a secret. */
    public static final class Match {
        /** The same however often it is published: shown once. */
        public final byte[] id;
        public final byte[] secret;
        /** The publisher's note, which may be empty; null if there is none. */
        public final byte[] note;
        /** The number of the batch. */
        public final long batch;

        private Match(byte[] id, byte[] secret, byte[] note, long batch) {
            this.id = id;
            this.secret = secret;
            this.note = note;
            this.batch = batch;
        }
    }

    static final int HEADER = 256, LARGEST = 4 << 20, HEAD_FILE = 12_104, KEYS_FILE = 4096;
    private static final int TOLERANCE = 600;

    private final byte[] configured;
    private final WitnessPolicy policy;
    private KeyChain chain;
    /** The oldest key that may still sign heads: an index of the chain. */
    private int oldest;
    /** The newest head that was accepted, without its proof; empty at first. */
    private byte[] head = new byte[0];
    private long newestIssued = -1;
    /** The cursor. A hash of null is unknown. */
    private long sequence;
    private byte[] headerHash = new byte[32];
    /** Before the cursor, named and not checked, with the hash that the batch after it says. */
    private final SortedMap<Long, byte[]> missing = new TreeMap<>();
    /** The tree of the log that was accepted last; null without a policy. */
    private HeadProof.Tree tree;
    private boolean isForked;
    /** Of the adopted head. */
    private long pollSeconds = 4 * 3600, spreadSeconds = 300, flags, pauseSeconds, minimumVersion;

    /** A reader that has seen nothing.
     * @param key one of the feed's keys, best the newest: 32 bytes
     * @param policy null: heads need no witnesses */
    public Feed(byte[] key, WitnessPolicy policy) {
        if (!Ed25519.isKey(key)) throw new IllegalArgumentException("no key");
        configured = key.clone();
        this.policy = policy;
        chain = KeyChain.of(configured);
    }

    private Feed(Feed other) {
        configured = other.configured;
        policy = other.policy;
        chain = KeyChain.of(configured);
    }

    /** Seconds between two polls. */
    public long pollSeconds() { return pollSeconds; }

    /** The longest random wait after a push. */
    public long spreadSeconds() { return spreadSeconds; }

    /** For how many seconds after this head came first wake-ups are ignored; polls continue. */
    public long pauseSeconds() { return (flags & 1) == 0 ? 0 : Math.min(pauseSeconds, 259_200); }

    /** The feed has ended: unregister and stop. */
    public boolean isRetired() { return (flags & 2) != 0; }

    /** Push tokens are not sent for now. */
    public boolean isWithoutRegistration() { return (flags & 4) != 0; }

    /** Apps whose number is below it ask for an update; 0 for none. */
    public long minimumClientVersion() { return minimumVersion; }

    /** When the newest head that was adopted was signed, seconds since 1970; -1 at first. */
    public long issued() { return newestIssued; }

    /** Two histories were seen, of which each has what the publisher signed: nothing newer is
     * believed. */
    public boolean isForked() { return isForked; }

    /** The number of the last batch that was checked, or passed over; 0 before the first. */
    public long sequence() { return sequence; }

    /** The number of the first batch that the newest accepted head names. */
    long firstRetained() { return head.length == 0 ? 1 : first(head); }

    /** The newest head that was accepted, for evidence; empty before the first. */
    byte[] head() { return head; }

    // ---- Head and keys --------------------------------------------------------------------------

    /** Whether the file `keys` is fetched after this head, before it is read. */
    public boolean needsKeys(byte[] file) {
        try {
            byte[] signer = Bytes.part(file, end(file), 8);
            return newestIssued < 0 || chain.indexOf(configured) < 0
                || !Arrays.equals(KeyChain.keyID(chain.keys.get(oldest)), signer);
        } catch (Refused refused) {
            return false;
        }
    }

    /** Where the table of a head ends, and what its signer adds begins. */
    private static int end(byte[] file) throws Refused {
        require(file.length <= HEAD_FILE, "tooLarge");
        require(Bytes.startsWith(file, "WAKEHD02"), "badSignature");
        require(file.length >= 256, "truncated");
        long count = last(file) + 1 - first(file);
        require(count >= 0 && count <= 448, "badSignature");
        int end = 256 + 8 * (int) count;
        require(file.length >= end + 72, "truncated");
        return end;
    }

    private static long last(byte[] head) { return Bytes.number(head, 24, 8); }

    private static long first(byte[] head) { return Bytes.number(head, 32, 8); }

    /**
     * Checks the file `head`.
     *
     * @param keys the file `keys`, where {@link #needsKeys} asked for it and it came; or null
     * @param now seconds since 1970
     */
    public List<Warning> readHead(byte[] file, byte[] keys, long now) throws Refused {
        KeyChain offered = keys == null ? null : KeyChain.read(keys), chain = this.chain;
        int oldest = this.oldest, end = end(file);
        if (offered != null && isAcceptable(offered)) {
            oldest = Math.max(0, offered.indexOf(chain.keys.get(oldest)));
            chain = offered;
        }
        int self = chain.indexOf(configured);
        require(self >= 0, offered == null ? "badSignature" : "wrongFeed");
        // The keys are a feed's, and the configured one is not among them.
        String unsigned = offered != null && offered.indexOf(configured) < 0
            ? "wrongFeed" : "badSignature";
        int signer = chain.signer(file, "wake-feed/head/2\n", end, Math.max(oldest, self));
        require(signer >= 0, unsigned);
        require(Arrays.equals(Bytes.part(file, 8, 16), chain.feedID), "wrongFeed");
        long issued = Bytes.number(file, 40, 8), expires = Bytes.number(file, 48, 8);
        checkForm(file, end, issued, expires);
        require(chain.maySignHead(signer, last(file)), unsigned);
        checkHistory(file);

        byte[] data = Bytes.part(file, 0, end + 72);
        List<Warning> warnings = new ArrayList<>();
        if (expires < now - TOLERANCE) warnings.add(Warning.STALE);
        if (issued > now + TOLERANCE) warnings.add(Warning.CLOCK_SKEW);
        boolean isGap = sequence + 1 < first(file);
        // Of a missing batch, too, that the head names no more: it never comes.
        boolean isLost = !missing.headMap(first(file)).isEmpty();
        if (isGap && newestIssued >= 0 || isLost) warnings.add(Warning.GAP);
        HeadProof.Tree next = tree;
        if (policy != null) {
            HeadProof proof =
                HeadProof.read(Bytes.part(file, data.length, file.length - data.length));
            require(proof != null, "proof(malformed)");
            require(proof.includes(data), "proof(otherHead)");
            long life = Math.min(Math.max(0, expires - issued), 1L << 40);
            if (proof.verify(policy, chain, signer, tree, now - TOLERANCE - life)) {
                warnings.add(Warning.STALE_PROOF);
            }
            next = proof.tree;
        }
        require(!isForked, "fork");
        tree = next;
        this.chain = chain;
        accept(data, signer, issued, isGap);
        return warnings;
    }

    /** Whether a feed's keys take the place of the known ones, which are never given up for others
     * but where the app came with a key that is not among them. */
    private boolean isAcceptable(KeyChain offered) {
        return offered.indexOf(configured) >= 0
            && (newestIssued < 0 || Arrays.equals(offered.feedID, chain.feedID))
            && (chain.indexOf(configured) < 0 || offered.continues(chain));
    }

    private static void checkForm(byte[] file, int end, long issued, long expires) throws Refused {
        require(Bytes.isZero(file, 184, 72), "malformedHead(reservedBytes)");
        long last = last(file), first = first(file);
        require(last >= 0 && last < Long.MAX_VALUE && first >= 1 && first <= last + 1
            && issued >= 0 && expires >= 0, "malformedHead(range)");
        boolean isEqual = Arrays.equals(Bytes.part(file, end - 8, 8), Bytes.part(file, 56, 8));
        require((end == 256 || isEqual) && (last > 0 || Bytes.isZero(file, 56, 32)),
            "malformedHead(table)");
    }

    private void checkHistory(byte[] file) throws Refused {
        byte[] own = suffix(file, sequence), hash = Bytes.part(file, 56, 32);
        if (headerHash != null && last(file) >= sequence) {
            requireOne(last(file) > sequence || Arrays.equals(hash, headerHash));
            requireOne(own == null || Arrays.equals(own, Bytes.part(headerHash, 0, 8)));
        }
        // What is signed and contradicts the newest accepted head is more than old.
        requireOne(!contradicts(file));
        require(last(file) >= sequence, "rollback");
    }

    /** Of two histories that the publisher signed one is enough. */
    private void requireOne(boolean condition) throws Refused {
        if (!condition) isForked = true;
        require(condition, "fork");
    }

    /** Whether a head names another batch than the newest accepted one does, under one number. */
    private boolean contradicts(byte[] file) {
        for (long each = first(file); head.length > 0 && each <= last(file); each++) {
            byte[] known = suffix(head, each);
            if (known != null && !Arrays.equals(known, suffix(file, each))) return true;
        }
        // Of the last batch that both name they say the whole hash.
        long last = last(file);
        boolean isSame = head.length > 0 && last(head) == last && suffix(head, last) != null
            && suffix(file, last) != null;
        return isSame && !Arrays.equals(Bytes.part(head, 56, 32), Bytes.part(file, 56, 32));
    }

    private void accept(byte[] data, int signer, long issued, boolean isGap) {
        long first = first(data);
        if (isGap) {
            sequence = first - 1;
            headerHash = sequence == last(data) ? Bytes.part(data, 56, 32) : null;
        }
        missing.headMap(first).clear();
        oldest = signer;
        head = data;
        if (issued < newestIssued) return;
        newestIssued = issued;
        pollSeconds = Bytes.number(data, 96, 4);
        spreadSeconds = Bytes.number(data, 100, 4);
        flags = Bytes.number(data, 104, 4);
        pauseSeconds = Bytes.number(data, 108, 4);
        minimumVersion = Bytes.number(data, 112, 4);
    }

    /** The batches that are named and were not checked, ascending: all of them are fetched, match
     * or not. */
    public List<Long> unchecked() {
        List<Long> numbers = new ArrayList<>(missing.keySet());
        for (long each = sequence + 1; head.length > 0 && each <= last(head); each++) {
            numbers.add(each);
        }
        return numbers;
    }

    /** The path of a batch below the feed's URL. */
    public String path(long number) {
        // Never in the digits of the device's language.
        return String.format(Locale.ROOT, "b/%020d-", number) + Bytes.hex(suffix(head, number));
    }

    /** The head's table; null for what it does not name. */
    private static byte[] suffix(byte[] head, long number) {
        if (number < first(head) || number > last(head)) return null;
        return Bytes.part(head, 256 + 8 * (int) (number - first(head)), 8);
    }

    /** What two people compare to see whether they have the same feed: section 13. Null before the
     * first head. */
    public String fingerprint() {
        if (head.length == 0) return null;
        StringBuilder text = new StringBuilder().append(last(head));
        for (int i = 0; i < 16; i += 2) {
            int bits = (int) Bytes.bigEndian(head, 56 + i, 2);
            text.append(i == 0 ? ' ' : '-');
            for (int shift : new int[] {12, 10, 6, 4, 0}) {
                boolean isVowel = shift == 10 || shift == 4;
                text.append(isVowel
                    ? "aiou".charAt(bits >> shift & 3)
                    : "bdfghjklmnprstvz".charAt(bits >> shift & 15));
            }
        }
        return text.toString();
    }

    // ---- Batch ----------------------------------------------------------------------------------

    /** Checks a batch of {@link #unchecked}, and finds what belongs to the secrets, of 16 to 1024
     * bytes each. One that is refused, or does not come, stays unchecked; later ones are read all
     * the same, but after {@code fork} none. */
    public List<Match> readBatch(long number, byte[] data, Collection<byte[]> secrets)
            throws Refused {
        require(Bytes.startsWith(data, "WAKEBT01"), "badSignature");
        require(data.length >= HEADER, "truncated");
        byte[] header = Bytes.part(data, 0, HEADER), hash = Blake2b.hash(32, header);
        byte[] expected = missing.get(number);
        // What its signed successor names needs no signature: its key may have retired since.
        boolean isVouched = Arrays.equals(hash, expected);
        int signer = isVouched ? 0 : chain.signer(header, "wake-feed/batch/1\n", 184, 0);
        require(signer >= 0, "badSignature");
        require(Bytes.isZero(header, 136, 48), "corruptBatch(reservedBytes)");
        long count = Bytes.number(header, 40, 4);
        int bits = header[44], kind = header[45], note = (int) Bytes.number(header, 46, 2);
        require(Bytes.number(header, 32, 8) >= 0 && bits >= 40 && bits <= 54
            && count >= 1024 && count % 1024 == 0 && count <= 1L << 64 - bits
            && (kind == 0 && note == 0 || kind == 1 && note >= 42), "corruptBatch(shape)");
        require(Arrays.equals(Bytes.part(header, 8, 16), chain.feedID), "wrongFeed");
        require(Bytes.number(header, 24, 8) == number, "corruptBatch(sequence)");
        require(isVouched || chain.signs(signer, number), "badSignature");
        byte[] previous = Bytes.part(header, 64, 32);
        requireOne(number != sequence + 1 || headerHash == null
            || Arrays.equals(previous, headerHash));
        byte[] before = suffix(head, number - 1);
        requireOne(before == null || Arrays.equals(Bytes.part(previous, 0, 8), before));
        requireOne(Arrays.equals(Bytes.part(hash, 0, 8), suffix(head, number))
            && (expected == null || isVouched));
        requireOne(number != last(head) || Arrays.equals(hash, Bytes.part(head, 56, 32)));
        long size = Bytes.number(header, 128, 8);
        require(size >= 0 && size <= LARGEST, "tooLarge");
        long end = size - count * note;
        require(count * (bits + 1) <= 8 * end && 8 * end <= count * (bits + 2),
            "corruptBatch(size)");
        require(data.length >= HEADER + size, "truncated");
        require(data.length == HEADER + size, "tooLarge");
        byte[] payload = Bytes.part(data, HEADER, (int) size);
        require(Arrays.equals(Blake2b.hash(32, payload), Bytes.part(header, 96, 32)),
            "corruptBatch(payloadHash)");
        long[] values = BatchPayload.values(payload, (int) end, (int) count, bits);

        List<Match> matches = new ArrayList<>();
        byte[] salt = Bytes.part(header, 48, 16);
        for (byte[] secret : secrets) {
            if (secret.length < 16 || secret.length > 1024) continue;
            int row = Arrays.binarySearch(values, BatchPayload.value(secret, salt, count, bits));
            if (row < 0) continue;
            byte[] text = kind == 0 ? null
                : BatchPayload.openNote(Bytes.part(payload, (int) end + row * note, note), secret);
            matches.add(new Match(matchID(secret, text), secret, text, number));
        }
        advance(number, hash, previous);
        return matches;
    }

    private void advance(long number, byte[] hash, byte[] previous) {
        if (number > sequence) {
            for (long each = sequence + 1; each < number; each++) missing.put(each, null);
            sequence = number;
            headerHash = hash;
        } else {
            missing.remove(number);
        }
        if (missing.containsKey(number - 1)) missing.put(number - 1, previous);
    }

    /** Section 8. */
    private byte[] matchID(byte[] secret, byte[] note) {
        byte[] length = {(byte) secret.length, (byte) (secret.length >> 8)};
        byte[] message =
            Bytes.join(chain.feedID, length, secret, note == null ? new byte[0] : note);
        return Blake2b.hash(16, Blake2b.hash(32, Bytes.ascii("wake-feed/match/1")), message);
    }

    // ---- Kept across kills ----------------------------------------------------------------------

    /** A reader of the same feed that begins again; keys that are known as retired stay so. */
    Feed restarted() {
        Feed next = new Feed(this);
        next.chain = chain;
        next.oldest = oldest;
        return next;
    }

    /** Another reader with the same past. */
    Feed copy() {
        try {
            Feed next = new Feed(this);
            next.load(saved());
            return next;
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Everything, to be stored with the matches that were found. */
    public byte[] saved() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            out.writeByte(2);
            chain.write(out);
            out.writeByte(oldest);
            out.writeShort(head.length);
            out.write(head);
            out.writeLong(sequence);
            write(headerHash, out);
            for (long value : new long[] {
                newestIssued, pollSeconds, spreadSeconds, flags, pauseSeconds, minimumVersion}) {
                out.writeLong(value);
            }
            out.writeShort(missing.size());
            for (Map.Entry<Long, byte[]> each : missing.entrySet()) {
                out.writeLong(each.getKey());
                write(each.getValue(), out);
            }
            write(tree == null ? null : tree.root, out);
            out.writeLong(tree == null ? 0 : tree.size);
            out.writeUTF(tree == null ? "" : tree.origin);
            out.writeBoolean(isForked);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return bytes.toByteArray();
    }

    /** A hash that may be unknown. */
    private static void write(byte[] hash, DataOutputStream out) throws IOException {
        out.writeBoolean(hash != null);
        if (hash != null) out.write(hash);
    }

    private static byte[] readHash(DataInputStream in) throws IOException {
        if (!in.readBoolean()) return null;
        byte[] hash = new byte[32];
        in.readFully(hash);
        return hash;
    }

    /** A reader that continues. The key and the policy may be other ones than before.
     * @throws IOException if these are not bytes of {@link #saved} */
    public static Feed restored(byte[] key, WitnessPolicy policy, byte[] saved) throws IOException {
        Feed feed = new Feed(key, policy);
        feed.load(saved);
        return feed;
    }

    private void load(byte[] saved) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved));
        if (in.readByte() != 2) throw new IOException("not a feed of this version");
        KeyChain stored = KeyChain.read(in);
        int signer = in.readByte();
        if (signer < 0 || signer >= stored.keys.size()) throw new IOException("not a feed");
        head = new byte[in.readShort()];
        in.readFully(head);
        sequence = in.readLong();
        headerHash = readHash(in);
        newestIssued = in.readLong();
        pollSeconds = in.readLong();
        spreadSeconds = in.readLong();
        flags = in.readLong();
        pauseSeconds = in.readLong();
        minimumVersion = in.readLong();
        for (int left = in.readShort(); left > 0; left--) {
            missing.put(in.readLong(), readHash(in));
        }
        byte[] root = readHash(in);
        long size = in.readLong();
        String origin = in.readUTF();
        if (root != null) tree = new HeadProof.Tree(origin, size, root);
        isForked = in.readBoolean();
        // Before the first head a key that the app came with outranks what is known.
        if (newestIssued >= 0 || stored.indexOf(configured) >= 0) {
            chain = stored;
            oldest = signer;
        }
    }

    static void require(boolean condition, String error) throws Refused {
        if (!condition) throw new Refused(error);
    }
}
