package org.reveille;

import java.text.SimpleDateFormat;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.TimeZone;

/** What a client knows about itself. */
public final class ClientStatus {
    /** A device that was off for days has not tried; seconds. */
    private static final long LEAST_ATTEMPT = 6 * 3600;

    public final Registration.State registration;
    /** Of the last request of a registration, a word as in {@link #failure}; or null. */
    public final String registrationFailure;
    /** Services of earlier configurations that have not confirmed the erasure yet. */
    public final int formerServices;
    /** The newest batch that was checked; 0 before the first. */
    public final long sequence;
    /** How many batches are named and were not checked. */
    public final int unchecked;
    /** The last head that verified; null before the first. */
    public final Date lastVerified;
    /** The last check of everything that a head named; null before the first. */
    public final Date lastChecked;
    /** When batches were last found gone that were never checked; null for never. */
    public final Date lastGap;
    /** What two people compare to see whether they have the same feed; null before a head. */
    public final String fingerprint;
    /** Matches that were not acknowledged. */
    public final int matches;
    /** Pushes are ignored until then; null if they are not. */
    public final Date pausedUntil;
    public final boolean isRetired;
    /** Two histories were seen: the publisher showed different feeds, or its key was stolen.
     * Nothing newer is checked. */
    public final boolean isForked;
    /** The full days without a complete check, if checks were tried: from 2 on the user should be
     * warned that the feed may be withheld. */
    public final int silentDays;
    /** Of the newest head: {@code stale}, {@code clockSkew}, {@code gap}, {@code staleProof}. */
    public final List<String> warnings;
    /** Why the last check did not come to its end: {@code network}, {@code timeout}, {@code tls},
     * {@code protocol}, {@code cookie}, {@code stopped}, {@code httpStatus 503},
     * {@code missingBatch}, {@code secrets}, {@code fault} for what the app's runtime threw, or the
     * name of an error of Policy/FEED.md. Null if it did. */
    public final String failure;
    /** Apps whose number is below it ask for an update; 0 for none. */
    public final long minimumClientVersion;

    ClientStatus(ClientState state, Registration.State registration, long pausedUntil, long now) {
        this.registration = registration;
        registrationFailure = word(state.registrationFailure);
        formerServices = state.registrations.size() - 1;
        sequence = state.feed.sequence();
        unchecked = state.feed.unchecked().size();
        lastVerified = date(state.verified);
        lastChecked = date(state.checked);
        lastGap = date(state.gap);
        fingerprint = state.feed.fingerprint();
        int count = 0;
        for (ClientState.Found each : state.matches.values()) if (each.secret != null) count++;
        matches = count;
        this.pausedUntil = date(pausedUntil > now ? pausedUntil : 0);
        isRetired = state.feed.isRetired();
        isForked = state.feed.isForked();
        boolean hasTried = state.attempted > 0 && now - state.attempted >= LEAST_ATTEMPT;
        long since = Math.max(state.checked, state.started);
        silentDays = hasTried ? (int) Math.max(0, (now - since) / 86_400) : 0;
        warnings = state.warnings.isEmpty() ? Collections.<String>emptyList()
            : Collections.unmodifiableList(Arrays.asList(state.warnings.split(" ")));
        failure = word(state.failure);
        minimumClientVersion = state.feed.minimumClientVersion();
    }

    private static String word(String text) { return text.isEmpty() ? null : text; }

    private static Date date(long time) { return time == 0 ? null : new Date(time * 1000); }

    /** The text of {@link WakeClient#diagnostics}. */
    @Override public String toString() {
        StringBuilder text = new StringBuilder();
        line(text, "registration", registration.toString().toLowerCase(Locale.ROOT));
        line(text, "last request", registrationFailure);
        if (formerServices > 0) line(text, "former services", String.valueOf(formerServices));
        line(text, "last head", utc(lastVerified));
        line(text, "last complete check", utc(lastChecked));
        if (lastGap != null) line(text, "batches were missed", utc(lastGap));
        line(text, "batches", sequence + " checked, " + unchecked + " to be checked");
        line(text, "feed", fingerprint == null ? "not seen yet" : fingerprint);
        line(text, "matches", matches + " to be shown");
        if (pausedUntil != null) line(text, "paused until", utc(pausedUntil));
        if (isRetired) line(text, "feed", "has ended");
        if (isForked) line(text, "feed", "FORKED: two histories were seen");
        if (silentDays > 0) line(text, "days without a check", String.valueOf(silentDays));
        if (!warnings.isEmpty()) line(text, "warnings", warnings.toString());
        line(text, "last check", failure);
        return text.toString();
    }

    private static void line(StringBuilder text, String name, String value) {
        text.append(name).append(": ").append(value == null ? "in order" : value).append('\n');
    }

    private static String utc(Date date) {
        if (date == null) return "never";
        SimpleDateFormat format = new SimpleDateFormat("yyyy-MM-dd HH:mm", Locale.ROOT);
        format.setTimeZone(TimeZone.getTimeZone("UTC"));
        return format.format(date) + " UTC";
    }
}
