import WakeCommand

/// The parts of the manual that are not made from the commands.
enum ClientManual {
    static let manual = Manual(
        section: 1, date: "2026-11-21", description: description,
        statuses: [
            .success, .failure, .usage, .match, .badData, .ioError, .transient, .configuration,
        ],
        sections: [
            "ENVIRONMENT": environment, "FILES": files, "RUNNING IT": running, "PRIVACY": privacy,
        ],
        seeAlso: [
            "reveille(8)", "systemd.service(5)", "systemd.timer(5)", "sd_notify(3)", "torsocks(1)",
        ])

    private static let description: [Manual.Part] = [
        .text(
            "A publisher signs a feed of digests. This program fetches it, like everybody, and "
                + "checks it against secrets that never leave this device. Nobody else learns "
                + "whether anything matched."),
        .text(
            "It looks when it is woken, by an anonymous event stream or by a push service, and "
                + "every few hours anyway. `run` does all that until SIGTERM; `sync` "
                + "looks once, for those who prefer a timer."),
        .text(
            "Each profile has one feed and shares nothing with any other: no state, no instance "
                + "token, no cache and no connection. One process at a time works with a profile; "
                + "`status`, `stored`, `doctor`, `register`, `unregister` and the commands "
                + "for secrets may be used beside it."),
    ]

    private static let environment: [Manual.Part] = [
        .entry("XDG_STATE_HOME", "Where profiles lie; `~/.local/state` by default."),
        .entry("XDG_CACHE_HOME", "Where fetched batches lie; `~/.cache` by default."),
        .entry("HOME", "Needed for these defaults."),
        .entry(
            "NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID",
            "Set by the service manager; see sd_notify(3). `run` says when it holds the "
                + "profile, what it is doing, and that it is alive."),
        .entry(
            "REVEILLE_MATCH_ID, REVEILLE_SECRET_ID",
            "Set for the program of `--on-match`: a name for the match that stays the same however "
                + "often it is reported, and the name of the secret. The publisher's note is on "
                + "standard input. A match is delivered when the program ends with status 0 within "
                + "30 seconds; otherwise it is tried again after a minute to six hours."),
        .entry("REVEILLE_WARNING", "Set for the program of `--on-warning`: a stable word."),
        .entry(
            "DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR",
            "Where the session bus is, for `--notify` and `push`."),
    ]

    private static let files: [Manual.Part] = [
        .text("Below the state directory of the profile, for its owner alone:"),
        .entry("client.conf", "What `init` wrote: lines of `name = value`."),
        .entry("client.db", "The registration, how far the feed was checked, matches."),
        .entry("secrets/", "One file for each secret."),
        .entry("lock, changes", "Locked by the running client; written by other commands."),
        .entry("evidence-*", "Both halves of the proof that a feed has two histories."),
        .text(
            "The cache directory holds batches as they were fetched and may be emptied at any "
                + "time. `forget` leaves none of all this."),
    ]

    private static let running: [Manual.Part] = [
        .text(
            "With systemd as a user's service, or, for those who do not want a daemon, as a "
                + "timer:"),
        .code([
            "systemctl --user enable --now reveille-client.service",
            "systemctl --user enable --now reveille-client-sync.timer",
        ]),
        .text("`doctor` says whether everything is as it should be."),
        .text(
            "On a desktop with a UnifiedPush distributor, `push use` has that wake the client "
                + "over the session bus, and start it when it does not run; `push list` names "
                + "the distributors there are, `push status` says how it stands."),
    ]

    private static let privacy: [Manual.Part] = [
        .text(
            "All clients send the same requests. A match causes none. The service is given a push "
                + "token under a random instance token, if you register at all, and nothing else; "
                + "who fetches the feed is seen by its server, hence feed and service should be on "
                + "different origins. With `--proxy` each purpose has a circuit of its own."),
        .text(
            "Secrets and push tokens are read from files or standard input, never from the "
                + "command line, which everybody on the machine can read. Neither they nor "
                + "addresses are ever logged."),
    ]
}
