package org.reveille;

import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;

/**
 * The one file of a client, replaced as a whole: a kill leaves the one or the other. It is sealed
 * with a key of the Android Keystore, or of another KeyStore, if there is one.
 *
 * <p>The file's bytes are flushed before it gets its name. Neither Java 8 nor Android 5 can flush a
 * directory: after a power failure the state before may be there again, and a match that was shown
 * is then found and shown once more; none is lost.
 */
final class ClientStore implements Closeable {
    private static final String CIPHER = "AES/GCM/NoPadding";
    private static final int MOST_BYTES = 16 << 20;

    private final File file;
    /** Null: the file is as readable as its directory. */
    private final SecretKey key;
    private final RandomAccessFile guard;
    private final byte[] feedKey;
    private final WitnessPolicy policy;
    private ClientState state;
    /** What the file says. */
    private byte[] stored;

    /** @throws IOException also when another client has this directory, in any process */
    ClientStore(WakeClient.Configuration configuration) throws IOException {
        File directory = configuration.directory;
        if (!directory.isDirectory() && !directory.mkdirs()) {
            throw new IOException("cannot make the directory of the state");
        }
        file = new File(directory, "state");
        key = configuration.key;
        feedKey = configuration.feedKey;
        policy = configuration.policy;
        guard = new RandomAccessFile(new File(directory, "lock"), "rw");
        FileLock lock;
        try {
            lock = guard.getChannel().tryLock();
        } catch (OverlappingFileLockException busy) {
            lock = null;
        }
        if (lock == null) {
            guard.close();
            throw new IOException("another WakeClient uses this directory");
        }
        boolean isOpen = false;
        try {
            stored = read();
            state = stored == null
                ? new ClientState(new Feed(feedKey, policy), System.currentTimeMillis() / 1000)
                : restored();
            if (stored == null) stored = state.saved();
            isOpen = true;
        } finally {
            if (!isOpen) guard.close();
        }
    }

    /** The state; by its holder of this object's lock. */
    ClientState state() { return state; }

    /** What could not be written does not count: the state is the one before. */
    void save() throws IOException {
        boolean isStored = false;
        try {
            byte[] bytes = state.saved();
            if (!Arrays.equals(bytes, stored)) write(bytes);
            stored = bytes;
            isStored = true;
        } finally {
            if (!isStored) state = restored();
        }
    }

    private ClientState restored() throws IOException {
        try {
            return ClientState.restored(feedKey, policy, stored);
        } catch (RuntimeException damaged) {
            throw new IOException("the state is damaged", damaged);
        }
    }

    private byte[] read() throws IOException {
        if (!file.exists()) return null;
        byte[] bytes = new byte[(int) Math.min(file.length(), MOST_BYTES)];
        int length = 0;
        try (InputStream in = new FileInputStream(file)) {
            for (int count; length < bytes.length; length += count) {
                count = in.read(bytes, length, bytes.length - length);
                if (count < 0) break;
            }
        }
        bytes = Arrays.copyOf(bytes, length);
        if (key == null) return bytes;
        try {
            Cipher cipher = Cipher.getInstance(CIPHER);
            cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(128, bytes, 0, 12));
            return cipher.doFinal(bytes, 12, length - 12);
        } catch (GeneralSecurityException | IllegalArgumentException fault) {
            throw new IOException("the state is not sealed with this key", fault);
        }
    }

    private void write(byte[] bytes) throws IOException {
        File next = new File(file.getPath() + ".new");
        try (FileOutputStream out = new FileOutputStream(next)) {
            if (key == null) {
                out.write(bytes);
            } else {
                Cipher cipher = Cipher.getInstance(CIPHER);
                // The Keystore chooses the nonce of 12 bytes itself, and so does every JVM.
                cipher.init(Cipher.ENCRYPT_MODE, key);
                out.write(cipher.getIV());
                out.write(cipher.doFinal(bytes));
            }
            out.getFD().sync();
        } catch (GeneralSecurityException fault) {
            throw new IOException("cannot seal with this key", fault);
        }
        if (!next.renameTo(file)) throw new IOException("cannot replace the state");
    }

    @Override public void close() throws IOException { guard.close(); }
}
