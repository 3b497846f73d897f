package org.reveille;

import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * The verification of Ed25519 signatures (RFC 8032), which not every Android has for keys outside
 * its Keystore. What is accepted is what libsodium accepts. Everything here is public: its time may
 * depend on it.
 *
 * <p>A number modulo p = 2²⁵⁵ - 19 is ten limbs of 26 and 25 bits in turn, with a sign: sums of
 * products of two fit into a long, which Java 8 can multiply no further.
 */
final class Ed25519 {
    private static final int[] OFFSETS = {0, 26, 51, 77, 102, 128, 153, 179, 204, 230};
    private static final BigInteger ONE = BigInteger.ONE;
    private static final BigInteger P = ONE.shiftLeft(255).subtract(BigInteger.valueOf(19));
    /** The order of the base point. */
    private static final BigInteger L =
        ONE.shiftLeft(252).add(new BigInteger("27742317777372353535851937790883648493"));
    private static final BigInteger CURVE = BigInteger.valueOf(-121665)
        .multiply(BigInteger.valueOf(121666).modInverse(P)).mod(P);
    private static final long[] D = limbs(CURVE), TWICE_D = limbs(CURVE.shiftLeft(1).mod(P));
    /** A square root of -1. */
    private static final long[] I = limbs(
        BigInteger.valueOf(2).modPow(P.subtract(ONE).shiftRight(2), P));
    private static final long[] ZERO = limbs(BigInteger.ZERO), UNIT = limbs(ONE);
    /** Odd multiples of the base point, y = 4/5 with an even x. */
    private static final Addend[] BASE = oddMultiples(
        point(BigInteger.valueOf(4).multiply(BigInteger.valueOf(5).modInverse(P)).mod(P), false));

    private Ed25519() {}

    /** Whether this is a key: a point of the base point's order, written as it must be. */
    static boolean isKey(byte[] key) {
        Point p = key.length == 32 ? decoded(key) : null;
        return p != null && !p.isNeutral() && sum(L, oddMultiples(p), BigInteger.ZERO).isNeutral();
    }

    static boolean verify(byte[] key, byte[] message, byte[] signature) {
        if (key.length != 32 || signature.length != 64) return false;
        BigInteger s = Bytes.little(signature, 32, 32);
        Point a = decoded(key);
        if (a == null || a.isOfSmallOrder() || s.compareTo(L) >= 0) return false;
        MessageDigest sha = Bytes.digest("SHA-512");
        sha.update(signature, 0, 32);
        sha.update(key);
        BigInteger k = Bytes.little(sha.digest(message), 0, 64).mod(L);
        // s·B - k·A is the point that the signature begins with.
        Point r = sum(k, oddMultiples(a.negative()), s);
        return !r.isOfSmallOrder() && Arrays.equals(r.encoded(), Bytes.part(signature, 0, 32));
    }

    /** a·A + b·B. */
    private static Point sum(BigInteger a, Addend[] multiples, BigInteger b) {
        int[] first = digits(a), second = digits(b);
        Point sum = Point.NEUTRAL;
        for (int at = first.length - 1; at >= 0; at--) {
            if (sum != Point.NEUTRAL) sum = sum.doubled();
            if (first[at] != 0) sum = sum.adding(multiples, first[at]);
            if (second[at] != 0) sum = sum.adding(BASE, second[at]);
        }
        return sum;
    }

    /** Odd digits from -15 to 15, five places apart or more, that weigh as much as the bits. */
    private static int[] digits(BigInteger number) {
        int[] digits = new int[257];
        int carry = 0;
        for (int at = 0; at < digits.length;) {
            if ((number.testBit(at) ? 1 : 0) == carry) {
                at++;
                continue;
            }
            int window = carry;
            for (int i = 0; i < 5; i++) if (number.testBit(at + i)) window += 1 << i;
            carry = window > 16 ? 1 : 0;
            digits[at] = window - 32 * carry;
            at += 5;
        }
        return digits;
    }

    /** 1, 3 … 15 times a point. */
    private static Addend[] oddMultiples(Point point) {
        Addend[] multiples = new Addend[8];
        Addend two = new Addend(point.doubled());
        for (int i = 0; i < 8; i++) {
            if (i > 0) point = point.adding(two, false);
            multiples[i] = new Addend(point);
        }
        return multiples;
    }

