/// What the mock has seen and done, over all connections.
struct Report {
    var connections = 0
    /// Requests that were looked at.
    var requests = 0
    /// Requests that were valid and answered 200, or cut off after they counted.
    private(set) var delivered = 0
    /// Of those, how often for a token that had been delivered before.
    private(set) var duplicates = 0
    var answers: [Int: Int] = [:]
    /// Reasons of refusals that the requests deserved.
    var refusals: [String: Int] = [:]
    var faults: [String: Int] = [:]
    /// How many requests carried each field.
    var fields: [[UInt8]: Int] = [:]
    /// Distinct provider tokens that verified.
    var providerTokens = 0
    /// What the client did against the protocol.
    var violations: [String: Int] = [:]
    /// Most streams open at once on one connection.
    var mostStreams = 0

    private var tokens = TokenSet()

    var distinct: Int { tokens.count }

    mutating func deliver(_ token: PushTokenBytes) {
        delivered += 1
        if !tokens.insert(token) { duplicates += 1 }
    }

    /// One line of JSON.
    var line: String {
        let members = [
            "\"connections\":\(connections)", "\"requests\":\(requests)",
            "\"delivered\":\(delivered)", "\"distinct\":\(distinct)",
            "\"duplicates\":\(duplicates)", "\"providerTokens\":\(providerTokens)",
            "\"mostStreams\":\(mostStreams)",
            "\"answers\":\(Self.object(answers.map { ("\($0.key)", $0.value) }))",
            "\"refusals\":\(Self.object(refusals.map { ($0.key, $0.value) }))",
            "\"faults\":\(Self.object(faults.map { ($0.key, $0.value) }))",
            "\"violations\":\(Self.object(violations.map { ($0.key, $0.value) }))",
            "\"fields\":"
                + Self.object(fields.map { (String(decoding: $0.key, as: UTF8.self), $0.value) }),
        ]
        return "{" + members.joined(separator: ",") + "}\n"
    }

    private static func object(_ members: [(name: String, count: Int)]) -> String {
        let sorted = members.sorted { $0.name < $1.name }
        // Names come from the wire: nothing in them may end the string.
        return "{"
            + sorted.map { member in
                let name = member.name.filter {
                    $0.isASCII && $0 != "\"" && $0 != "\\" && $0 >= " "
                }
                return "\"\(name)\":\(member.count)"
            }.joined(separator: ",") + "}"
    }
}
