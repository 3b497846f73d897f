import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.reveille.Feed;

/**
 * Drives Feed.java for the tests.
 *
 * <p>{@code read DIRECTORY}: says of each feed of Vectors/peer.py what a client without a past
 * says, into a file "java" beside its "result". {@code cycle URL KEY STATE SECRETS...}: one cycle
 * of an app, with key and secrets in hexadecimal.
 */
final class FeedReader {
    public static void main(String[] words) throws IOException {
        if (words[0].equals("cycle")) {
            cycle(words);
            return;
        }
        for (File folder : new File(words[1]).listFiles()) {
            byte[] result = read(folder).getBytes(StandardCharsets.UTF_8);
            Files.write(new File(folder, "java").toPath(), result);
        }
    }

    private static byte[] file(File folder, String name) throws IOException {
        File file = new File(folder, name);
        return file.exists() ? Files.readAllBytes(file.toPath()) : new byte[0];
    }

    private static String read(File folder) throws IOException {
        List<byte[]> secrets = new ArrayList<>();
        String lines = new String(file(folder, "secrets"), StandardCharsets.UTF_8);
        for (String line : lines.split("\n")) {
            secrets.add(unhex(line));
        }
        byte[] key = file(folder, "key");
        Feed feed = new Feed(key);
        StringBuilder result = new StringBuilder("ok");
        try {
            if (feed.needsKeys(file(folder, "head"))) feed.readKeys(file(folder, "keys"));
            feed.readHead(file(folder, "head"), 1_800_000_000);
            for (long number : feed.unchecked()) {
                // A kill between any two batches changes nothing.
                feed = Feed.restored(key, feed.saved());
                byte[] batch = file(folder, feed.path(number));
                for (Feed.Match match : feed.readBatch(number, batch, secrets)) {
                    result.append("\n").append(number).append(' ')
                        .append(secrets.indexOf(match.secret)).append(' ').append(hex(match.id))
                        .append(' ').append(match.note == null ? "-" : hex(match.note));
                }
            }
        } catch (Feed.Refused refused) {
            return refused.getMessage();
        }
        return result.toString();
    }

    private static void cycle(String[] words) throws IOException {
        File state = new File(words[3]);
        byte[] key = unhex(words[2]);
        List<byte[]> secrets = new ArrayList<>();
        for (int i = 4; i < words.length; i++) secrets.add(unhex(words[i]));
        Feed feed = state.exists()
            ? Feed.restored(key, Files.readAllBytes(state.toPath())) : new Feed(key);
        try {
            List<Feed.Match> matches = cycle(feed, words[1], secrets);
            Files.write(state.toPath(), feed.saved());
            for (Feed.Match match : matches) {
                String note = match.note == null ? ""
                    : new String(match.note, StandardCharsets.UTF_8);
                System.out.println("match " + hex(match.id) + " " + note);
            }
            System.out.println("unchecked " + feed.unchecked());
        } catch (Feed.Refused refused) {
            System.out.println("refused " + refused.getMessage());
        }
    }

    /** One cycle of an app; its matches, to be stored with feed.saved() before the user is notified. */
    static List<Feed.Match> cycle(Feed feed, String url, List<byte[]> secrets)
            throws IOException, Feed.Refused {
        byte[] head = Feed.fetch(url, "head");
        if (feed.needsKeys(head)) feed.readKeys(Feed.fetch(url, "keys"));
        for (String warning : feed.readHead(head, System.currentTimeMillis() / 1000)) {
            System.out.println("warning " + warning);
        }
        List<Feed.Match> matches = new ArrayList<>();
        for (long number : feed.unchecked()) {
            try {
                byte[] batch = Feed.fetch(url, feed.path(number));
                matches.addAll(feed.readBatch(number, batch, secrets));
            } catch (Feed.Refused damaged) {
                // Two histories: for good. All else comes again in the next cycle.
                if (damaged.getMessage().equals("fork")) throw damaged;
            } catch (IOException missing) {
                continue;
            }
        }
        return matches;
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
