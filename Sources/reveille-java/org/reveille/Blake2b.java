package org.reveille;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** BLAKE2b (RFC 7693), which neither the JVM nor Android has. */
final class Blake2b {
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

    private Blake2b() {}

    /** @param key null for none */
    static byte[] hash(int size, byte[] key, byte[] message) {
        int keySize = key == null ? 0 : key.length;
        byte[] all = key == null ? message : Bytes.join(Arrays.copyOf(key, 128), message);
        long[] h = IV.clone(), v = new long[16];
        h[0] ^= 0x01010000 ^ keySize << 8 ^ size;
        int at = 0;
        do {
            int count = Math.min(128, all.length - at);
            long[] m = words(Arrays.copyOf(Bytes.part(all, at, count), 128));
            at += count;
            compress(h, v, m, at, at == all.length);
        } while (at < all.length);
        ByteBuffer out = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        for (long word : h) out.putLong(word);
        return Bytes.part(out.array(), 0, size);
    }

    static byte[] hash(int size, byte[] message) { return hash(size, null, message); }

    /** The first eight bytes of the hash of 32 bytes of one block, the first one most significant.
     * @param h room for 8 words
     * @param v room for 16 words: a search makes no garbage */
    static long first(long[] m, int size, long[] h, long[] v) {
        System.arraycopy(IV, 0, h, 0, 8);
        h[0] ^= 0x01010020;
        compress(h, v, m, size, true);
        return Long.reverseBytes(h[0]);
    }

    static long[] words(byte[] block) {
        long[] m = new long[16];
        ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(m);
        return m;
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
