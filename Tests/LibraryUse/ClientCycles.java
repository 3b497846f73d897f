package org.reveille;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.CookieHandler;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.spec.SecretKeySpec;

/**
 * Drives the client of the library for the tests, as an app does that ends after each command.
 *
 * <pre>
 * cycle DIRECTORY SERVICE FEED KEY [--policy FILE] [--window MILLISECONDS] [--keep] [SECRET...]
 * register|unregister DIRECTORY SERVICE FEED KEY [TOKEN]
 * status|start-over|push DIRECTORY SERVICE FEED KEY
 * policies FILE...      says of each "ok", or why it is none
 * signatures            of lines "key message signature" in hexadecimal, whether they verify, and
 *                       whether the key is one
 * </pre>
 *
 * <p>The property {@code cookies} makes it an app that keeps cookies: {@code one} for every host, or
 * {@code fault}, which throws.
 */
final class ClientCycles {
    private ClientCycles() {}

    public static void main(String[] words) throws IOException {
        String cookies = System.getProperty("cookies");
        if (cookies != null) CookieHandler.setDefault(new Cookies(cookies.equals("fault")));
        switch (words[0]) {
            case "policies": policies(words); break;
            case "signatures": signatures(); break;
            default: client(words);
        }
    }

    private static final class Cookies extends CookieHandler {
        private final boolean isFaulty;

        Cookies(boolean isFaulty) { this.isFaulty = isFaulty; }

        @Override public Map<String, List<String>> get(URI uri, Map<String, List<String>> fields) {
            if (isFaulty) throw new IllegalStateException("a fault of the app");
            return Collections.singletonMap("Cookie", Collections.singletonList("name=me"));
        }

        @Override public void put(URI uri, Map<String, List<String>> fields) {}
    }

    private static void client(String[] words) throws IOException {
        WakeClient.Configuration configuration =
            new WakeClient.Configuration(words[2], words[3], words[4], new File(words[1]));
        byte[] key = new byte[32];
        Arrays.fill(key, (byte) 7);
        configuration.sealedBy(new SecretKeySpec(key, "AES"));
        Map<String, byte[]> secrets = new LinkedHashMap<>();
        boolean isKept = false;
        for (int i = 5; i < words.length; i++) {
            switch (words[i]) {
                case "--policy":
                    byte[] text = Files.readAllBytes(new File(words[++i]).toPath());
                    configuration.witnesses(new String(text, StandardCharsets.UTF_8));
                    break;
                case "--window": configuration.window(Integer.parseInt(words[++i])); break;
                case "--keep": isKept = true; break;
                default: secrets.put("secret " + secrets.size(), Bytes.ascii(words[i]));
            }
        }
        try (WakeClient client = new WakeClient(configuration)) {
            switch (words[0]) {
                case "cycle": cycle(client, secrets, isKept); break;
                case "register": client.register(Registration.PushToken.webPush(words[5])); break;
                case "unregister": client.unregister(); break;
                case "start-over": client.startOver(); break;
                case "push": System.out.println("push " + client.testPush(() -> true)); break;
                default: System.out.print(client.diagnostics());
            }
            if (words[0].endsWith("register")) {
                System.out.println("began");
                WakeClient.Result result = client.renew(() -> true);
                System.out.println("ended " + result.registration + " " + result.seconds);
            }
        }
    }

    private static void cycle(WakeClient client, Map<String, byte[]> secrets, boolean isKept)
            throws IOException {
        System.out.println("began");
        WakeClient.Result result = client.cycle(
            () -> {
                if (secrets.isEmpty()) throw new IOException("locked");
                // Given by value, as from a database.
                Map<String, byte[]> read = new LinkedHashMap<>();
                for (Map.Entry<String, byte[]> each : secrets.entrySet()) {
                    read.put(each.getKey(), unhex(Bytes.text(each.getValue())));
                }
                return read;
            },
            () -> true);
        for (WakeClient.Match match : client.matches()) {
            String note = match.note == null ? "-" : "\"" + match.note + "\"";
            System.out.println("match " + match.id + " " + note + " of " + match.secretID);
            if (!isKept) client.acknowledge(match.id);
        }
        ClientStatus status = client.status();
        System.out.println("failure " + result.failure + ", " + status.unchecked + " unchecked, "
            + status.warnings + (status.isForked ? " forked" : ""));
    }

    private static void policies(String[] words) throws IOException {
        for (int i = 1; i < words.length; i++) {
            try {
                new WitnessPolicy(Files.readAllBytes(new File(words[i]).toPath()));
                System.out.println("ok");
            } catch (IllegalArgumentException fault) {
                System.out.println(fault.getMessage());
            }
        }
    }

    private static void signatures() throws IOException {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        long spent = 0, count = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] key = unhex(words[0]), message = unhex(words[1]), signature = unhex(words[2]);
            long start = System.nanoTime();
            boolean isSigned = Ed25519.verify(key, message, signature);
            spent += System.nanoTime() - start;
            count++;
            System.out.println(isSigned + " " + Ed25519.isKey(key));
        }
        System.out.println(spent / Math.max(1, count) / 1000 + " µs each");
    }

    private static byte[] unhex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }
}