    /** Null for what is no point, or not written as it must be. */
    private static Point decoded(byte[] bytes) {
        BigInteger y = Bytes.little(bytes, 0, 32).clearBit(255);
        return y.compareTo(P) < 0 ? point(y, bytes[31] < 0) : null;
    }

    /** RFC 8032, section 5.1.3. */
    private static Point point(BigInteger number, boolean isOdd) {
        long[] y = limbs(number), square = times(y, y);
        long[] u = minus(square, UNIT), v = plus(times(D, square), UNIT);
        // √(u/v) = u·v³·(u·v⁷)^(2²⁵² - 3), or that times √-1.
        long[] vv = times(v, v), start = times(u, times(vv, v));
        long[] x = times(start, power(times(start, times(vv, vv))));
        long[] found = times(v, times(x, x));
        if (!isZero(minus(found, u))) {
            if (!isZero(plus(found, u))) return null;
            x = times(x, I);
        }
        if (isZero(x) && isOdd) return null;
        if (number(x).testBit(0) != isOdd) x = minus(ZERO, x);
        return new Point(x, y, UNIT, times(x, y));
    }

    /** Section 5.1.4: x = X/Z, y = Y/Z, x·y = T/Z. */
    private static final class Point {
        static final Point NEUTRAL = new Point(ZERO, UNIT, UNIT, ZERO);
        final long[] x, y, z, t;

        Point(long[] x, long[] y, long[] z, long[] t) {
            this.x = x;
            this.y = y;
            this.z = z;
            this.t = t;
        }

        boolean isNeutral() { return isZero(x) && isZero(minus(y, z)); }

        boolean isOfSmallOrder() { return doubled().doubled().doubled().isNeutral(); }

        Point negative() { return new Point(minus(ZERO, x), y, z, minus(ZERO, t)); }

        Point doubled() {
            long[] a = times(x, x), b = times(y, y), c = times(z, z), xy = plus(x, y);
            long[] h = plus(a, b), e = minus(h, times(xy, xy)), g = minus(a, b);
            return of(e, plus(plus(c, c), g), g, h);
        }

        Point adding(Addend[] multiples, int digit) {
            return adding(multiples[Math.abs(digit) / 2], digit < 0);
        }

        Point adding(Addend q, boolean isNegative) {
            long[] a = times(minus(y, x), isNegative ? q.sum : q.difference);
            long[] b = times(plus(y, x), isNegative ? q.difference : q.sum);
            long[] c = times(t, q.t), d = times(z, q.z);
            long[] f = isNegative ? plus(d, c) : minus(d, c);
            long[] g = isNegative ? minus(d, c) : plus(d, c);
            return of(minus(b, a), f, g, plus(b, a));
        }

        private static Point of(long[] e, long[] f, long[] g, long[] h) {
            return new Point(times(e, f), times(g, h), times(f, g), times(e, h));
        }

        byte[] encoded() {
            long[] inverse = inverse(z);
            BigInteger all = number(times(y, inverse));
            if (number(times(x, inverse)).testBit(0)) all = all.setBit(255);
            byte[] bytes = new byte[32];
            for (int i = 0; i < 32; i++) bytes[i] = all.shiftRight(8 * i).byteValue();
            return bytes;
        }
    }

    /** A point as it is added: y - x, y + x, 2·z, 2·d·t. */
    private static final class Addend {
        final long[] difference, sum, z, t;

        Addend(Point p) {
            difference = carried(minus(p.y, p.x));
            sum = carried(plus(p.y, p.x));
            z = carried(plus(p.z, p.z));
            t = times(p.t, TWICE_D);
        }
    }

    // ---- Numbers modulo p -----------------------------------------------------------------------

    private static long[] limbs(BigInteger number) {
        long[] limbs = new long[10];
        for (int i = 0; i < 10; i++) {
            limbs[i] = number.shiftRight(OFFSETS[i]).longValue() & (1 << 26 - i % 2) - 1;
        }
        return limbs;
    }

    private static BigInteger number(long[] limbs) {
        BigInteger number = BigInteger.ZERO;
        for (int i = 0; i < 10; i++) {
            number = number.add(BigInteger.valueOf(limbs[i]).shiftLeft(OFFSETS[i]));
        }
        return number.mod(P);
    }

    private static boolean isZero(long[] limbs) { return number(limbs).signum() == 0; }

    private static long[] plus(long[] f, long[] g) {
        long[] sum = new long[10];
        for (int i = 0; i < 10; i++) sum[i] = f[i] + g[i];
        return sum;
    }

