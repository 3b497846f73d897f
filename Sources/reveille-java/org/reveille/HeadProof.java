package org.reveille;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The proof behind a head: that the log of the feed's heads has it, under a checkpoint that
 * witnesses cosigned. Policy/FEED.md, section 15, with the formats of C2SP tlog-proof and
 * tlog-checkpoint and the tree of RFC 6962.
 */
final class HeadProof {
    /** Bytes of a proof, hashes of an inclusion proof, and leaves of a history, at most. */
    private static final int MOST_BYTES = 8192, MOST_HASHES = 63, MOST_LEAVES = 32;

    /** A tree that a client accepted: every later one contains it. */
    static final class Tree {
        final String origin;
        /** Unsigned. */
        final long size;
        final byte[] root;

        Tree(String origin, long size, byte[] root) {
            this.origin = origin;
            this.size = size;
            this.root = root;
        }
    }

    private final long index;
    private final List<byte[]> hashes;
    private final SignedNote note;
    /** Null for none. */
    private final byte[] extra;
    /** The checkpoint's. */
    final Tree tree;

    private HeadProof(
            long index, List<byte[]> hashes, SignedNote note, byte[] extra, Tree tree) {
        this.index = index;
        this.hashes = hashes;
        this.note = note;
        this.extra = extra;
        this.tree = tree;
    }

    /** @return null unless these bytes are a proof */
    static HeadProof read(byte[] bytes) {
        if (bytes.length > MOST_BYTES) return null;
        String text = Bytes.text(bytes);
        int end = text.indexOf("\n\n");
        if (end < 0) return null;
        // An empty line ends the hashes, and the checkpoint follows.
        String[] lines = text.substring(0, end).split("\n", -1);
        SignedNote note = SignedNote.read(text.substring(end + 2));
        Tree tree = note == null ? null : checkpoint(note.text);
        int at = 0;
        if (tree == null || !lines[at++].equals("c2sp.org/tlog-proof@v1")) return null;
        byte[] extra = null;
        if (at < lines.length && lines[at].startsWith("extra ")) {
            extra = Bytes.fromBase64(lines[at++].substring(6));
            if (extra == null) return null;
        }
        if (at == lines.length || !lines[at].startsWith("index ")) return null;
        Long index = Bytes.canonical(lines[at++].substring(6));
        List<byte[]> hashes = new ArrayList<>();
        for (; at < lines.length; at++) hashes.add(hash(lines[at]));
        if (index == null || hashes.contains(null) || hashes.size() > MOST_HASHES) return null;
        return new HeadProof(index, hashes, note, extra, tree);
    }

    /** @return null unless the text of a note is a checkpoint */
    private static Tree checkpoint(String text) {
        String[] lines = text.substring(0, text.length() - 1).split("\n", -1);
        for (String line : lines) if (line.isEmpty()) return null;
        if (lines.length < 3) return null;
        Long size = Bytes.canonical(lines[1]);
        byte[] root = hash(lines[2]);
        return size == null || root == null ? null : new Tree(lines[0], size, root);
    }

    private static byte[] hash(String base64) {
        byte[] bytes = Bytes.fromBase64(base64);
        return bytes != null && bytes.length == 32 ? bytes : null;
    }

    /** Whether the checkpoint's tree has this entry (RFC 9162, section 2.1.3.2). */
    boolean includes(byte[] entry) {
        if (Bytes.compare(index, tree.size) >= 0) return false;
        long first = index, last = tree.size - 1;
        byte[] hash = leaf(entry);
        for (byte[] sibling : hashes) {
            if (last == 0) return false;
            if ((first & 1) == 1 || first == last) {
                hash = node(sibling, hash);
                for (; (first & 1) == 0 && first != 0; first >>>= 1) last >>>= 1;
            } else {
                hash = node(hash, sibling);
            }
            first >>>= 1;
            last >>>= 1;
        }
        return last == 0 && Arrays.equals(hash, tree.root);
    }

