package org.example.wake;

import android.content.Context;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.LinkedHashMap;
import java.util.Map;

/** The secrets of this device. Here each is a file in a folder; an app has them where it has its
 * other data. */
final class Secrets {
    private final File folder;

    private Secrets(File folder) { this.folder = folder; }

    static Secrets of(Context context) {
        return new Secrets(new File(context.getNoBackupFilesDir(), "secrets"));
    }

    /** What cannot be read throws: then the check asks for what every client asks for, and tries
     * again. */
    Map<String, byte[]> read() throws IOException {
        Map<String, byte[]> secrets = new LinkedHashMap<>();
        File[] files = folder.listFiles();
        for (File file : files == null ? new File[0] : files) {
            try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
                byte[] secret = new byte[(int) Math.min(in.length(), 1024)];
                in.readFully(secret);
                secrets.put(file.getName(), secret);
            }
        }
        return secrets;
    }
}
