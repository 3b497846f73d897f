package org.reveille;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;

/** Bytes and numbers, as Policy/FEED.md writes them. Numbers of eight bytes are unsigned: those of
 * 2⁶³ and more are negative here. */
final class Bytes {
    private static final String DIGITS =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    private Bytes() {}

    static byte[] ascii(String text) { return text.getBytes(StandardCharsets.US_ASCII); }

    static byte[] part(byte[] bytes, int at, int count) {
        return Arrays.copyOfRange(bytes, at, at + count);
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] each : parts) all.write(each, 0, each.length);
        return all.toByteArray();
    }

    /** Little-endian. */
    static long number(byte[] bytes, int at, int count) {
        long value = 0;
        for (int i = count - 1; i >= 0; i--) value = value << 8 | bytes[at + i] & 0xFF;
        return value;
    }

    /** The most significant byte first. */
    static long bigEndian(byte[] bytes, int at, int count) {
        long value = 0;
        for (int i = 0; i < count; i++) value = value << 8 | bytes[at + i] & 0xFF;
        return value;
    }

    static BigInteger little(byte[] bytes, int at, int size) {
        byte[] reversed = new byte[size];
        for (int i = 0; i < size; i++) reversed[i] = bytes[at + size - 1 - i];
        return new BigInteger(1, reversed);
    }

    /** Unsigned. */
    static int compare(long a, long b) {
        return Long.compare(a ^ Long.MIN_VALUE, b ^ Long.MIN_VALUE);
    }

    static boolean isZero(byte[] bytes, int at, int count) {
        for (int i = at; i < at + count; i++) if (bytes[i] != 0) return false;
        return true;
    }

    /** Also of bytes that end within the mark. */
    static boolean startsWith(byte[] bytes, String mark) {
        int count = Math.min(bytes.length, mark.length());
        return Arrays.equals(part(bytes, 0, count), part(ascii(mark), 0, count));
    }

    /** @return -1 if there is none */
    static int indexOf(byte[] wanted, List<byte[]> all) {
        for (int i = 0; i < all.size(); i++) if (Arrays.equals(wanted, all.get(i))) return i;
        return -1;
    }

    static MessageDigest digest(String algorithm) {
        try {
            return MessageDigest.getInstance(algorithm);
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException(missing);
        }
    }

    // ---- Text -----------------------------------------------------------------------------------

    /** Each byte is a character: opaque text that is compared byte by byte. */
    static String text(byte[] bytes) { return new String(bytes, StandardCharsets.ISO_8859_1); }

    static byte[] bytes(String text) { return text.getBytes(StandardCharsets.ISO_8859_1); }

    /** What is no UTF-8 is replaced by U+FFFD. */
    static String characters(byte[] bytes) { return new String(bytes, StandardCharsets.UTF_8); }

    static byte[] utf8(String text) { return text.getBytes(StandardCharsets.UTF_8); }

    /** @return null for what is no UTF-8 */
    static String unicode(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException malformed) {
            return null;
        }
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
        }
        return text.toString();
    }

    /** An unsigned number without leading zeros.
     * @return null for any other text */
    static Long canonical(String text) {
        if (!text.matches("0|[1-9][0-9]{0,19}")) return null;
        BigInteger value = new BigInteger(text);
        return value.bitLength() <= 64 ? (Long) value.longValue() : null;
    }

    /** RFC 4648, section 5, without padding. */
    static String base64URL(byte[] bytes) {
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

    /** @return null for foreign characters, padding, impossible lengths, and bits that are left */
    static byte[] fromBase64URL(String text) {
        if (text.length() % 4 == 1) return null;
        byte[] bytes = new byte[text.length() * 6 / 8];
        int bits = 0, count = 0, length = 0;
        for (int i = 0; i < text.length(); i++) {
            int digit = DIGITS.indexOf(text.charAt(i));
            if (digit < 0) return null;
            bits = bits << 6 | digit;
            if ((count += 6) >= 8) bytes[length++] = (byte) (bits >> (count -= 8));
            bits &= (1 << count) - 1;
        }
        return bits == 0 ? bytes : null;
    }

    /** RFC 4648, section 4, with the padding that it needs.
     * @return null for any other text */
    static byte[] fromBase64(String text) {
        if (text.length() % 4 != 0 || text.indexOf('-') >= 0 || text.indexOf('_') >= 0) return null;
        int end = text.length();
        while (end > 0 && end > text.length() - 2 && text.charAt(end - 1) == '=') end--;
        return fromBase64URL(text.substring(0, end).replace('+', '-').replace('/', '_'));
    }
}
