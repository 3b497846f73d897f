package org.reveille;

import java.io.IOException;
import java.net.URL;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The checks of a client, one at a time: head, keys, and every batch that was not checked.
 *
 * <p>No time on the line shows what was found, or how many secrets there are: the first request of
 * a check begins at a multiple of a second after the call, or after the last request of the check
 * before, and each later one at a multiple of 100 ms after the first; each of them a little later,
 * at random, because a processor that has just computed begins some microseconds sooner.
 */
final class FeedCheck {
    /** Milliseconds. */
    private static final int FIRST_STEP = 1000, STEP = 100, JITTER = 20;
    /** Batches in a row that may fail. The last one of them is drawn: a host that has lost a few in
     * a row may have the others. */
    private static final int PATIENCE = 4;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final WakeClient.Configuration configuration;
    private final ClientStore store;
    /** The first and the last request of the check, by System.nanoTime; null before any. */
    private Long first, last;
    /** Of the check that runs. */
    private Registration.Running running;
    /** By their names; null when they cannot be read. */
    private Map<String, byte[]> secrets;

    FeedCheck(WakeClient.Configuration configuration, ClientStore store) {
        this.configuration = configuration;
        this.store = store;
    }

    /**
     * @param secrets null when they cannot be read: what every client fetches is fetched, and
     *     counts for nothing
     * @param begin when the check was asked for, by System.nanoTime
     * @return null, or why it did not come to its end
     */
    String run(Map<String, byte[]> secrets, long begin, Registration.Running running)
            throws IOException {
        this.secrets = secrets;
        this.running = running;
        synchronized (store) {
            store.state().begin(WakeClient.now());
        }
        String failure = "fault";
        try {
            first = waitFor(last == null || begin - last > 0 ? begin : last, FIRST_STEP);
            failure = readHead();
            if (failure == null) failure = readBatches();
            if (failure == null && secrets == null) failure = "secrets";
        } catch (Exchange.Lost lost) {
            failure = lost.getMessage();
        } finally {
            this.secrets = null;
            end(failure);
        }
        return failure;
    }

    private void end(String failure) throws IOException {
        synchronized (store) {
            ClientState state = store.state();
            boolean isComplete = state.verified > 0 && state.feed.unchecked().isEmpty();
            if (failure == null && isComplete) {
                state.checked = WakeClient.now();
                state.attempted = 0;
            }
            // The last batches of a feed that ended are checked first, if they can be.
            boolean isLost = failure != null
                && failure.matches("badSignature|wrongFeed|missingBatch|fork|corruptBatch.*");
            if (state.feed.isRetired() && (isComplete || isLost)) {
                for (Registration each : state.registrations.values()) each.erase(WakeClient.now());
            }
            state.failure = failure == null ? "" : failure;
            store.save();
        }
    }

    private String readHead() throws IOException {
        byte[] head = fetch("head", Feed.HEAD_FILE, false), keys = null;
        Feed next = copy();
        String lost = null;
        if (next.needsKeys(head)) {
            waitFor(first, STEP);
            try {
                keys = fetch("keys", Feed.KEYS_FILE, false);
            } catch (Exchange.Lost absent) {
                // The head may be of use without.
                lost = absent.getMessage();
            }
        }
        try {
            accept(next, next.readHead(head, keys, WakeClient.now()));
            return null;
        } catch (Feed.Refused refused) {
            String error = refused.getMessage();
            if (next.isForked()) fork(next, head);
            // Without the keys it says nothing that a head does not verify.
            return lost != null && error.equals("badSignature") ? lost : error;
        }
    }

    private void accept(Feed next, List<Feed.Warning> warnings) throws IOException {
        StringBuilder text = new StringBuilder();
        for (Feed.Warning each : warnings) text.append(text.length() > 0 ? " " : "").append(each);
        synchronized (store) {
            ClientState state = store.state();
            state.verified = WakeClient.now();
            if (next.issued() != state.feed.issued()) state.directivesSeen = state.verified;
            state.feed = next;
            state.warnings = text.toString();
            if (warnings.contains(Feed.Warning.GAP)) state.gap = state.verified;
            store.save();
        }
    }

    /** Keeps both halves of the proof; nothing newer is believed. */
    private void fork(Feed next, byte[] evidence) throws IOException {
        synchronized (store) {
            if (store.state().feed.isForked()) return;
            store.state().feed = next;
            store.state().evidence = evidence;
            store.save();
        }
    }

