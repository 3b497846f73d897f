import WakePush

/// What is common to all connections: the check, the report, and whose turn it is to go wrong.
final class Desk {
    let options: Options
    var report = Report()
    var check: RequestCheck

    init(_ options: Options) throws {
        self.options = options
        check = try RequestCheck(options)
    }

    /// What happens to a whole request.
    enum Turn {
        case answer(Answer)
        case reset(code: UInt32)
        case goAway
        case stall
        case garbage
    }

    /// Streams allowed by now.
    var streams: Int {
        options.streamsAt.last { $0.request <= report.requests }?.streams ?? options.streams
    }

    func decide(_ request: OpenRequest) -> Turn {
        report.requests += 1
        if let refusal = check.refusal(of: request) {
            report.refusals["\(refusal.status) \(refusal.reason)", default: 0] += 1
            return .answer(refusal)
        }
        guard let token = request.token else { return .answer(Answer(status: 500)) }
        let number = report.requests
        if options.stallAt == number {
            report.faults["stall", default: 0] += 1
            report.deliver(token)
            return .stall
        }
        if options.garbageAt == number {
            report.faults["garbage", default: 0] += 1
            return .garbage
        }
        if falls(number, options.goAwayEvery) {
            report.faults["goaway", default: 0] += 1
            return .goAway
        }
        if falls(number, options.refuseEvery) {
            report.faults["refused", default: 0] += 1
            return .reset(code: 0x7)
        }
        if falls(number, options.resetEvery) {
            report.faults["reset", default: 0] += 1
            // The worst case: it was delivered, and the client cannot know.
            report.deliver(token)
            return .reset(code: 0x2)
        }
        for injected in options.answers where falls(number, injected.every) {
            report.faults["\(injected.status)", default: 0] += 1
            if injected.status == 200 { report.deliver(token) }
            return .answer(
                Answer(
                    status: injected.status, reason: injected.reason,
                    retryAfter: injected.retryAfter))
        }
        report.deliver(token)
        var answer = Answer.accepted
        if falls(number, options.hugeHeadersEvery) {
            report.faults["huge headers", default: 0] += 1
            answer.isHuge = true
        }
        return .answer(answer)
    }

    private func falls(_ number: Int, _ every: Int) -> Bool {
        every > 0 && number.isMultiple(of: every)
    }

    func violation(_ name: String) { report.violations[name, default: 0] += 1 }

    /// The report as one line.
    func summary() -> String {
        var report = report
        report.providerTokens = check.providerTokens
        report.saw(fields: check.fields)
        return report.line
    }
}
