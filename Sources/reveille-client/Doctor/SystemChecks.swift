import Reveille
import WakeCommand
import WakeSystem
import WakeUnifiedPush

/// Checks of the feed and the service over the network.
enum NetworkChecks {
    /// Whether requests can be made at all, for profiles that cannot be examined further.
    static func library() -> Finding {
        do throws(ClientError) {
            try ProfileDiagnostics.checkLibrary()
            return loaded
        } catch {
            return .failed("libcurl", error)
        }
    }

    private static let loaded = Finding.ok("libcurl", "it can be loaded")

    static func findings(
        _ diagnostics: ProfileDiagnostics, _ configuration: ClientConfiguration
    ) async -> [Finding] {
        await check("libcurl") { () async throws(ClientError) in
            let transport = try diagnostics.transport()
            var head: ProfileDiagnostics.Feed?
            let feed = await check("feed") { () async throws(ClientError) in
                let verified = try await diagnostics.feed(by: transport)
                head = verified
                return findings(verified)
            }
            let relay = await check("relay") { () async throws(ClientError) in
                guard let head, try await diagnostics.relay(under: head, by: transport) else {
                    return []
                }
                return [.ok("relay", "the service answers through it")]
            }
            // Who only polls, and hides, shows the service no address here either.
            guard configuration.oblivious == nil || configuration.channel == .stream else {
                return [loaded] + feed + relay
            }
            let service = await check("service") { () async throws(ClientError) in
                guard let stream = try await diagnostics.stream(by: transport) else { return [] }
                return [.ok("service", "it answers"), finding(stream, configuration.channel)]
            }
            return [loaded] + feed + relay + service
        }
    }

    private static func check(
        _ subject: String, _ body: () async throws(ClientError) -> [Finding]
    ) async -> [Finding] {
        do throws(ClientError) {
            return try await body()
        } catch {
            return [.failed(subject, error)]
        }
    }

    private static func findings(_ feed: ProfileDiagnostics.Feed) -> [Finding] {
        var text = "signed, at batch \(feed.sequence)"
        if feed.unchecked > 0 { text += ", \(feed.unchecked) not checked yet" }
        let head =
            feed.isExpired
            ? Finding.warning(
                "feed", text + ", but its head has expired",
                hint: "the publisher is silent, or newer heads are held back")
            : feed.lacksKeys
                ? .warning(
                    "feed", text + ", but without its file keys",
                    hint: "ask the publisher to serve it: clients with an older key need it")
                : .ok("feed", text)
        let difference: String
        if let ahead = feed.serverAhead, feed.isServersClockWrong {
            let text =
                "the feed's server's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead" : "behind")"
            return [head] + Self.witnesses(feed) + [
                .warning("clock", text, hint: "this device's is right: ask the feed's operator")
            ]
        } else if let ahead = feed.serverAhead {
            difference = "\(abs(ahead)) s \(ahead > 0 ? "behind" : "ahead of") the feed's server"
        } else if feed.isFromFuture {
            difference = "\(-feed.age) s behind the feed's head"
        } else {
            return [head] + Self.witnesses(feed)
                + [.ok("clock", "the head was signed \(max(0, feed.age)) s ago")]
        }
        return [head] + Self.witnesses(feed) + [
            .warning("clock", difference, hint: "set the clock: timedatectl set-ntp true")
        ]
    }

    /// Empty without a policy of witnesses.
    private static func witnesses(_ feed: ProfileDiagnostics.Feed) -> [Finding] {
        switch feed.witnesses {
        case nil: []
        case .quorum(let heads):
            [.ok("witnesses", "a quorum has cosigned the newest head, of \(heads) in the log")]
        case .failed(let error): [.failed("witnesses", error)]
        }
    }

    private static func finding(
        _ stream: ProfileDiagnostics.Stream, _ channel: ClientConfiguration.Channel
    ) -> Finding {
        func hint(_ hint: String?) -> String {
            channel == .stream
                ? hint ?? "until it works, polling finds what is new"
                : "this profile polls and needs none"
        }
        return switch stream {
        case .works: .ok("stream", "it is open and events come")
        case .refused(let status):
            .warning(
                "stream", "the service answered \(status) and no stream",
                hint: hint(ClientError.httpStatus(status, retryAfter: nil).hint))
        case .ended:
            .warning("stream", "the service ended it before anything came", hint: hint(nil))
        case .silent:
            .warning(
                "stream",
                "nothing comes: a proxy on the way keeps it back, or the service does not answer",
                hint: hint(
                    "ask the service's operator: its front must not buffer /v1/wakes; until then "
                        + "polling finds what is new"))
        }
    }
}

/// Checks of the user's session: its bus, its notifications, its systemd units.
enum DesktopChecks {
    /// Looks names up on the session bus; nothing is started.
    static func session() async -> [Finding] {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            let isShown = try await names(on: bus).contains("org.freedesktop.Notifications")
            return [
                .ok("bus", "there is a session bus"),
                .ok(
                    "notifications",
                    isShown
                        ? "they can be shown"
                        : "no program shows any here; --notify would fail"),
            ]
        } catch {
            // Servers have none, and need none.
            return [.ok("bus", "no session bus; --notify and pushes would need one")]
        }
    }

    /// The names in use, and those whose owners the bus would start.
    private static func names(on bus: BusConnection) async throws(BusError) -> Set<String> {
        var names: Set<String> = []
        for member in ["ListNames", "ListActivatableNames"] {
            let answer = try await bus.call(
                .call(
                    "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
                    interface: "org.freedesktop.DBus", member: member))
            guard case .array(_, let values)? = answer.body.first else { continue }
            for case .string(let name) in values {
                names.insert(String(decoding: name, as: UTF8.self))
            }
        }
        return names
    }

    /// Empty where there is no systemd.
    static func units() async -> [Finding] {
        let folders = (Environment.value("PATH") ?? "").split(separator: ":")
        guard folders.contains(where: { Files.exists("\($0)/systemctl") }) else { return [] }
        for unit in ["reveille-client.service", "reveille-client-sync.timer"] {
            guard await systemctl("is-enabled", unit) else { continue }
            if await systemctl("is-active", unit) { return [.ok("unit", "\(unit) is active")] }
            return [
                .warning(
                    "unit", "\(unit) is enabled and not active",
                    hint: "systemctl --user start \(unit)")
            ] + onMatch()
        }
        return [
            .warning(
                "unit", "neither service nor timer is enabled for this user",
                hint: "systemctl --user enable --now reveille-client.service, unless something "
                    + "else starts the client")
        ] + onMatch()
    }

    /// The program that both units run for a match, as they are shipped; empty when it is there.
    private static func onMatch() -> [Finding] {
        guard let home = Environment.value("HOME"),
            let obstacle = Subprocess.obstacle(to: home + "/.config/reveille/on-match")
        else { return [] }
        return [
            .warning(
                "on-match",
                "the units' program ~/.config/reveille/on-match cannot be executed: "
                    + obstacle.reason,
                hint: "make it, and chmod +x it: nothing else reports their matches")
        ]
    }

    private static func systemctl(_ verb: String, _ unit: String) async -> Bool {
        let words = ["systemctl", "--user", "--quiet", verb, unit]
        return await Subprocess(words, adding: [], input: [], output: .nowhere)
            .run(for: .seconds(10)).isSuccess
    }
}