    private Feed copy() {
        synchronized (store) {
            return store.state().feed.copy();
        }
    }

    /** New batches in order, then those that were missing before. */
    private List<Long> plan() {
        List<Long> all;
        int count = 0;
        synchronized (store) {
            all = store.state().feed.unchecked();
            long sequence = store.state().feed.sequence();
            while (count < all.size() && all.get(count) <= sequence) count++;
        }
        List<Long> missing = new ArrayList<>(all.subList(0, count));
        // Should some of them fail in a row, others come first another time.
        if (count >= PATIENCE) Collections.rotate(missing, RANDOM.nextInt(count));
        List<Long> plan = new ArrayList<>(all.subList(count, all.size()));
        plan.addAll(missing);
        return plan;
    }

    /** @return null, or why the first that could not be checked was not */
    private String readBatches() throws IOException {
        List<Long> rest = plan();
        String failure = null;
        int failed = 0;
        while (!rest.isEmpty()) {
            String error = readBatch(rest.remove(0));
            failed = error == null ? 0 : failed + 1;
            if (failure == null || "fork".equals(error)) failure = error;
            if ("fork".equals(error) || failed == PATIENCE) break;
            if (failed == PATIENCE - 1 && !rest.isEmpty()) {
                rest.subList(0, RANDOM.nextInt(rest.size())).clear();
            }
        }
        return failure;
    }

    private String readBatch(long number) throws IOException {
        String error = tryBatch(number, false);
        // A cache on the way may hold the damage.
        boolean isDamaged = error != null && error.startsWith("corruptBatch");
        return isDamaged ? tryBatch(number, true) : error;
    }

    private String tryBatch(long number, boolean isPastCaches) throws IOException {
        Feed next = copy();
        waitFor(first, STEP);
        byte[] batch;
        try {
            batch = fetch(next.path(number), Feed.HEADER + Feed.LARGEST, isPastCaches);
        } catch (Exchange.Lost lost) {
            if (lost.getMessage().equals("stopped")) throw lost;
            return lost.getMessage();
        }
        try {
            List<byte[]> values = new ArrayList<>();
            if (secrets != null) values.addAll(secrets.values());
            commit(next, next.readBatch(number, batch, values));
            return null;
        } catch (Feed.Refused refused) {
            if (next.isForked()) fork(next, Bytes.part(batch, 0, Feed.HEADER));
            return refused.getMessage();
        }
    }

    /** In one transaction. */
    private void commit(Feed next, List<Feed.Match> matches) throws IOException {
        // Nothing was compared: the batch comes again.
        if (secrets == null) return;
        synchronized (store) {
            store.state().feed = next;
            for (Feed.Match match : matches) {
                for (Map.Entry<String, byte[]> each : secrets.entrySet()) {
                    if (each.getValue() == match.secret) store.state().add(match, each.getKey());
                }
            }
            store.state().trim(next.firstRetained(), WakeClient.now());
            store.save();
        }
    }

    /** @param limit a longer answer comes with one byte more than this */
    private byte[] fetch(String path, int limit, boolean isPastCaches) throws IOException {
        URL url = new URL(configuration.feed + "/" + path);
        Exchange exchange = new Exchange(url, configuration);
        if (isPastCaches) exchange.set("Cache-Control", "no-cache");
        exchange.run("GET", null, limit + 1, running);
        if (exchange.status == 200) return exchange.body;
        boolean isGone = exchange.status == 404 || exchange.status == 410;
        throw new Exchange.Lost(
            isGone && path.startsWith("b/") ? "missingBatch" : "httpStatus " + exchange.status);
    }

    /** Waits for the next multiple of so many milliseconds after a time.
     * @return that */
    private long waitFor(long start, int step) throws Exchange.Lost {
        long grid = step * 1_000_000L;
        last = start + (Math.max(0, System.nanoTime() - start) / grid + 1) * grid;
        long end = last + (long) (RANDOM.nextDouble() * JITTER * 1_000_000);
        try {
            long left = end - System.nanoTime();
            if (left > 0) Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new Exchange.Lost("stopped");
        }
        if (!running.isRunning()) throw new Exchange.Lost("stopped");
        return last;
    }
}
