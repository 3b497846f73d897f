/// The common part of the services over HTTP: flags, counters and scripted faults. A service
/// decides the reaction to a request.
class HTTPService: Service {
    let common: CommonOptions
    var counters = Counters()
    private(set) var clock: (microseconds: UInt64, seconds: Int) = (0, 0)
    /// The end of the wait that a subject was asked for, seconds.
    private var retryAfter: [[UInt8]: Int] = [:]

    init(_ common: CommonOptions) { self.common = common }

    var endpoints: [Endpoint] {
        var endpoint = Endpoint(name: "port", port: common.port)
        if let certificate = common.certificate, let key = common.key {
            endpoint.identity = (certificate, key)
        }
        endpoint.selectsHTTP2 = !common.withoutHTTP2
        return [endpoint]
    }

    final var isAtGoal: Bool { common.exitAt > 0 && counters.distinct >= common.exitAt }

    func isSilent(name: String) -> Bool { false }

    final func connection(at endpoint: Int) -> ServerConnection {
        HTTPServerConnection(self, endpoint: endpoint)
    }

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

    // MARK: For services

    /// Counts a wrong request by its fault.
    final func refuse(_ word: String) { counters.refusals[word, default: 0] += 1 }

    /// A scripted fault of the whole connection.
    final func connectionFault(_ subject: [UInt8]) -> Reaction? {
        let number = counters.proper
        if common.stallAt == number {
            counters.faults["stall", default: 0] += 1
            counters.deliver(subject)
            return .stall(seconds: common.stallSeconds)
        }
        if common.garbageAt == number {
            counters.faults["garbage", default: 0] += 1
            return .garbage
        }
        if isDue(common.goAwayEvery) {
            counters.faults["goaway", default: 0] += 1
            return .goAway
        }
        if isDue(common.refuseEvery) {
            counters.faults["refused", default: 0] += 1
            return .reset(code: 0x7)
        }
        if isDue(common.resetEvery) {
            counters.faults["reset", default: 0] += 1
            // The worst case: it was delivered, and the client cannot know.
            counters.deliver(subject)
            return .reset(code: 0x2)
        }
        return nil
    }

    /// A scripted answer: by subject, to the first, by number, to all, in this
    /// order.
    final func scriptedAnswer(for subject: [UInt8]) -> ScriptedAnswer? {
        let scripted =
            common.subjectAnswers.first { subject.starts(with: $0.prefix) }?.answer
            ?? common.firstAnswers.first { counters.proper <= $0.count }?.answer
            ?? common.answers.first { isDue($0.every) }?.answer ?? common.answerAll
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
        guard !retryAfter.isEmpty, let until = retryAfter.removeValue(forKey: subject) else {
            return
        }
        if clock.seconds < until {
            counters.violations["sooner than Retry-After", default: 0] += 1
        }
    }
}
