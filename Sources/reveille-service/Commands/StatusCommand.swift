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
            .init(
                "--shard", value: "URL",
                "instead of the configured service this one, and added up all that are named: "
                    + "unix:PATH or http://127.0.0.1:PORT of its admin listener", repeats: true),
            .init(
                "--token", value: "FILE",
                "the admin token of shards on TCP; given once for all, or once for each of them",
                repeats: true),
        ],
        examples: [
            "reveille status", "reveille status --watch", "reveille status --json",
            "reveille status --shard unix:1/admin.sock --shard unix:2/admin.sock",
        ],
        notes: """
            Shards are numbered in the order of the command line. The exit status is 75 when one \
            of them does not answer within five seconds; the others are added up. Counts are \
            sums; of times and of room the least is shown, of the age of the feed's head the \
            greatest. With --json there are shards and answering, which are counts, total with \
            the numbers that are added up, and each, a list with shard, answers, and status or \
            problem.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static let watchInterval = Duration.seconds(2)

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let source = try source(invocation)
        let console = Console()
        guard invocation.flag("--watch") else {
            let (text, status) = try source()
            console.out(bytes: text)
            return status
        }
        while !Task.isCancelled {
            let text = try source().text
            // Erases the terminal before a whole screen (ECMA-48 §8.3.21, §8.3.39).
            if isatty(STDOUT_FILENO) == 1 { console.clear() }
            guard console.out(bytes: text) else { break }
            try? await Task.sleep(for: watchInterval)
        }
        return .success
    }

    private typealias Source = () throws(CommandFailure) -> (text: [UInt8], ExitStatus)

    /// What is printed, once or again and again.
    private static func source(_ invocation: Invocation) throws(CommandFailure) -> Source {
        let (isJSON, isAll) = (invocation.flag("--json"), invocation.flag("--all"))
        func text(_ lines: [String]) -> [UInt8] { Array(lines.map { $0 + "\n" }.joined().utf8) }
        if let shards = try ShardStatus(invocation) {
            return { () throws(CommandFailure) in
                let sums = try shards.ask()
                return (isJSON ? sums.json : text(sums.lines(all: isAll)), sums.status)
            }
        }
        let admin = AdminClient(try ConfigurationFile.load(invocation))
        return { () throws(CommandFailure) in
            let answer = try admin.get("/v1/status")
            if isJSON { return (answer + [0x0A], .success) }
            let numbers = try ServiceNumbers(answer)
            if isAll { return (text(numbers.lines), .success) }
            let broadcast = try BroadcastStatus(admin.get("/v1/broadcast"))
            return (text(StatusScreen(numbers, broadcast).lines), .success)
        }
    }
}

/// The state of a running service, or of several added up, on one screen.
struct StatusScreen {
    private let numbers: ServiceNumbers
    /// nil for several services.
    private let broadcast: BroadcastStatus?

    init(_ numbers: ServiceNumbers, _ broadcast: BroadcastStatus?) {
        (self.numbers, self.broadcast) = (numbers, broadcast)
    }

    var lines: [String] {
        let troubles = broadcast == nil ? [] : numbers.troubles
        return Console.columns([("health", health)] + rows) + lastBroadcast
            + troubles.map { "problem: \($0.rawValue): \($0.message)" }
    }

    /// Whether all is well, and since when the service runs.
    var health: String {
        let count = numbers.troubles.count
        return (count == 0 ? "ok" : "\(count) to mend, see below")
            + ", up \(clock("uptime_seconds"))"
    }

    /// What there is besides.
    var rows: [(String, String)] {
        [
            ("registrations", registrations),
            ("feed", feed),
        ] + pause + [
            ("connections", "\(number("connections")), event streams \(number("streams"))"),
            ("requests", requests),
            ("broadcasts", broadcasts),
            ("pushes", pushes),
            ("rotation", rotation),
        ]
    }

    private func number(_ name: String) -> Int { numbers[name] ?? 0 }

    private func count(_ name: String) -> String { RotateCommand.count(number(name)) }

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
            + "signed \(clock("feed_head_age_seconds")) ago, \(end)" + witnesses
    }

    private var pause: [(String, String)] {
        PauseNotice(numbers).map { [("wake-ups", $0.text + "; " + PauseNotice.hint)] } ?? []
    }

    private var witnesses: String {
        let (size, count) = (number("feed_log_size"), number("feed_cosignatures"))
        guard size > 0 else { return "" }
        return "; cosigned by \(count) witnesses, \(size) heads in the log"
    }

    private var requests: String {
        let hidden = number("oblivious_opened")
        return "registered \(number("registers")) (\(number("registers_new")) new), "
            + "deleted \(number("deletes")), read \(number("reads")); "
            + "refused \(number("store_refusals")) for room, "
            + "\(number("store_overloads") + number("store_failures")) for trouble"
            + (hidden > 0 ? "; \(hidden) of these through relays" : "")
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
        (broadcast == nil ? "" : "generation \(number("generation")), ")
            + "the next in \(clock("next_rotation_seconds"))"
    }

    private var lastBroadcast: [String] {
        guard let broadcast, broadcast.run > 0 else { return [] }
        return [broadcast.running ? broadcast.line : broadcast.summary]
            + (broadcast.time.map { [$0] } ?? []) + broadcast.hostLines + broadcast.alarms
    }
}
