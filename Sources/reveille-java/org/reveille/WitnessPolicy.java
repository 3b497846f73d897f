package org.reveille;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A trust policy (C2SP tlog-policy): which witnesses are known, and how many of them must have
 * cosigned a head before it is believed. The operator of the feed publishes it as a text. */
public final class WitnessPolicy {
    private static final int MOST_BYTES = 256 << 10, MOST_LINES = 64;

    private final List<SignedNote.Key> logs = new ArrayList<>();
    private final List<SignedNote.Key> witnesses = new ArrayList<>();
    private Rule quorum;
    /** While the text is read. */
    private final Map<String, Rule> rules = new HashMap<>();
    private final Set<String> members = new HashSet<>();

    /** A rule over the witnesses; groups are made of rules before them. */
    private static final class Rule {
        /** The index of a witness; -1 for a group. */
        final int witness, count;
        final List<Rule> parts;

        Rule(int witness, int count, List<Rule> parts) {
            this.witness = witness;
            this.count = count;
            this.parts = parts;
        }

        boolean isMet(boolean[] cosigners) {
            if (witness >= 0) return cosigners[witness];
            int met = 0;
            for (Rule part : parts) if (part.isMet(cosigners)) met++;
            return met >= count;
        }
    }

    /** @throws IllegalArgumentException for a text that is no policy; its message names the line */
    public WitnessPolicy(String text) { this(text.getBytes(StandardCharsets.UTF_8)); }

    /** The same of the bytes of a file. */
    public WitnessPolicy(byte[] text) {
        int line = 1;
        try {
            require(text.length <= MOST_BYTES, "the policy has more than " + MOST_BYTES + " bytes");
            for (String each : Bytes.text(text).split("\n", -1)) {
                read(each);
                line++;
            }
            line--;
            require(quorum != null, "there is no quorum line");
        } catch (IllegalArgumentException fault) {
            throw new IllegalArgumentException("line " + line + ": " + fault.getMessage());
        }
    }

    private static void require(boolean condition, String fault) {
        if (!condition) throw new IllegalArgumentException(fault);
    }

    private void read(String line) {
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            require(c == '\t' || c >= ' ' && c != 0x7F,
                "a control character that is neither a tab nor a newline");
        }
        List<String> words = new ArrayList<>();
        for (String word : line.split("[ \t]")) if (!word.isEmpty()) words.add(word);
        if (words.isEmpty() || words.get(0).startsWith("#")) return;
        String keyword = words.remove(0);
        switch (keyword) {
            case "log": readLog(words); break;
            case "witness": readWitness(words); break;
            case "group": readGroup(words); break;
            case "quorum": readQuorum(words); break;
            default: require(false, "a line begins with log, witness, group or quorum");
        }
    }

    private void readLog(List<String> words) {
        require(words.size() == 1 || words.size() == 2, FORM);
        SignedNote.Key key = SignedNote.Key.read(words.get(0));
        require(key != null, KEY);
        requireNew(key, logs);
        logs.add(key);
    }

    private void readWitness(List<String> words) {
        require(words.size() == 2 || words.size() == 3, FORM);
        SignedNote.Key key = SignedNote.Key.read(words.get(1));
        require(key != null, KEY);
        // A log's key cosigns nothing.
        require(key.type == SignedNote.Key.COSIGNATURE || key.type == SignedNote.Key.ML_DSA_44,
            "the key's signatures are of another kind than this line needs");
        requireNew(key, witnesses);
        define(words.get(0), new Rule(witnesses.size(), 1, null));
        witnesses.add(key);
    }

    private static final String FORM = "too few or too many words for this line",
        KEY = "no verifier key: it has the form NAME+KEYID+KEY",
        MANY = "more than " + MOST_LINES + " logs, witnesses or groups",
        RESERVED = "the name none means no witness, and nothing else",
        UNKNOWN = "no line before this one defines that name";

    private static void requireNew(SignedNote.Key key, List<SignedNote.Key> known) {
        for (SignedNote.Key each : known) {
            require(!Arrays.equals(each.material, key.material),
                "the key is on a line before this one already");
        }
        require(known.size() < MOST_LINES, MANY);
    }

    private void readGroup(List<String> words) {
        require(words.size() >= 3, FORM);
        require(rules.size() < 2 * MOST_LINES, MANY);
        List<Rule> parts = new ArrayList<>();
        for (String name : words.subList(2, words.size())) {
            require(!name.equals("none"), RESERVED);
            require(rules.containsKey(name), UNKNOWN);
            require(members.add(name), "the name is a member of a group already");
            parts.add(rules.get(name));
        }
        String word = words.get(1);
        long count = word.equals("any") ? 1 : parts.size();
        if (!word.equals("any") && !word.equals("all")) {
            Long number = Bytes.canonical(word);
            count = number == null ? 0 : number;
        }
        require(count >= 1 && count <= parts.size(),
            "the number of members must be from 1 to as many as there are");
        define(words.get(0), new Rule(-1, (int) count, parts));
    }

    private void readQuorum(List<String> words) {
        require(words.size() == 1, FORM);
        require(quorum == null, "there is a quorum line already");
        boolean isNone = words.get(0).equals("none");
        require(isNone || rules.containsKey(words.get(0)), UNKNOWN);
        quorum = isNone
            ? new Rule(-1, 0, Collections.<Rule>emptyList()) : rules.get(words.get(0));
    }

    private void define(String name, Rule rule) {
        require(!name.equals("none"), RESERVED);
        require(!rules.containsKey(name), "the name is taken by a line before this one");
        rules.put(name, rule);
    }

    List<SignedNote.Key> witnesses() { return witnesses; }

    /** Whether these witnesses, by their places in the list, are enough. */
    boolean isQuorum(boolean[] cosigners) { return quorum.isMet(cosigners); }

    /** Whether a log of this name is the feed's: it has one, of its identifier's name or of the one
     * that the policy has for a key of the feed. A second log would be another history. */
    boolean allows(String origin, KeyChain chain) {
        for (SignedNote.Key log : logs) {
            if (log.name.equals(origin) && chain.indexOf(log.material) >= 0) return true;
        }
        return logs.isEmpty() && origin.equals(Bytes.base64URL(chain.feedID));
    }
}