    private static long[] minus(long[] f, long[] g) {
        long[] difference = new long[10];
        for (int i = 0; i < 10; i++) difference[i] = f[i] - g[i];
        return difference;
    }

    /** f^(2²⁵⁵ - 21). */
    private static long[] inverse(long[] f) {
        return joined(power(f), 3, times(times(f, f), f));
    }

    /** f^(2²⁵² - 3). */
    private static long[] power(long[] f) {
        // Each is f to the power of as many bits 1.
        long[] five = joined(joined(joined(joined(f, 1, f), 1, f), 1, f), 1, f);
        long[] ten = joined(five, 5, five), twenty = joined(ten, 10, ten);
        long[] fifty = joined(joined(twenty, 20, twenty), 10, ten);
        long[] hundred = joined(fifty, 50, fifty);
        return joined(joined(joined(hundred, 100, hundred), 50, fifty), 2, f);
    }

    /** f to the power of 2ⁿ, times g. */
    private static long[] joined(long[] f, int n, long[] g) {
        for (int i = 0; i < n; i++) f = times(f, f);
        return times(f, g);
    }

    /** The limbs of the factors have at most two bits more than {@link #carried} leaves. */
    private static long[] times(long[] f, long[] g) {
        long f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4];
        long f5 = f[5], f6 = f[6], f7 = f[7], f8 = f[8], f9 = f[9];
        long g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3], g4 = g[4];
        long g5 = g[5], g6 = g[6], g7 = g[7], g8 = g[8], g9 = g[9];
        // The product of two limbs of 25 bits, whose offsets are rounded up, lies a bit higher.
        long p1 = 2 * f1, p3 = 2 * f3, p5 = 2 * f5, p7 = 2 * f7, p9 = 2 * f9;
        // What is beyond 255 bits comes back 19 times.
        return carried(new long[] {
            f0 * g0 + 19 * (p1 * g9 + f2 * g8 + p3 * g7 + f4 * g6 + p5 * g5 + f6 * g4 + p7 * g3
                + f8 * g2 + p9 * g1),
            f0 * g1 + f1 * g0 + 19 * (f2 * g9 + f3 * g8 + f4 * g7 + f5 * g6 + f6 * g5 + f7 * g4
                + f8 * g3 + f9 * g2),
            f0 * g2 + p1 * g1 + f2 * g0 + 19 * (p3 * g9 + f4 * g8 + p5 * g7 + f6 * g6 + p7 * g5
                + f8 * g4 + p9 * g3),
            f0 * g3 + f1 * g2 + f2 * g1 + f3 * g0 + 19 * (f4 * g9 + f5 * g8 + f6 * g7 + f7 * g6
                + f8 * g5 + f9 * g4),
            f0 * g4 + p1 * g3 + f2 * g2 + p3 * g1 + f4 * g0 + 19 * (p5 * g9 + f6 * g8 + p7 * g7
                + f8 * g6 + p9 * g5),
            f0 * g5 + f1 * g4 + f2 * g3 + f3 * g2 + f4 * g1 + f5 * g0 + 19 * (f6 * g9 + f7 * g8
                + f8 * g7 + f9 * g6),
            f0 * g6 + p1 * g5 + f2 * g4 + p3 * g3 + f4 * g2 + p5 * g1 + f6 * g0 + 19 * (p7 * g9
                + f8 * g8 + p9 * g7),
            f0 * g7 + f1 * g6 + f2 * g5 + f3 * g4 + f4 * g3 + f5 * g2 + f6 * g1 + f7 * g0
                + 19 * (f8 * g9 + f9 * g8),
            f0 * g8 + p1 * g7 + f2 * g6 + p3 * g5 + f4 * g4 + p5 * g3 + f6 * g2 + p7 * g1 + f8 * g0
                + 19 * (p9 * g9),
            f0 * g9 + f1 * g8 + f2 * g7 + f3 * g6 + f4 * g5 + f5 * g4 + f6 * g3 + f7 * g2 + f8 * g1
                + f9 * g0,
        });
    }

    /** The same number in limbs of at most 2²⁵ and 2²⁴, or a little more. */
    private static long[] carried(long[] limbs) {
        for (int i = 0; i <= 10; i++) {
            int at = i % 10, size = 26 - at % 2;
            long carry = limbs[at] + (1L << size - 1) >> size;
            limbs[at] -= carry << size;
            limbs[(at + 1) % 10] += at == 9 ? 19 * carry : carry;
        }
        return limbs;
    }
}
