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
    private(set) var fields: [[UInt8]: Int] = [:]
    /// Distinct provider tokens that verified.
    var providerTokens = 0
    /// What the client did against the protocol.
    var violations: [String: Int] = [:]
    /// Most streams open at once on one connection.
    var mostStreams = 0

    private var tokens: Set<PushTokenBytes> = []

    var distinct: Int { tokens.count }

    mutating func deliver(_ token: PushTokenBytes) {
        delivered += 1
        if !tokens.insert(token).inserted { duplicates += 1 }
    }

    mutating func saw(field name: ArraySlice<UInt8>) {
        fields[Array(name), default: 0] += 1
    }

    mutating func saw(fields counts: [[UInt8]: Int]) {
        fields.merge(counts) { $0 + $1 }
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

/// A push token as bytes in words, quick to hash: up to 100 bytes, zeros behind.
struct PushTokenBytes: Hashable {
    private var words: (UInt64, UInt64, UInt64, UInt64)
    private var more: [UInt8]

    /// nil unless `hex` is 32 to 100 bytes in hexadecimal digits.
    init?(hex: ArraySlice<UInt8>) {
        guard hex.count >= 64, hex.count <= 200, hex.count.isMultiple(of: 2) else { return nil }
        words = (0, 0, 0, 0)
        more = []
        var position = hex.startIndex
        for word in 0..<4 {
            var value: UInt64 = 0
            for _ in 0..<16 {
                guard let digit = Self.digit(hex[position]) else { return nil }
                value = value << 4 | UInt64(digit)
                position += 1
            }
            switch word {
            case 0: words.0 = value
            case 1: words.1 = value
            case 2: words.2 = value
            default: words.3 = value
            }
        }
        while position < hex.endIndex {
            guard let digit = Self.digit(hex[position]) else { return nil }
            more.append(digit)
            position += 1
        }
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x61...0x66: character - 0x61 + 10
        case 0x41...0x46: character - 0x41 + 10
        default: nil
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.words == right.words && left.more == right.more
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}
