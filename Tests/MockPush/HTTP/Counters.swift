/// The counters of a service, over all connections.
struct Counters {
    var connections = 0
    /// Requests that came in whole.
    var requests = 0
    /// Of those, correct ones.
    var proper = 0
    /// Accepted wake-ups, answered or not.
    private(set) var delivered = 0
    /// Of those, repeated ones.
    private(set) var duplicates = 0
    /// Statuses of answers that left.
    var answers: [Int: Int] = [:]
    /// Faults of requests.
    var refusals: [String: Int] = [:]
    var faults: [String: Int] = [:]
    /// Faults of the client against the protocol.
    var violations: [String: Int] = [:]
    /// Requests by header field.
    var fields: [String: Int] = [:]
    /// Most streams open at once on one connection.
    var mostStreams = 0

    private var subjects: Set<[UInt8]> = []

    var distinct: Int { subjects.count }

    mutating func deliver(_ subject: [UInt8]) {
        delivered += 1
        if !subjects.insert(subject).inserted { duplicates += 1 }
    }

    /// One line of JSON.
    func line(_ own: [(name: String, json: String)]) -> String {
        var members = [
            ("connections", "\(connections)"), ("requests", "\(requests)"),
            ("delivered", "\(delivered)"), ("distinct", "\(distinct)"),
            ("duplicates", "\(duplicates)"), ("mostStreams", "\(mostStreams)"),
            ("answers", Self.object(answers.map { ("\($0.key)", "\($0.value)") })),
        ]
        for (name, counts) in [
            ("refusals", refusals), ("faults", faults), ("violations", violations),
            ("fields", fields),
        ] {
            members.append((name, Self.object(counts.map { ($0.key, "\($0.value)") })))
        }
        members += own.map { ($0.name, $0.json) }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}\n"
    }

    /// An object of values that are JSON, sorted by name.
    static func object(_ members: [(name: String, json: String)]) -> String {
        let sorted = members.sorted { $0.name < $1.name }
        return "{"
            + sorted.map { "\"\(clean($0.name))\":\($0.json)" }.joined(separator: ",") + "}"
    }

    /// Names come from the wire: nothing in them may end the string.
    static func clean(_ name: String) -> String {
        name.filter { $0.isASCII && $0 != "\"" && $0 != "\\" && $0 >= " " }
    }
}
