package org.reveille;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The payload of a batch, and what a secret finds in it: Policy/FEED.md, sections 4, 6 and 7.
 *
 * <p>Values are unsigned. With the first bit turned they are in the order of signed numbers, for a
 * binary search.
 */
final class BatchPayload {
    private BatchPayload() {}

    // ---- Values ---------------------------------------------------------------------------------

    /** The values of a code, ascending. */
    static long[] values(byte[] code, int bytes, int count, int bits) throws Feed.Refused {
        long[] values = new long[count];
        int[] quotients = new int[8];
        int at = 0, end = 8 * bytes;
        // The least that the next value can be, and the most that any can.
        long least = 0, most = count == 1L << 64 - bits ? -1 : ((long) count << bits) - 1;
        for (int i = 0; i < count; i += 8) {
            for (int k = 0; k < 8; k++, at++) {
                quotients[k] = 0;
                for (; at < end && bit(code, at) == 0; at++) quotients[k]++;
                require(at < end && quotients[k] < count);
            }
            for (int k = 0; k < 8; k++) {
                require(at + bits <= end);
                long rest = 0;
                for (int n = 0; n < bits; n++, at++) rest |= (long) bit(code, at) << n;
                long value = least + ((long) quotients[k] << bits) + rest;
                // Beyond the range, or beyond 64 bits: then it seems less than what it follows.
                require(Bytes.compare(value, least) >= 0 && Bytes.compare(value, most) <= 0
                    && (i + k == 0 || least != 0));
                values[i + k] = value ^ Long.MIN_VALUE;
                least = value + 1;
            }
        }
        require(end - at < 8);
        for (; at < end; at++) require(bit(code, at) == 0);
        return values;
    }

    private static void require(boolean condition) throws Feed.Refused {
        Feed.require(condition, "corruptBatch(code)");
    }

    private static int bit(byte[] code, int at) { return code[at >> 3] >> (at & 7) & 1; }

    static long value(byte[] secret, byte[] salt, long count, int bits) {
        byte[] hash = Blake2b.hash(32, Bytes.join(Bytes.ascii("wake-feed/digest/1"), secret));
        byte[] digest = Bytes.isZero(salt, 0, 16)
            ? Bytes.part(hash, 0, 16) : sipHash(Bytes.part(hash, 16, 16), salt);
        return new BigInteger(1, digest).multiply(BigInteger.valueOf(count)).shiftRight(128 - bits)
            .longValue() ^ Long.MIN_VALUE;
    }

    /** SipHash-2-4 of 128 bits, of a message of 16 bytes. */
    private static byte[] sipHash(byte[] key, byte[] message) {
        long k0 = Bytes.number(key, 0, 8), k1 = Bytes.number(key, 8, 8);
        long[] v = {
            k0 ^ 0x736f6d6570736575L, k1 ^ 0x646f72616e646f83L,
            k0 ^ 0x6c7967656e657261L, k1 ^ 0x7465646279746573L,
        };
        // The last block has no bytes but the message's length.
        long[] words = {Bytes.number(message, 0, 8), Bytes.number(message, 8, 8), 16L << 56};
        for (long word : words) {
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

    // ---- Notes: XSalsa20-Poly1305 as NaCl's crypto_secretbox has it -----------------------------

    /** @return null if it does not open: then there is no note */
    static byte[] openNote(byte[] sealed, byte[] secret) {
        byte[] domain = Blake2b.hash(32, Bytes.ascii("wake-feed/note/1"));
        byte[] key = Blake2b.hash(32, domain, secret);
        byte[] cipher = Bytes.part(sealed, 40, sealed.length - 40);
        byte[] stream = stream(key, Bytes.part(sealed, 0, 24), 32 + cipher.length);
        byte[] tag = tag(Bytes.part(stream, 0, 32), cipher);
        if (!Arrays.equals(tag, Bytes.part(sealed, 24, 16))) return null;
        for (int i = 0; i < cipher.length; i++) cipher[i] ^= stream[32 + i];
        int length = (int) Bytes.number(cipher, 0, 2);
        return length <= cipher.length - 2 ? Bytes.part(cipher, 2, length) : null;
    }

    /** Poly1305 (RFC 8439, section 2.5). */
    private static byte[] tag(byte[] key, byte[] message) {
        BigInteger prime = BigInteger.ONE.shiftLeft(130).subtract(BigInteger.valueOf(5));
        BigInteger r = Bytes.little(key, 0, 16).and(
            new BigInteger("0ffffffc0ffffffc0ffffffc0fffffff", 16));
        BigInteger sum = BigInteger.ZERO;
        for (int at = 0; at < message.length; at += 16) {
            int size = Math.min(16, message.length - at);
            BigInteger block = Bytes.little(message, at, size).setBit(8 * size);
            sum = sum.add(block).multiply(r).mod(prime);
        }
        sum = sum.add(Bytes.little(key, 16, 16));
        byte[] tag = new byte[16];
        for (int i = 0; i < 16; i++) tag[i] = sum.shiftRight(8 * i).byteValue();
        return tag;
    }

    private static byte[] stream(byte[] key, byte[] nonce, int count) {
        int[] x = rounds(state(key, Bytes.part(nonce, 0, 16)));
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
        return Bytes.part(out.array(), 0, count);
    }

    private static int[] state(byte[] key, byte[] middle) {
        byte[] s = Bytes.ascii("expand 32-byte k");
        ByteBuffer all = ByteBuffer.wrap(Bytes.join(
            Bytes.part(s, 0, 4), Bytes.part(key, 0, 16), Bytes.part(s, 4, 4), middle,
            Bytes.part(s, 8, 4), Bytes.part(key, 16, 16), Bytes.part(s, 12, 4)));
        int[] words = new int[16];
        all.order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(words);
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
