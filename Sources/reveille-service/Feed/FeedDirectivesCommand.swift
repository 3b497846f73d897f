import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// `reveille feed directives`: the publisher's directives to all clients, in the signed head.
enum FeedDirectivesCommand {
    static let command = Command(
        "feed directives", "print or change the directives of the head to all clients",
        options: [
            .init(
                "--pause", value: "SECONDS",
                "clients ignore wake-ups for this time from now, 259200 at most"),
            .init("--registration", value: "on|off", "whether clients register push tokens"),
            .init("--retire", "the feed has ended: clients unregister and stop"),
            .init("--resume", "end a pause at once, and revoke --retire"),
            .init(
                "--gateway-keys", value: "FILE|off",
                "the keys that clients encapsulate registrations for, as the service shows them "
                    + "under /.well-known/ohttp-gateway"),
            Confirmation.option, .json,
        ] + FeedCommands.publishing,
        examples: [
            "reveille feed directives", "reveille feed directives --pause 86400",
            "reveille feed directives --registration off",
            "reveille feed directives --gateway-keys ohttp-keys",
        ],
        notes: """
            The head is signed again, its number stays. Clients poll in every case, so they \
            learn of the next directive within a day. A pause ends by itself, and with the next \
            poll after --resume. Clients that saw --retire have unregistered and stopped: \
            --resume reaches the others only. Hence --retire asks, and without a terminal it \
            wants --yes.
            """,
        run: { (invocation) throws(CommandFailure) in
            let feed = try FeedSelection(invocation)
            var settings = try mapError(CommandFailure.init, try feed.presentSettings())
            var end = try mapError(CommandFailure.init, try feed.presentHead().pausedUntil)
            let wasRetired = settings.flags.contains(.retired)
            var keys: [UInt8]?
            if let value = invocation.value("--gateway-keys") {
                (settings.gatewayKeys, keys) = try GatewayKeyFile.read(value, invocation)
            }
            if try change(&settings, invocation) {
                if settings.flags.contains(.retired), !wasRetired {
                    try Confirmation.require(invocation, loss(feed))
                }
                if let keys { try GatewayKeyFile.write(keys, to: feed.directory) }
                try mapError(CommandFailure.init) { () throws(FeedDirectoryError) in
                    try feed.publisher().resign(settings: settings, now: FeedCommands.now)
                    end = try feed.presentHead().pausedUntil
                }
            }
            show(settings, end, json: invocation.flag("--json"))
            return .success
        })

    /// - Parameter end: of a pause, seconds since 1970.
    private static func show(_ settings: FeedSettings, _ end: Int64?, json: Bool) {
        let pause = PauseNotice(until: end)
        guard json else { return Console().out(description(settings, pause)) }
        let flags = settings.flags
        Console().json { text in
            text.member("pause_seconds", number: pause == nil ? 0 : settings.pauseSeconds)
            text.member("paused_until", number: pause == nil ? 0 : end ?? 0)
            text.member("registration", bool: !flags.contains(.noRegistration))
            text.member("retired", bool: flags.contains(.retired))
            text.member("gateway_keys", strings: settings.gatewayKeys.texts)
        }
    }

    private static func loss(_ feed: FeedSelection) -> String {
        let status: RotationStatus? = feed.answer(of: "/v1/rotation")
        var number = "all registrations (no service answers that could count them)"
        if let status {
            number = "about \(status.dropped + status.kept) registrations"
        }
        return "every client that sees this unregisters and stops for good, which loses "
            + "\(number); --resume does not bring them back"
    }

    /// - Returns: whether anything was asked for.
    private static func change(
        _ settings: inout FeedSettings, _ invocation: Invocation
    ) throws(CommandFailure) -> Bool {
        let pause = try invocation.integer("--pause", in: 1...Int(FeedLimits.longestPause))
        if invocation.flag("--resume") {
            guard pause == nil, !invocation.flag("--retire") else {
                throw .usage("--resume excludes --pause and --retire")
            }
            settings.flags.subtract([.paused, .retired])
            settings.pauseSeconds = 0
        }
        if let pause {
            settings.flags.insert(.paused)
            settings.pauseSeconds = UInt32(pause)
        }
        if invocation.flag("--retire") { settings.flags.insert(.retired) }
        switch invocation.value("--registration") {
        case "on": settings.flags.remove(.noRegistration)
        case "off": settings.flags.insert(.noRegistration)
        case nil: break
        default: throw .usage("--registration is on or off")
        }
        let changes = ["--pause", "--registration", "--retire", "--resume", "--gateway-keys"]
        return changes.contains(where: invocation.flag)
    }

    private static func description(_ settings: FeedSettings, _ pause: PauseNotice?) -> String {
        """
        wake-ups      \(pause.map { $0.text + "; --resume ends that" } ?? "heeded")
        registration  \(settings.flags.contains(.noRegistration) ? "off" : "on")
        feed          \(settings.flags.contains(.retired) ? "has ended" : "is running")
        """
            + settings.gatewayKeys.texts.map { "\ngateway key   \($0)" }.joined()
    }
}
