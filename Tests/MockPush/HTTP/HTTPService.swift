/// What is common to all connections of one service that speaks HTTP: the flags, the count of what
/// was seen, and whose turn it is to go wrong. A service says what a request deserves.
class HTTPService: Service {
    let common: CommonOptions
    var tally = Tally()
    private(set) var clock: (microseconds: UInt64, seconds: Int) = (0, 0)
    /// Until when a subject was told to wait, seconds.
    private var restsUntil: [[UInt8]: Int] = [:]

    init(_ common: CommonOptions) { self.common = common }

    var places: [Place] {
        var place = Place(name: "port", port: common.port)
        if let certificate = common.certificate, let key = common.key {
            place.identity = (certificate, key)
        }
        place.selectsHTTP2 = !common.withoutHTTP2
        return [place]
    }

    final var isAtGoal: Bool { common.exitAt > 0 && tally.distinct >= common.exitAt }

    func isSilent(name: String) -> Bool { false }

    final func converse(at place: Int) -> Conversation { HTTPConversation(self, place: place) }

    /// Answers a whole request.
    final func react(
        _ request: HTTPRequest, _ clock: (microseconds: UInt64, seconds: Int)
    ) -> Reaction {
        self.clock = clock
        tally.requests += 1
        for field in request.fields { tally.fields[field.name, default: 0] += 1 }
        return judge(request)
    }

    /// What a request deserves.
    func judge(_ request: HTTPRequest) -> Reaction {
        preconditionFailure("a service judges for itself")
    }

    /// Members of the report that only this service has.
    func members() -> [(name: String, json: String)] { [] }

    final func summary() -> String { tally.line(members()) }

    // MARK: For services

    /// Counts a request that is wrong under a word.
    final func refuse(_ word: String) { tally.refusals[word, default: 0] += 1 }

    /// What befalls a proper request and all that are on its connection.
    final func connectionFault(_ subject: [UInt8]) -> Reaction? {
        let number = tally.proper
        if common.stallAt == number {
            tally.faults["stall", default: 0] += 1
            tally.deliver(subject)
            return .stall(seconds: common.stallSeconds)
        }
        if common.garbageAt == number {
            tally.faults["garbage", default: 0] += 1
            return .garbage
        }
        if falls(common.goAwayEvery) {
            tally.faults["goaway", default: 0] += 1
            return .goAway
        }
        if falls(common.refuseEvery) {
            tally.faults["refused", default: 0] += 1
            return .reset(code: 0x7)
        }
        if falls(common.resetEvery) {
            tally.faults["reset", default: 0] += 1
            // The worst case: it was delivered, and the client cannot know.
            tally.deliver(subject)
            return .reset(code: 0x2)
        }
        return nil
    }

    /// An answer that was asked for by flag: by subject, to the first, by number, to all, in this
    /// order.
    final func told(_ subject: [UInt8]) -> ToldAnswer? {
        let told =
            common.subjectAnswers.first { subject.starts(with: $0.prefix) }?.answer
            ?? common.firstAnswers.first { tally.proper <= $0.count }?.answer
            ?? common.answers.first { falls($0.every) }?.answer ?? common.answerAll
        if let told { tally.faults["\(told.status)", default: 0] += 1 }
        return told
    }

    /// Whether it is the turn of this proper request.
    final func falls(_ every: Int) -> Bool { every > 0 && tally.proper.isMultiple(of: every) }

    /// Somebody was told to wait so many seconds.
    final func rest(_ subject: [UInt8], seconds: Int?) {
        guard let seconds, seconds > 0 else { return }
        restsUntil[subject] = clock.seconds + seconds
    }

    /// Whoever comes back before the time that was told is counted (RFC 9110 §10.2.3).
    final func checkRest(_ subject: [UInt8]) {
        guard !restsUntil.isEmpty, let until = restsUntil.removeValue(forKey: subject) else {
            return
        }
        if clock.seconds < until {
            tally.violations["sooner than Retry-After", default: 0] += 1
        }
    }
}
