import WakeCommand

/// The parts of the manual that are not made from the commands.
enum ServiceManual {
    static let manual = Manual(
        section: 8, date: "2026-11-23", description: description,
        statuses: [
            .success, .failure, .usage, .violations, .notAudited, .badData, .ioError, .transient,
            .configuration,
        ],
        sections: ["ENVIRONMENT": environment, "FILES": files, "JSON": json, "SECURITY": security],
        seeAlso: ["reveille.conf(5)", "reveille-client(1)", "systemd.service(5)", "nginx(8)"],
        pages: [ConfigurationManual.page])

    private static let description: [Manual.Part] = [
        .text(
            "An app instance makes a random instance token and registers its push token under it. "
                + "The service stores those two things only, hashed and sealed. Now and then it "
                + "broadcasts the same empty wake-up to everyone. Every woken client fetches the "
                + "same signed feed and checks it locally; only the local user sees a match."),
        .text(
            "`init` makes a directory with configuration, keys, an empty store and an empty feed; "
                + "`serve` runs the service; `feed publish` adds to the feed; `broadcast` wakes "
                + "everyone; `audit` checks that the store holds what the policy says and "
                + "nothing else."),
    ]

    private static let environment: [Manual.Part] = [
        .entry("REVEILLE_CONFIG", "The configuration file, when `--config` is not given."),
        .entry("NOTIFY_SOCKET", "Set by the service manager; see sd_notify(3)."),
    ]

    private static let files: [Manual.Part] = [
        .entry(
            "reveille.conf",
            "Made by `init`, with an explanation of every line; `check` explains what is in force, "
                + "`reload` has it read again. Looked for in the working directory, /etc/reveille "
                + "and /var/lib/reveille. See reveille.conf(5)."),
        .entry(
            "keys/",
            "The keys of store and feed, of mode 0600. A key that a service manager or an "
                + "orchestrator hands out may be root's, when root alone can write it."),
        .entry(
            "data/generation-*.db", "The store, a file for each generation; `audit` reads them."),
        .entry("feed/", "The signed feed: `head`, `keys`, and batches below `b`."),
        .entry(
            "/var/lib/reveille-witness",
            "Of `witness`, which needs nothing of the above: `key`, `identity`, `logs`, and what "
                + "it cosigned last of each log in `checkpoints`. It must not be lost, and no copy "
                + "of it be used."),
    ]

    private static let json: [Manual.Part] = [
        .text(
            "With `--json` a command prints one object. Members are added by later versions, and "
                + "never removed or renamed. Numbers are integers, times seconds."),
        .entry(
            "check",
            "`problems`, their number; `parts`, each with `name`, `value` and, where there is one, "
                + "`problem` and `warning`."),
        .entry(
            "status, broadcast, reload",
            "Answers of the service on its admin socket; see Policy/PROTOCOL.md."),
        .entry(
            "status --shard",
            "`shards` and `answering`, counts; `total`, the numbers of `status` added up; `each`, "
                + "with `shard`, `answers` and `status` or `problem`."),
        .entry(
            "broadcast --dry-run",
            "`registrations`, `pushes`, `streams`, `topics`, `pushSeconds`, `spreadSeconds`, "
                + "`totalSeconds`, `intervalSeconds`, `fetchesMean` and `fetchesPeak` (a second), "
                + "`fetchesPerSecond` (the budget; 0: none), `publishSpreadSeconds`, `warnings`."),
        .entry(
            "feed verify",
            "`sequence`, `batches`, `digests`, `bytes`, `fingerprint`, `keys` (their number), "
                + "`key` (the newest), `expires` (of the head, since 1970), `warnings`."),
        .entry(
            "feed directives",
            "`pause_seconds` (left of a pause; 0: none), "
                + "`paused_until` (since 1970; 0: none), `registration`, `retired`."),
        .entry("feed fingerprint", "`fingerprint`."),
        .entry("relay list", "`installations`, each with `name` and `key`."),
        .entry(
            "audit --program",
            "`same`, `sha256` of the file, and `running`, that of the running service."),
        .entry(
            "witness list",
            "`key`, and `logs`, each with `origin`, its `hash` in paths, `keys`, and of what was "
                + "cosigned last `size`, `root` and `cosigned` (since 1970; 0: nothing yet)."),
    ]

    private static let security: [Manual.Part] = [
        .text(
            "Keys are never printed, and the log is a closed vocabulary: no token, address or "
                + "URL can be in it. After an erasure is answered its bytes are in no file of "
                + "the service. The administration socket lies in the state directory and is "
                + "for its owner alone; on TCP its listener wants the token of a file "
                + "(`keygen --kind admin`), which the commands send.")
    ]
}
