package org.reveille;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A signed note (C2SP signed-note): text that ends in a newline, and lines with signatures of it.
 * Names and texts are as {@link Bytes#text} has them: compared byte by byte. */
final class SignedNote {
    private static final int MOST_BYTES = 256 << 10, MOST_SIGNATURES = 100;
    /** U+2014 and a space, in UTF-8. */
    private static final String MARK = "\u00e2\u0080\u0094 ";

    /** With the last newline. Means nothing until a signature of a known key was verified. */
    final String text;
    private final List<Signature> signatures = new ArrayList<>();

    private static final class Signature {
        final String name;
        final byte[] keyID, bytes;

        Signature(String name, byte[] signed) {
            this.name = name;
            keyID = Bytes.part(signed, 0, 4);
            bytes = Bytes.part(signed, 4, signed.length - 4);
        }
    }

    private SignedNote(String text) { this.text = text; }

    /** @return null unless these bytes are a note */
    static SignedNote read(String all) {
        byte[] bytes = Bytes.bytes(all);
        if (bytes.length > MOST_BYTES || !all.endsWith("\n") || Bytes.unicode(bytes) == null) {
            return null;
        }
        for (byte b : bytes) if (b >= 0 && b < ' ' && b != '\n') return null;
        // The last empty line: signatures follow it, each with a newline of its own.
        int end = all.lastIndexOf("\n\n");
        if (end < 0 || end + 2 == all.length()) return null;
        SignedNote note = new SignedNote(all.substring(0, end + 1));
        for (String line : all.substring(end + 2, all.length() - 1).split("\n", -1)) {
            int space = line.indexOf(' ', MARK.length());
            if (!line.startsWith(MARK) || space < 0) return null;
            String name = line.substring(MARK.length(), space);
            byte[] signed = Bytes.fromBase64(line.substring(space + 1));
            if (!isName(name) || signed == null || signed.length <= 4
                    || note.signatures.size() == MOST_SIGNATURES) {
                return null;
            }
            note.signatures.add(new Signature(name, signed));
        }
        return note;
    }

    /** UTF-8 of one character or more, none of them a space, a control character or a plus sign. */
    static boolean isName(String name) {
        String characters = Bytes.unicode(Bytes.bytes(name));
        if (characters == null || characters.isEmpty()) return false;
        for (int i = 0; i < characters.length(); i++) {
            char c = characters.charAt(i);
            boolean isSpace = c == 0x85 || c == 0xA0 || c == 0x1680 || c >= 0x2000 && c <= 0x200A
                || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
            if (c <= ' ' || c == '+' || isSpace) return false;
        }
        return true;
    }

    /** Verifies every signature that claims to be of one of the keys; the first of each counts.
     * @return for each key null where it has not signed, else the time of its cosignature, seconds
     *     since 1970, or 0; null as a whole when a claim is false */
    Long[] verify(List<Key> keys) {
        Long[] times = new Long[keys.size()];
        for (Signature signature : signatures) {
            for (int i = 0; i < times.length; i++) {
                Key key = keys.get(i);
                if (times[i] != null || !key.isVerifiable() || !key.name.equals(signature.name)
                        || !Arrays.equals(key.keyID, signature.keyID)) {
                    continue;
                }
                times[i] = key.verify(signature.bytes, text);
                if (times[i] == null) return null;
            }
        }
        return times;
    }

    /** A key that signatures of notes are verified with (C2SP signed-note, "Verifier keys"). */
    static final class Key {
        /** Of a log: Ed25519 over the note's text. */
        static final int LOG = 1;
        /** Of a witness: Ed25519 over a time and a checkpoint (C2SP tlog-cosignature). */
        static final int COSIGNATURE = 4;
        /** Of a witness, with ML-DSA-44: is read, and verifies nothing. */
        static final int ML_DSA_44 = 6;

        final String name;
        final int type;
        final byte[] material;
        private final byte[] keyID;

        Key(String name, int type, byte[] material) {
            this(name, type, material, keyID(name, type, material));
        }

        private Key(String name, int type, byte[] material, byte[] keyID) {
            this.name = name;
            this.type = type;
            this.material = material;
            this.keyID = keyID;
        }

        /** Reads {@code name+hexadecimal key ID+base64(type, key)}.
         * @return null for any other text, for no key, and for a key ID of another key */
        static Key read(String text) {
            String[] parts = text.split("\\+", 3);
            if (parts.length < 3 || !isName(parts[0]) || !parts[1].matches("[0-9a-f]{8}")) {
                return null;
            }
            byte[] encoded = Bytes.fromBase64(parts[2]);
            if (encoded == null || encoded.length < 2) return null;
            int type = encoded[0] & 0xFF;
            byte[] material = Bytes.part(encoded, 1, encoded.length - 1);
            byte[] id = keyID(parts[0], type, material);
            boolean isKnown = type == LOG || type == COSIGNATURE || type == ML_DSA_44;
            if (type == ML_DSA_44 ? material.length != 1312 : isKnown && !Ed25519.isKey(material)) {
                return null;
            }
            // The ID of others need not be the recommended hash.
            if (isKnown && !Bytes.hex(id).equals(parts[1])) return null;
            return new Key(parts[0], type, material, id);
        }

        boolean isVerifiable() { return type == LOG || type == COSIGNATURE; }

        /** SHA-256(name, "\n", type, key), the first four bytes. */
        private static byte[] keyID(String name, int type, byte[] material) {
            byte[] start = Bytes.bytes(name + "\n" + (char) type);
            return Bytes.part(
                Bytes.digest("SHA-256").digest(Bytes.join(start, material)), 0, 4);
        }

        private Long verify(byte[] signature, String text) {
            if (type == LOG) {
                return Ed25519.verify(material, Bytes.bytes(text), signature) ? (Long) 0L : null;
            }
            if (signature.length != 8 + 64) return null;
            long time = Bytes.bigEndian(signature, 0, 8);
            byte[] message = Bytes.bytes("cosignature/v1\ntime " + time + "\n" + text);
            boolean isSigned = time >= 0
                && Ed25519.verify(material, message, Bytes.part(signature, 8, 64));
            return isSigned ? (Long) time : null;
        }
    }
}
