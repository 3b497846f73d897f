import WakeCommand

/// The parts of the manual that are not made from the commands.
enum ClientManual {
    static let manual = Manual(
        section: 1, date: "2026-11-21", description: description,
        statuses: [
            .success, .failure, .usage, .match, .badData, .ioError, .transient, .configuration,
        ],
        sections: [
            "ENVIRONMENT": environment, "FILES": files, "RUNNING IT": running,
            "OTHER PROGRAMS": programs, "PRIVACY": privacy,
        ],
        seeAlso: [
            "reveille(8)", "systemd.service(5)", "systemd.timer(5)", "sd_notify(3)", "torsocks(1)",
        ])

    private static let description: [Manual.Part] = [
        .text(
            "A publisher signs a feed of digests. This program fetches it, like all clients, "
                + "and checks it against secrets that never leave this device. No other party "
                + "learns whether anything matched."),
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
                + "30 seconds; otherwise it is tried again after a minute to six hours, and by "
                + "every `sync`."),
        .entry("REVEILLE_WARNING", "Set for the program of `--on-warning`: a stable word."),
        .entry(
            "DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR",
            "Where the session bus is, for `--notify`, `--dbus` and `push`."),
    ]

    private static let files: [Manual.Part] = [
        .text("Below the state directory of the profile, for its owner alone:"),
        .entry("client.conf", "The settings of `init`: lines of `name = value`."),
        .entry(
            "client.db",
            "The registration, how far the feed was checked, matches. Of a match that was "
                + "delivered only its random-looking id is left: name and note are overwritten."),
        .entry(
            "client.db.damaged-*",
            "A database that could not be read any more, put aside as it was. It may hold the "
                + "instance token, and names and notes of matches, until `forget` or you remove it."
        ),
        .entry(
            "secrets/",
            "One file for each secret; `.adding` holds those that are just being added, "
                + "`.generation` a number that grows with each addition."),
        .entry("lock", "Locked by the running client."),
        .entry(
            "control",
            "A socket of `run`, for processes of the same user: `status` asks there how the "
                + "client is, `test` has a planted match delivered, and commands that change "
                + "something say so."),
        .entry(
            "evidence-*",
            "Both halves of the proof that a feed has two histories; `start-over` keeps them."),
        .text(
            "The cache directory holds batches as they were fetched, and with a relay of "
                + "registrations the gateway's public keys. It may be emptied at any time: a "
                + "warning names what a secret that is added later could not be checked against. "
                + "`forget` leaves none of all this."),
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

    private static let programs: [Manual.Part] = [
        .text(
            "These interfaces are stable: events, members, methods and signals are added and "
                + "never taken away or given another meaning."),
        .text(
            "`run --json` writes one JSON object a line on standard output; `event` says what it "
                + "is:"),
        .code([
            #"{"event":"match","id":"ID","secret":"NAME","note":"TEXT"}"#,
            #"{"event":"warning","code":"WORD","text":"SENTENCE"}"#,
            #"{"event":"status","stream":"connected","lastChecked":1767225600}"#,
            #"{"event":"error","code":"not-understood"}"#,
        ]),
        .text(
            "`note` is null without a note, and for one that is no UTF-8, whose bytes are then in "
                + "`noteBase64url`. A status has "
                + "the members of `status --json`; it comes at the start and "
                + "whenever something but the time of the next check changes. A match counts as "
                + "delivered when its id is acknowledged by a line on standard input:"),
        .code([#"{"acknowledge":"ID"}"#]),
        .text(
            "One match is out at a time. One that is not acknowledged within 30 seconds comes "
                + "again after a minute to six hours, and when `run` is started again; a later "
                + "acknowledgement counts as well. "
                + "An error answers a line that is none (`not-understood`) or names no match "
                + "(`unknown-match`). When standard output is closed, `run` ends."),
        .text(
            "`run --dbus` serves the interface `org.reveille.Client1` on the session bus. Each "
                + "profile has a name `org.reveille.Client1.profile_NAME` of its own, or "
                + "`state_` and a number for one made with `--state`; the profile named default "
                + "has `org.reveille.Client1` as well. The object's path is "
                + "`/org/reveille/Client1/profile_NAME`, with `_2d` for a hyphen."),
        .entry("Sync()", "Checks now, and sends matches again that wait. Status has the outcome."),
        .entry("Acknowledge(s id)", "The user was told of the match."),
        .entry(
            "Status, a{sv}",
            "The members of a status event that have a value, with PropertiesChanged."),
        .entry("Match(s id, s secret, ay note)", "A signal for each match."),
        .entry("Warning(s code, s text)", "A signal for each warning."),
        .text(
            "A match must be acknowledged here, too, unless `--on-match`, `--notify` or "
                + "`--notify-note` report it: then the signal only informs. Signals can be read by "
                + "every program of the session."),
        .text(
            "`test` delivers a match that no publisher sent, by the way of all others; the "
                + "name of its secret is `(test)`."),
    ]

    private static let privacy: [Manual.Part] = [
        .text(
            "All clients send the same requests. A match causes none, and is reported when the "
                + "connections of the check are closed. A registration is renewed at random up to "
                + "10 minutes apart from fetches. The service is given a push "
                + "token under a random instance token, if you register at all, and nothing else; "
                + "who fetches the feed is seen by its server, hence feed and service should be on "
                + "different origins. With `--proxy` each purpose has a circuit of its own."),
        .text(
            "Secrets and push tokens are read from files or standard input, never from the "
                + "command line, which every user of the machine can read. Neither they nor "
                + "addresses are ever logged."),
    ]
}
