import WakePush

/// What is common to all connections: the check, the report, and whose turn it is to go wrong.
final class APNsService: Service {
    let options: Options
    var report = Report()
    let check: RequestCheck
    let book = AnswerSchedule()
    /// On all connections.
    private var answersSent = 0
    /// Nothing ever goes wrong: every proper request is accepted.
    private let isFaultless: Bool

    init(_ options: Options) throws {
        self.options = options
        check = try RequestCheck(options)
        isFaultless = !options.hasFaults
    }

    /// What happens to a whole request.
    enum Turn {
        /// A number of the book.
        case answer(Int)
        case reset(code: UInt32)
        case goAway
        case stall
        case garbage
    }

    /// How many answers may leave now.
    var allowance: Int {
        guard let file = options.hold, let bytes = try? readFile(file) else { return .max }
        return max(0, (Int(String(decoding: bytes, as: UTF8.self)) ?? 0) - answersSent)
    }

    func didAnswer(_ count: Int) { answersSent += count }

    /// Streams allowed by now.
    var streams: Int {
        if options.streamsAt.isEmpty { return options.streams }
        return options.streamsAt.last { $0.request <= report.requests }?.streams
            ?? options.streams
    }

    func decide(_ request: OpenRequest) -> Turn {
        report.requests += 1
        let refusal = check.refusal(of: request)
        guard let token = request.token, refusal == nil else {
            return .answer(refuse(refusal ?? .badDeviceToken))
        }
        if isFaultless {
            report.deliver(token)
            return .answer(AnswerSchedule.accepted)
        }
        return connectionFault(token) ?? .answer(injected(token) ?? accept(token))
    }

    private func refuse(_ refusal: Refusal) -> Int {
        let answer = refusal.answer
        report.refusals["\(answer.status) \(answer.reason)", default: 0] += 1
        return book.number(of: answer)
    }

    /// What befalls the stream or the whole connection.
    private func connectionFault(_ token: PushTokenBytes) -> Turn? {
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
        if isDue(options.goAwayEvery) {
            report.faults["goaway", default: 0] += 1
            return .goAway
        }
        if isDue(options.refuseEvery) {
            report.faults["refused", default: 0] += 1
            return .reset(code: 0x7)
        }
        if isDue(options.resetEvery) {
            report.faults["reset", default: 0] += 1
            // The worst case: it was delivered, and the client cannot know.
            report.deliver(token)
            return .reset(code: 0x2)
        }
        return nil
    }

    /// An answer that was asked for by flag: by token, by number, to all, in this order.
    private func injected(_ token: PushTokenBytes) -> Int? {
        let answer =
            options.tokenAnswers.first { token.begins(with: $0.digits) }?.answer
            ?? options.answers.first { isDue($0.every) }?.answer ?? options.answerAll
        guard let answer else { return nil }
        report.faults["\(answer.status)", default: 0] += 1
        if answer.status == 200 { report.deliver(token) }
        return book.number(of: answer)
    }

    private func accept(_ token: PushTokenBytes) -> Int {
        report.deliver(token)
        var answer = Answer.accepted
        if isDue(options.hugeHeadersEvery) {
            report.faults["huge headers", default: 0] += 1
            answer.isHuge = true
        }
        return book.number(of: answer)
    }

    private func isDue(_ every: Int) -> Bool {
        every > 0 && report.requests.isMultiple(of: every)
    }

    func violation(_ name: String) { report.violations[name, default: 0] += 1 }

    var endpoints: [Endpoint] {
        var endpoint = Endpoint(name: "port", port: options.port)
        if let certificate = options.certificate, let key = options.key {
            endpoint.identity = (certificate, key)
        }
        endpoint.selectsHTTP2 = !options.withoutALPN
        return [endpoint]
    }

    var isAtGoal: Bool { options.exitAt > 0 && report.distinct >= options.exitAt }

    func connection(at endpoint: Int) -> ServerConnection { MockConnection(self) }

    func summary() -> String {
        var report = report
        report.providerTokens = check.providerTokens
        report.fields = check.fields
        report.answers = book.given
        return report.line
    }
}
