/// An answer that a flag asks for.
struct ScriptedAnswer: Equatable {
    var status: Int
    var reason = ""
    /// Seconds.
    var retryAfter: Int?

    /// `STATUS[:REASON[:RETRY-AFTER]]`
    init?(_ parts: ArraySlice<Substring>) {
        let parts = Array(parts)
        guard (1...3).contains(parts.count), let status = Int(parts[0]),
            (200...999).contains(status)
        else { return nil }
        self.status = status
        if parts.count > 1 {
            // It goes into JSON as it is.
            guard parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || "_-".contains($0)) }) else {
                return nil
            }
            reason = String(parts[1])
        }
        if parts.count > 2 {
            guard let seconds = Int(parts[2]), (0...86_400).contains(seconds) else { return nil }
            retryAfter = seconds
        }
    }

    init?(_ text: String) {
        self.init(text.split(separator: ":", omittingEmptySubsequences: false)[...])
    }
}

/// The flags of every service over HTTP.
struct CommonOptions {
    var port: UInt16 = 0
    var certificate: String?
    var key: String?
    var withoutHTTP2 = false

    /// Milliseconds.
    var latency = 0
    var streams = 1000

    // Faults; 0 is never.
    var goAwayEvery = 0
    var resetEvery = 0
    var refuseEvery = 0
    var stallAt = 0
    var stallSeconds = 5
    var garbageAt = 0
    /// At every so many proper requests.
    var answers: [(every: Int, answer: ScriptedAnswer)] = []
    /// To the first so many.
    var firstAnswers: [(count: Int, answer: ScriptedAnswer)] = []
    /// To subjects with this prefix.
    var subjectAnswers: [(prefix: [UInt8], answer: ScriptedAnswer)] = []
    var answerAll: ScriptedAnswer?

    /// Ends with a report after so many distinct deliveries.
    var exitAt = 0
    /// Where the report goes, too.
    var report: String?
}

/// The options of a service over HTTP.
protocol ServiceOptions {
    var common: CommonOptions { get set }
    init()
    static var flags: [Flag<Self>] { get }
    /// True when the flags fit together.
    var isWhole: Bool { get }
}

extension ServiceOptions {
    var isWhole: Bool { (common.certificate == nil) == (common.key == nil) }

    /// Nil after a flag or value that is not in the table.
    init?(_ arguments: [String]) {
        self.init()
        let flags = Dictionary(
            (CommonFlags.rows() + Self.flags).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let flag = flags[name], let value = rest.popFirst(), flag.set(&self, value)
            else { return nil }
        }
        guard isWhole else { return nil }
    }

    static var usage: String {
        "  Its own flags\n" + flags.map(\.line).joined()
            + "  And what all but apns take\n"
            + CommonFlags<Self>.rows().filter { row in
                !flags.contains { $0.name == row.name }
            }.map(\.line).joined()
    }
}