    /**
     * Section 15, "Verification", from the third check on.
     *
     * @param signer the first key of the chain that may have signed the checkpoint
     * @param known the tree that was accepted last; null for none
     * @return whether the cosignatures younger than this time, seconds since 1970, are no quorum
     */
    boolean verify(WitnessPolicy policy, KeyChain chain, int signer, Tree known, long oldest)
            throws Feed.Refused {
        require(SignedNote.isName(tree.origin) && policy.allows(tree.origin, chain), "otherLog");
        List<SignedNote.Key> keys = new ArrayList<>();
        for (byte[] key : chain.keys.subList(signer, chain.keys.size())) {
            keys.add(new SignedNote.Key(tree.origin, SignedNote.Key.LOG, key));
        }
        int signers = keys.size();
        keys.addAll(policy.witnesses());
        Long[] times = note.verify(keys);
        boolean isSigned = false;
        for (int i = 0; times != null && i < signers; i++) isSigned |= times[i] != null;
        require(isSigned, "badSignature");
        boolean[] all = new boolean[keys.size() - signers], fresh = all.clone();
        for (int i = 0; i < all.length; i++) {
            all[i] = times[signers + i] != null;
            fresh[i] = all[i] && times[signers + i] >= oldest;
        }
        require(policy.isQuorum(all), "noQuorum");
        if (known != null) checkHistory(known);
        return !policy.isQuorum(fresh);
    }

    private void checkHistory(Tree known) throws Feed.Refused {
        require(known.origin.equals(tree.origin), "otherHistory");
        require(Bytes.compare(tree.size, known.size) >= 0, "rollback");
        if (tree.size == known.size) {
            require(Arrays.equals(tree.root, known.root), "otherHistory");
            return;
        }
        // Without a history that reaches back so far, witnesses alone vouch that the log continued:
        // one that is cut short, or left out, would hide a fork.
        boolean isFar = Bytes.compare(tree.size - known.size, MOST_LEAVES) > 0;
        Boolean isContained = contains(known);
        require(isContained == null ? isFar : isContained, "otherHistory");
    }

    /** Whether the trees that `extra` has contain a former one; null if they do not say. */
    private Boolean contains(Tree known) {
        if (extra == null || extra.length < 2) return null;
        int count = (int) Bytes.bigEndian(extra, 0, 2);
        if (count > MOST_LEAVES || Bytes.compare(count, tree.size) > 0) return null;
        long size = tree.size - count;
        int roots = Long.bitCount(size);
        if (extra.length != 2 + (roots + count) * 32) return null;
        List<byte[]> frontier = new ArrayList<>();
        for (int i = 0; i < roots; i++) frontier.add(Bytes.part(extra, 2 + 32 * i, 32));
        boolean isOlder = Bytes.compare(known.size, size) < 0;
        byte[] found = known.size == size ? root(frontier) : null;
        for (int i = 0; i < count; i++) {
            byte[] hash = Bytes.part(extra, 2 + 32 * (roots + i), 32);
            for (long bits = size; (bits & 1) == 1; bits >>>= 1) {
                hash = node(frontier.remove(frontier.size() - 1), hash);
            }
            frontier.add(hash);
            if (++size == known.size) found = root(frontier);
        }
        if (!Arrays.equals(root(frontier), tree.root)) return false;
        return isOlder ? null : (Boolean) Arrays.equals(found, known.root);
    }

    /** The hash over complete subtrees, the largest first. */
    private static byte[] root(List<byte[]> frontier) {
        if (frontier.isEmpty()) return Bytes.digest("SHA-256").digest();
        byte[] hash = frontier.get(frontier.size() - 1);
        for (int i = frontier.size() - 2; i >= 0; i--) hash = node(frontier.get(i), hash);
        return hash;
    }

    private static byte[] leaf(byte[] entry) {
        return Bytes.digest("SHA-256").digest(Bytes.join(new byte[] {0}, entry));
    }

    private static byte[] node(byte[] left, byte[] right) {
        return Bytes.digest("SHA-256").digest(Bytes.join(new byte[] {1}, left, right));
    }

    private static void require(boolean condition, String fault) throws Feed.Refused {
        Feed.require(condition, "proof(" + fault + ")");
    }
}
