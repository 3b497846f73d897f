import WakeSystem

/// What has been seen and done, over all connections.
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

    private var subjects: [[UInt8]: Int] = [:]

    mutating func deliver(_ subject: [UInt8]) {
        delivered += 1
        subjects[subject, default: 0] += 1
        if subjects[subject] != 1 { duplicates += 1 }
    }

    /// One line of JSON.
    func line(_ own: [(name: String, json: String)]) -> String {
        var members = [
            ("connections", "\(connections)"), ("requests", "\(requests)"),
            ("delivered", "\(delivered)"), ("distinct", "\(subjects.count)"),
            ("duplicates", "\(duplicates)"), ("mostStreams", "\(mostStreams)"),
            ("mostEach", "\(subjects.values.max() ?? 0)"),
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

    /// An object of values that are JSON, sorted by name. Names come from the wire: nothing in them
    /// may end the string.
    static func object(_ members: [(name: String, json: String)]) -> String {
        let pairs = members.sorted { $0.name < $1.name }.map { member in
            let name = member.name.filter {
                $0.isASCII && $0 != "\"" && $0 != "\\" && $0 >= " "
            }
            return "\"\(name)\":\(member.json)"
        }
        return "{" + pairs.joined(separator: ",") + "}"
    }
}

/// The common part of all services: flags, counters and scripted faults. A service decides the
/// reaction to a request.
class HTTPService {
    let common: CommonOptions
    var counters = Counters()
    private(set) var clock: (microseconds: UInt64, seconds: Int) = (0, 0)
    /// The end of the wait that a subject was asked for, seconds.
    private var retryAfter: [[UInt8]: Int] = [:]
    private var answersSent = 0

    init(_ common: CommonOptions) { self.common = common }

    var endpoints: [Endpoint] {
        var endpoint = Endpoint(name: "port", port: common.port)
        if let certificate = common.certificate, let key = common.key {
            endpoint.identity = (certificate, key)
        }
        endpoint.selectsHTTP2 = !common.withoutHTTP2
        return [endpoint]
    }

    /// True for TLS server names whose handshake is never answered.
    func isSilent(name: String) -> Bool { false }

    /// Answers a whole request.
    final func react(
        _ request: HTTPRequest, _ clock: (microseconds: UInt64, seconds: Int)
    ) -> Reaction {
        self.clock = clock
        counters.requests += 1
        for field in request.fields { counters.fields[field.name, default: 0] += 1 }
        return judge(request)
    }

    /// The reaction to a request.
    func judge(_ request: HTTPRequest) -> Reaction {
        preconditionFailure("a service judges for itself")
    }

    /// Members of the report that only this service has.
    func members() -> [(name: String, json: String)] { [] }

    final func summary() -> String { counters.line(members()) }

    /// How many answers may leave now.
    final var allowance: Int {
        guard let file = common.hold, let bytes = try? Files.read(file, limit: 64) else {
            return .max
        }
        return max(0, (Int(String(decoding: bytes, as: UTF8.self)) ?? 0) - answersSent)
    }

    final func didAnswer(_ status: Int) {
        answersSent += 1
        counters.answers[status, default: 0] += 1
    }

    // MARK: For services

    /// Counts a wrong request by its fault.
    final func refuse(_ word: String, _ answer: HTTPAnswer) -> Reaction {
        counters.refusals[word, default: 0] += 1
        return .answer(answer)
    }

    /// A scripted fault of the whole connection.
    final func connectionFault(_ subject: [UInt8]) -> Reaction? {
        let fault: (name: String, reaction: Reaction)
        if common.garbageAt == counters.proper {
            fault = ("garbage", .garbage)
        } else if isDue(common.goAwayEvery) {
            fault = ("goaway", .goAway)
        } else if isDue(common.refuseEvery) {
            fault = ("refused", .reset(code: 0x7))
        } else if isDue(common.resetEvery) {
            // The worst case: it was delivered, and the client cannot know.
            counters.deliver(subject)
            fault = ("reset", .reset(code: 0x2))
        } else {
            return nil
        }
        counters.faults[fault.name, default: 0] += 1
        return fault.reaction
    }

    /// A scripted answer: by subject, to the first, by number, to all, in this order.
    final func scriptedAnswer(for subject: [UInt8]) -> ScriptedAnswer? {
        let scripted =
            common.subjectAnswers.first { subject.starts(with: $0.prefix) }?.answer
            ?? common.firstAnswers.first { counters.proper <= $0.0 }?.1
            ?? common.answers.first { isDue($0.0) }?.1 ?? common.answerAll
        if let scripted { counters.faults["\(scripted.status)", default: 0] += 1 }
        return scripted
    }

    /// True at every so-many-th proper request.
    final func isDue(_ every: Int) -> Bool { every > 0 && counters.proper.isMultiple(of: every) }

    /// Records a Retry-After.
    final func recordRetryAfter(_ subject: [UInt8], seconds: Int?) {
        guard let seconds, seconds > 0 else { return }
        retryAfter[subject] = clock.seconds + seconds
    }

    /// Counts a request before that time (RFC 9110 §10.2.3).
    final func checkRetryAfter(_ subject: [UInt8]) {
        guard !retryAfter.isEmpty, let until = retryAfter.removeValue(forKey: subject),
            clock.seconds < until
        else { return }
        counters.violations["sooner than Retry-After", default: 0] += 1
    }
}
