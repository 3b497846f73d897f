import Glibc
import WakeCommand
import WakeServer

/// `reveille status`: whether all is well, and the running service in numbers.
enum StatusCommand {
    static let command = Command(
        "status", "show whether all is well with the running service, and what it counts",
        options: [
            ConfigurationFile.option,
            .init("--all", "every number, by the name that --json and metrics have for it"),
            .init("--watch", "again every two seconds, until interrupted"),
            .json,
        ],
        examples: ["reveille status", "reveille status --watch", "reveille status --json"],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static let watchInterval = Duration.seconds(2)

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let admin = AdminClient(try ConfigurationFile.load(invocation))
        let console = Console()
        guard invocation.flag("--watch") else {
            console.out(bytes: try text(admin, invocation))
            return .success
        }
        while !Task.isCancelled {
            let text = try text(admin, invocation)
            // Erases the terminal before a whole screen (ECMA-48 §8.3.21, §8.3.39).
            if isatty(STDOUT_FILENO) == 1 { console.out("\u{1B}[H\u{1B}[2J", terminator: "") }
            guard console.out(bytes: text) else { break }
            try? await Task.sleep(for: watchInterval)
        }
        return .success
    }

    private static func text(
        _ admin: AdminClient, _ invocation: Invocation
    ) throws(CommandFailure) -> [UInt8] {
        let answer = try admin.get("/v1/status")
        if invocation.flag("--json") { return answer + [0x0A] }
        let numbers = try ServiceNumbers(answer)
        let lines =
            invocation.flag("--all")
            ? Console.columns(numbers.members.map { ($0.name, String($0.value)) })
            : StatusScreen(numbers, try BroadcastStatus(admin.get("/v1/broadcast"))).lines
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }
}

/// The state of a running service on one screen.
private struct StatusScreen {
    private let numbers: ServiceNumbers
    private let broadcast: BroadcastStatus

    init(_ numbers: ServiceNumbers, _ broadcast: BroadcastStatus) {
        (self.numbers, self.broadcast) = (numbers, broadcast)
    }

    var lines: [String] {
        let troubles = Trouble.allCases.filter { number("trouble_\($0.rawValue)") == 1 }
        let health = troubles.isEmpty ? "ok" : "\(troubles.count) to mend, see below"
        return Console.columns([
            ("health", health + ", up \(clock("uptime_seconds"))"),
            ("registrations", registrations),
            ("feed", feed),
            ("connections", "\(number("connections")), event streams \(number("streams"))"),
            ("requests", requests),
            ("broadcasts", broadcasts),
            ("pushes", pushes),
            ("rotation", rotation),
        ])
            + lastBroadcast
            + troubles.map { "problem: \($0.rawValue): \($0.message)" }
    }

    private func number(_ name: String) -> Int { numbers[name] ?? 0 }

    /// Counts of registrations are exact below 4,096.
    private func count(_ name: String) -> String {
        (number(name) < 4096 ? "" : "about ") + "\(number(name))"
    }

    private func clock(_ name: String) -> String { NumberFormat.clock(number(name)) }

    private var registrations: String {
        "\(count("registrations_current")) of this generation, "
            + "\(count("registrations_previous")) of the one before; "
            + "\(number("store_pages") >> 8) MiB used, \(number("disk_free_bytes") >> 20) MiB free"
    }

    private var feed: String {
        guard number("feed_head_age_seconds") >= 0 else { return "no head" }
        let left = number("feed_head_left_seconds")
        let end =
            left > 0
            ? "expires in \(NumberFormat.clock(left))"
            : "expired \(NumberFormat.clock(-left)) ago"
        return "sequence \(number("feed_sequence")), "
            + "signed \(clock("feed_head_age_seconds")) ago, \(end)"
    }

    private var requests: String {
        "registered \(number("registers")) (\(number("registers_new")) new), "
            + "deleted \(number("deletes")), read \(number("reads")); "
            + "refused \(number("store_refusals")) for room, "
            + "\(number("store_overloads") + number("store_failures")) for trouble"
    }

    private var broadcasts: String {
        let next = number("next_broadcast_seconds")
        let when = next < 0 ? "" : ", the next in \(NumberFormat.clock(next))"
        return "\(number("broadcasts")) since the start\(when)"
    }

    private var pushes: String {
        "accepted \(number("pushes_accepted")), gone \(number("pushes_gone")), "
            + "given up \(number("pushes_abandoned") + number("pushes_unsent"))"
    }

    private var rotation: String {
        "generation \(number("generation")), the next in \(clock("next_rotation_seconds"))"
            + (number("rotating") == 1 ? ", rotating now" : "")
    }

    private var lastBroadcast: [String] {
        guard broadcast.run > 0 else { return [] }
        return [broadcast.running ? broadcast.line : broadcast.summary]
            + (broadcast.time.map { [$0] } ?? []) + broadcast.hostLines + broadcast.alarms
    }
}
