import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.reveille.Feed;
import org.reveille.WitnessPolicy;

/**
 * Drives the reader of the library for the tests.
 *
 * <p>{@code read DIRECTORY}: says of each feed of Vectors/peer.py what a client without a past
 * says, into a file "java" beside its "result". {@code pasts DIRECTORY}: says of each history of
 * Vectors/pasts what a client says that keeps its state from one step to the next.
 */
final class FeedReader {
    public static void main(String[] words) throws IOException {
        for (File folder : new File(words[1]).listFiles()) {
            if (!new File(folder, "key").exists()) continue;
            String result =
                words[0].equals("pasts") ? new FeedReader(folder).past() : read(folder);
            Files.write(
                new File(folder, "java").toPath(), result.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static byte[] file(File folder, String name) throws IOException {
        File file = new File(folder, name);
        return file.exists() ? Files.readAllBytes(file.toPath()) : null;
    }

    private static List<String> lines(File folder, String name) throws IOException {
        byte[] bytes = file(folder, name);
        List<String> lines = new ArrayList<>();
        if (bytes == null) return lines;
        for (String line : new String(bytes, StandardCharsets.UTF_8).split("\n")) {
            if (!line.isEmpty()) lines.add(line);
        }
        return lines;
    }

    private static String read(File folder) throws IOException {
        List<byte[]> secrets = secrets(folder);
        byte[] key = file(folder, "key"), head = file(folder, "head");
        Feed feed = new Feed(key, null);
        StringBuilder result = new StringBuilder("ok");
        try {
            feed.readHead(head, feed.needsKeys(head) ? file(folder, "keys") : null, 1_800_000_000);
            for (long number : feed.unchecked()) {
                // A kill between any two batches changes nothing.
                feed = Feed.restored(key, null, feed.saved());
                byte[] batch = file(folder, feed.path(number));
                if (batch == null) batch = new byte[0];
                for (Feed.Match match : feed.readBatch(number, batch, secrets)) {
                    result.append("\n").append(number).append(' ').append(text(match, secrets));
                }
            }
        } catch (Feed.Refused refused) {
            return refused.getMessage();
        }
        return result.toString();
    }

    private static List<byte[]> secrets(File folder) throws IOException {
        List<byte[]> secrets = new ArrayList<>();
        for (String line : lines(folder, "secrets")) secrets.add(unhex(line));
        return secrets;
    }

    private static String text(Feed.Match match, List<byte[]> secrets) {
        return secrets.indexOf(match.secret) + " " + hex(match.id) + " "
            + (match.note == null ? "-" : hex(match.note));
    }

    // ---- A client with a past -------------------------------------------------------------------

    private final File folder;
    private byte[] key;
    private final WitnessPolicy policy;
    private final List<byte[]> secrets;
    private final List<String> said = new ArrayList<>();
    private byte[] saved;

    private FeedReader(File folder) throws IOException {
        this.folder = folder;
        key = file(folder, "key");
        byte[] text = file(folder, "policy");
        policy = text == null ? null : new WitnessPolicy(text);
        secrets = secrets(folder);
        saved = new Feed(key, policy).saved();
    }

    private String past() throws IOException {
        for (int step = 0; new File(folder, String.valueOf(step)).exists(); step++) {
            check(new File(folder, String.valueOf(step)));
        }
        return String.join("\n", said);
    }

    private void check(File step) throws IOException {
        // An app that was updated may come with another key.
        byte[] other = file(step, "key");
        if (other != null) key = other;
        Feed feed = Feed.restored(key, policy, saved);
        byte[] head = file(step, "head");
        long now = Long.parseLong(lines(step, "now").get(0));
        try {
            StringBuilder line = new StringBuilder("head");
            byte[] keys = feed.needsKeys(head) ? file(step, "keys") : null;
            for (Feed.Warning each : feed.readHead(head, keys, now)) line.append(' ').append(each);
            said.add(line.toString());
        } catch (Feed.Refused refused) {
            said.add("refused " + refused.getMessage());
            refused(feed);
            return;
        }
        saved = feed.saved();
        List<String> withheld = lines(step, "withheld");
        for (long number : feed.unchecked()) {
            String error = batch(step, number, withheld);
            if (error != null) said.add(number + " " + error);
            if ("fork".equals(error)) break;
        }
        StringBuilder line = new StringBuilder("unchecked");
        for (long each : Feed.restored(key, policy, saved).unchecked()) {
            line.append(' ').append(each);
        }
        said.add(line.toString());
    }

    /** Nothing but a fork changes a client that has refused. */
    private void refused(Feed feed) throws IOException {
        boolean wasForked = Feed.restored(key, policy, saved).isForked();
        boolean isChanged = !Arrays.equals(feed.saved(), saved);
        if (isChanged != (feed.isForked() && !wasForked)) throw new IOException("it changed");
        saved = feed.saved();
    }

    /** @return null if it was checked */
    private String batch(File step, long number, List<String> withheld) throws IOException {
        Feed feed = Feed.restored(key, policy, saved);
        String path = feed.path(number);
        byte[] bytes = file(step, path);
        if (bytes == null) bytes = file(folder.getParentFile(), path);
        if (bytes == null || withheld.contains(path.substring(2))) return "absent";
        try {
            List<Feed.Match> matches = new ArrayList<>(feed.readBatch(number, bytes, secrets));
            said.add(number + " ok");
            for (Feed.Match each : matches) said.add(number + " match " + text(each, secrets));
        } catch (Feed.Refused refused) {
            refused(feed);
            return refused.getMessage();
        }
        saved = feed.saved();
        return null;
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) text.append(String.format("%02x", b));
        return text.toString();
    }

    private static byte[] unhex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }
}
