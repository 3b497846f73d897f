/// What a service has seen and done, over all connections.
struct Tally {
    var connections = 0
    /// Requests that came in whole.
    var requests = 0
    /// Of those, how many were as they must be.
    var proper = 0
    /// How often something was accepted, also where nobody heard of it.
    private(set) var delivered = 0
    /// Of those, how often what had been delivered before.
    private(set) var duplicates = 0
    /// Statuses of answers that left.
    var answers: [Int: Int] = [:]
    /// Words for what requests did wrong.
    var refusals: [String: Int] = [:]
    var faults: [String: Int] = [:]
    /// What the client did against the protocol.
    var violations: [String: Int] = [:]
    /// How many requests carried each field.
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
