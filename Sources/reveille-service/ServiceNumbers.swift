import WakeCommand
import WakeHTTP
import WakeModel
import WakeServer
import WakeSystem

/// The numbers of `GET /v1/status`, by name.
struct ServiceNumbers {
    let members: [String: Int]

    init(_ body: [UInt8]) throws(CommandFailure) {
        guard let members: [String: Int] = AdminJSON.decode(body) else {
            throw AdminClient.otherVersion
        }
        self.members = members
    }

    /// The numbers of several services as one.
    init(adding services: [ServiceNumbers]) {
        // A shard that has not read the feed yet knows nothing of its head.
        let heads = services.filter { $0["feed_head_age_seconds"] != -1 }
        var members: [String: Int] = [:]
        for name in services.flatMap(\.members.keys) where members[name] == nil {
            let whole = Metrics.wholes[name] ?? .sum
            let isOfHeads = whole == .leastOfHeads && !heads.isEmpty
            members[name] = whole((isOfHeads ? heads : services).compactMap { $0[name] })
        }
        self.members = members
    }

    subscript(name: String) -> Int? { members[name] }

    /// A line for each.
    var lines: [String] {
        Console.columns(members.sorted { $0.key < $1.key }.map { ($0.key, String($0.value)) })
    }

    /// The troubles of a service, or of any of those that were added up.
    var troubles: [Trouble] { Trouble.allCases.filter { self["trouble_\($0.rawValue)"] ?? 0 > 0 } }
}

/// What a command says while the feed's head has clients ignore wake-ups.
struct PauseNotice {
    let text: String

    static let hint = "`reveille feed directives --resume` ends that"

    /// - Parameter end: seconds since 1970.
    init?(until end: Int64?, now: Int64 = FeedCommands.now) {
        guard let end, end > now else { return nil }
        let left = NumberFormat.clock(Int(clamping: end - now))
        text = "clients ignore wake-ups until \(DateField.minute(end)), another \(left)"
    }

    /// - Parameter numbers: of `GET /v1/status`.
    init?(_ numbers: ServiceNumbers) {
        let now = FeedCommands.now
        self.init(until: now + Int64(numbers["feed_pause_left_seconds"] ?? 0), now: now)
    }
}
