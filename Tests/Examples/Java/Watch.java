import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import org.reveille.WakeClient;

/**
 * The shortest program: watches a feed until it is ended, and prints what concerns it. It registers
 * for no pushes: it polls, which is the floor everywhere.
 *
 * <pre>
 * Deploy/java .
 * javac -cp reveille-java-0.1.0.jar Watch.java
 * java -cp reveille-java-0.1.0.jar:. Watch SERVICE FEED KEY DIRECTORY SECRET [once]
 * </pre>
 */
public final class Watch {
    private Watch() {}

    public static void main(String[] words) throws IOException, InterruptedException {
        if (words.length < 5) {
            System.err.println("usage: Watch SERVICE FEED KEY DIRECTORY SECRET [once]");
            System.exit(2);
        }
        WakeClient.Configuration configuration = new WakeClient.Configuration(
            words[0], words[1], words[2], new File(words[3]));
        // A desktop program: its directory is as private as its user's home.
        try (WakeClient client = new WakeClient(configuration)) {
            Map<String, byte[]> secrets = Collections.singletonMap(
                "the first", words[4].getBytes(StandardCharsets.UTF_8));
            do {
                WakeClient.Result result = client.cycle(() -> secrets, () -> true);
                for (WakeClient.Match match : client.matches()) {
                    System.out.println("this concerns you: " + match.secretID
                        + (match.note == null ? "" : " " + match.note));
                    client.acknowledge(match.id);
                }
                if (result.failure != null) System.out.println("not checked: " + result.failure);
                if (words.length > 5) return;
                Thread.sleep(1000 * client.pollSeconds());
            } while (true);
        }
    }
}
