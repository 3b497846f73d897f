import WakeCommand
import WakeHTTP
import WakeModel
import WakeServer
import WakeSystem

/// A flat JSON object of numbers, as the admin socket answers.
struct ServiceNumbers {
    let members: [(name: String, value: Int)]

    init(_ body: [UInt8]) throws(CommandFailure) {
        var members: [(name: String, value: Int)] = []
        try mapError({ _ in AdminClient.otherVersion }) { () throws(JSONError) in
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    let value = try scanner.integer()
                    members.append((String(decoding: name, as: UTF8.self), value))
                }
            }
        }
        self.members = members
    }

    fileprivate init(members: [(name: String, value: Int)]) { self.members = members }

    subscript(name: String) -> Int? { members.first { $0.name == name }?.value }

    /// A line for each.
    var lines: [String] { Console.columns(members.map { ($0.name, String($0.value)) }) }

    /// What has to be mended, of a service or of any that were added up.
    var troubles: [Trouble] { Trouble.allCases.filter { self["trouble_\($0.rawValue)"] ?? 0 > 0 } }
}

extension ServiceNumbers {
    /// The numbers of several services as one: sums, but for what cannot be added.
    init(adding services: [ServiceNumbers]) {
        var names: [String] = []
        var values: [String: [Int]] = [:]
        // A shard that has not read the feed yet knows nothing of its head.
        let heads = services.filter { $0["feed_head_age_seconds"] != -1 }
        for (name, _) in services.flatMap(\.members) where values[name] == nil {
            let isOfHeads = Metrics.wholes[name] == .leastOfHeads && !heads.isEmpty
            names.append(name)
            values[name] = (isOfHeads ? heads : services).compactMap { $0[name] }
        }
        self.init(
            members: names.map { ($0, (Metrics.wholes[$0] ?? .sum)(values[$0] ?? [])) })
    }
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
