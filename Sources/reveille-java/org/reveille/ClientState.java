package org.reveille;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** Everything that a client keeps, as one value: the feed's cursor, matches and registration are
 * stored together or not at all. */
final class ClientState {
    private static final int VERSION = 1;
    /** For so long a match is known after it was shown, if the feed retains its batch no more. */
    private static final long REMEMBERED = 14 * 86_400;

    /** What was found, and from its acknowledgement on that it was. */
    static final class Found {
        long batch;
        /** Null once it was shown; then nothing is left but the id. */
        String secret;
        byte[] note;
        /** Seconds since 1970; 0 before. */
        long shown;
    }

    /** What each service holds, by its URL: the present one, and those of before until they have
     * confirmed the erasure. */
    final Map<String, Registration> registrations = new LinkedHashMap<>();
    Feed feed;
    /** By match ID, in the order in which they were found. */
    final Map<String, Found> matches = new LinkedHashMap<>();
    /** Times are seconds since 1970, and 0 for never. */
    long started, verified, checked, attempted, directivesSeen, gap;
    /** Of a fork: the head, or the header of a batch, that contradicts the accepted head. */
    byte[] evidence = new byte[0];
    /** Of the last check and the last request of a registration; empty without. */
    String failure = "", registrationFailure = "";
    /** Of the newest head, separated by spaces. */
    String warnings = "";

    ClientState(Feed feed, long now) {
        this.feed = feed;
        started = now;
    }

    /** Moves to another service; the one before erases what it holds. */
    void serve(String service, long now) {
        if (!registrations.containsKey(service)) registrations.put(service, new Registration());
        for (Map.Entry<String, Registration> each : registrations.entrySet()) {
            if (!each.getKey().equals(service)) each.getValue().erase(now);
        }
        dropDone(service);
    }

    void dropDone(String service) {
        for (Iterator<Map.Entry<String, Registration>> all = registrations.entrySet().iterator();
                all.hasNext();) {
            Map.Entry<String, Registration> each = all.next();
            boolean isDone = each.getValue().state() == Registration.State.NONE;
            if (isDone && !each.getKey().equals(service)) all.remove();
        }
    }

    /** Of a check. A clock that was set back is counted from, or no silence would be seen. */
    void begin(long now) {
        started = Math.min(started, now);
        checked = Math.min(checked, now);
        attempted = attempted == 0 ? now : Math.min(attempted, now);
    }

    /** Adds a match, unless it was found before. */
    void add(Feed.Match match, String secret) {
        String id = Bytes.hex(match.id);
        Found known = matches.get(id);
        if (known == null) {
            known = new Found();
            known.secret = secret;
            known.note = match.note;
            matches.put(id, known);
        }
        known.batch = Math.max(known.batch, match.batch);
    }

    /** Forgets ids that cannot be published again by what the feed retains. */
    void trim(long firstRetained, long now) {
        for (Iterator<Found> all = matches.values().iterator(); all.hasNext();) {
            Found each = all.next();
            boolean isOld = each.batch < firstRetained && each.shown < now - REMEMBERED;
            if (each.secret == null && isOld) all.remove();
        }
    }

    byte[] saved() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        try {
            out.writeByte(VERSION);
            write(feed.saved(), out);
            out.writeByte(registrations.size());
            for (Map.Entry<String, Registration> each : registrations.entrySet()) {
                out.writeUTF(each.getKey());
                write(each.getValue().saved(), out);
            }
            out.writeInt(matches.size());
            for (Map.Entry<String, Found> each : matches.entrySet()) {
                Found found = each.getValue();
                out.writeUTF(each.getKey());
                out.writeLong(found.batch);
                out.writeLong(found.shown);
                write(found.secret == null ? null : Bytes.utf8(found.secret), out);
                write(found.note, out);
            }
            for (long each : new long[] {
                started, verified, checked, attempted, directivesSeen, gap}) {
                out.writeLong(each);
            }
            write(evidence, out);
            for (String each : new String[] {failure, registrationFailure, warnings}) {
                out.writeUTF(each);
            }
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        return bytes.toByteArray();
    }

    static ClientState restored(byte[] key, WitnessPolicy policy, byte[] saved) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved));
        if (in.readByte() != VERSION) throw new IOException("not a state of this version");
        ClientState state = new ClientState(Feed.restored(key, policy, read(in)), 0);
        for (int left = in.readByte(); left > 0; left--) {
            state.registrations.put(in.readUTF(), Registration.restored(read(in)));
        }
        for (int left = in.readInt(); left > 0; left--) {
            String id = in.readUTF();
            Found found = new Found();
            found.batch = in.readLong();
            found.shown = in.readLong();
            byte[] secret = read(in);
            found.secret = secret == null ? null : Bytes.unicode(secret);
            found.note = read(in);
            state.matches.put(id, found);
        }
        state.started = in.readLong();
        state.verified = in.readLong();
        state.checked = in.readLong();
        state.attempted = in.readLong();
        state.directivesSeen = in.readLong();
        state.gap = in.readLong();
        state.evidence = read(in);
        state.failure = in.readUTF();
        state.registrationFailure = in.readUTF();
        state.warnings = in.readUTF();
        return state;
    }

    private static void write(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) out.write(bytes);
    }

    private static byte[] read(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count > in.available()) throw new IOException("the state is cut short");
        if (count < 0) return null;
        byte[] bytes = new byte[count];
        in.readFully(bytes);
        return bytes;
    }
}
