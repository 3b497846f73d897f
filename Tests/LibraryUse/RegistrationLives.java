import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.reveille.Registration;
import org.reveille.Registration.PushToken;
import org.reveille.Registration.Step;

/** Drives the registration of the library for the tests: a command a line on standard input, an
 * answer a line on standard output. */
final class RegistrationLives {
    private Registration registration = new Registration();
    private Step step;
    private long now;

    public static void main(String[] words) throws IOException {
        RegistrationLives lives = new RegistrationLives();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(lives.answer(line.split(" ")));
        }
    }

    private String answer(String[] words) throws IOException {
        switch (words[0]) {
            case "new": registration = new Registration(); break;
            // Killed, and started again on what was saved.
            case "kill": registration = Registration.restored(registration.saved()); break;
            case "restore": registration = Registration.restored(unhex(words[1])); break;
            case "save": return hex(registration.saved());
            case "now": now = Long.parseLong(words[1]); break;
            case "register": registration.register(token(words), now); break;
            case "erase": registration.erase(now); break;
            case "next": return next();
            case "received":
                registration.received(
                    Integer.parseInt(words[1]), step.request,
                    words[2].equals("-") ? null : words[2], unhex(words[3].substring(1)), now);
                break;
            case "failed": registration.failed(now); break;
            case "solve": return solve(words[1].equals("true"));
            case "registered": return registration.state().toString();
            default: throw new IOException("no command");
        }
        return "";
    }

    private String next() {
        step = registration.next(now);
        switch (step.kind) {
            case SEND:
                byte[] body = step.request.body;
                return "send " + step.request.method + " " + step.request.authorization + " "
                    + (body == null ? "-" : hex(body));
            case SOLVE: return "solve";
            case WAIT: return "wait " + step.time;
            default: return "rest";
        }
    }

    private String solve(boolean isRunning) {
        String proof = step.challenge.solve(() -> isRunning);
        registration.add(proof, step.challenge);
        return proof == null ? "-" : proof;
    }

    private static PushToken token(String[] words) {
        if (words.length == 3) {
            return words[1].equals("fcm") ? PushToken.fcm(words[2]) : PushToken.webPush(words[2]);
        }
        return PushToken.webPush(words[2], words[3], words[4]);
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
