package org.reveille;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The keys that have signed a feed, in their order: Policy/FEED.md, section 5. */
final class KeyChain {
    private static final int FILE = 4096, RECORD = 256, MOST = FILE / RECORD;

    final byte[] feedID;
    /** Never empty. */
    final List<byte[]> keys;
    /** The number of the first batch that each of them signs. */
    private final List<Long> froms;

    private KeyChain(List<byte[]> keys, List<Long> froms) {
        this.keys = keys;
        this.froms = froms;
        feedID = feedID(keys.get(0));
    }

    /** Of a client that knows no key but this one. */
    static KeyChain of(byte[] key) {
        return new KeyChain(Collections.singletonList(key), Collections.singletonList(1L));
    }

    /** Section 9, "Checks of the file keys".
     * @return null for a file that fails: it counts as absent */
    static KeyChain read(byte[] file) {
        try {
            return checked(file);
        } catch (Feed.Refused refused) {
            return null;
        }
    }

    private static KeyChain checked(byte[] file) throws Feed.Refused {
        Feed.require(file.length == FILE, file.length < FILE ? "truncated" : "tooLarge");
        List<byte[]> keys = new ArrayList<>();
        List<Long> froms = new ArrayList<>();
        for (int at = 0; at < FILE; at += RECORD) {
            byte[] record = Bytes.part(file, at, RECORD);
            if (at > 0 && Bytes.isZero(record, 0, RECORD)) {
                Feed.require(Bytes.isZero(file, at, FILE - at), "malformedKeys");
                break;
            }
            byte[] key = Bytes.part(record, 64, 32);
            byte[] before = keys.isEmpty() ? key : keys.get(keys.size() - 1);
            Feed.require(Bytes.startsWith(record, "WAKEKY01") && Ed25519.isKey(key)
                && of(key).signer(record, "wake-feed/acceptance/1\n", 184, 0) == 0
                && of(before).signer(record, "wake-feed/succession/1\n", 112, 0) == 0,
                "badSignature");
            byte[] first = keys.isEmpty() ? key : keys.get(0);
            Feed.require(Arrays.equals(Bytes.part(record, 8, 16), feedID(first)), "wrongFeed");
            long from = Bytes.number(record, 24, 8);
            long least = froms.isEmpty() ? 1 : froms.get(froms.size() - 1);
            Feed.require(Arrays.equals(Bytes.part(record, 32, 32), before)
                && Bytes.indexOf(key, keys) < 0 && Bytes.isZero(record, 96, 16) && from >= least
                && from < Long.MAX_VALUE && (!froms.isEmpty() || from == 1), "malformedKeys");
            keys.add(key);
            froms.add(from);
        }
        return new KeyChain(keys, froms);
    }

    /** @return -1 if it is not one of them */
    int indexOf(byte[] key) { return Bytes.indexOf(key, keys); }

    /** Whether this has all keys of the other chain in their order, which may lack the first. */
    boolean continues(KeyChain other) {
        int start = indexOf(other.keys.get(0)), count = other.keys.size();
        if (start < 0 || start + count > keys.size()) return false;
        for (int i = 0; i < count; i++) {
            if (!Arrays.equals(keys.get(start + i), other.keys.get(i))) return false;
        }
        return true;
    }

    /** Whether the batch of this number is of that key. */
    boolean signs(int index, long batch) {
        return batch >= froms.get(index) && maySignHead(index, batch);
    }

    /** Whether a head that ends with this batch may be of that key. */
    boolean maySignHead(int index, long last) {
        return index + 1 == keys.size() || last < froms.get(index + 1);
    }

    /** The key that signed: its ID and the signature end all layouts.
     * @param first the index of the first key that may have signed
     * @return -1 if it is none of them */
    int signer(byte[] data, String domain, int at, int first) {
        byte[] id = Bytes.part(data, at, 8), signature = Bytes.part(data, at + 8, 64);
        for (int i = first; i < keys.size(); i++) {
            if (!Arrays.equals(id, keyID(keys.get(i)))) continue;
            byte[] message = Bytes.join(Bytes.ascii(domain), Bytes.part(data, 0, at + 8));
            if (Ed25519.verify(keys.get(i), message, signature)) return i;
        }
        return -1;
    }

    static byte[] keyID(byte[] key) { return Bytes.part(Blake2b.hash(16, key), 0, 8); }

    private static byte[] feedID(byte[] key) {
        return Blake2b.hash(16, Bytes.join(Bytes.ascii("wake-feed-id"), key));
    }

    void write(DataOutputStream out) throws IOException {
        out.writeByte(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            out.write(keys.get(i));
            out.writeLong(froms.get(i));
        }
    }

    static KeyChain read(DataInputStream in) throws IOException {
        int count = in.readByte();
        if (count < 1 || count > MOST) throw new IOException("not a chain of keys");
        List<byte[]> keys = new ArrayList<>();
        List<Long> froms = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] key = new byte[32];
            in.readFully(key);
            keys.add(key);
            froms.add(in.readLong());
        }
        return new KeyChain(keys, froms);
    }
}
