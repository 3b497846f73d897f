import WakeSystem

/// FCM v1, with the place where its access tokens are given out.
final class FCMService: HTTPService {
    private let options: FCMOptions
    private var tokens: TokenIssuer
    private var known: KnownMessage?
    /// Proper messages by the field that names whom they are for.
    private var targets: [String: Int] = [:]
    /// What no message may change.
    private var constant: [String]?
    /// The value of `authorization` that was good last.
    private var lastAuthorization = ""

    private static let suffix = "/messages:send"
    private static let prefix = "/v1/projects/"

    init(_ options: FCMOptions) throws {
        self.options = options
        tokens = try TokenIssuer(options)
        super.init(options.common)
    }

    override var endpoints: [Endpoint] {
        guard let port = options.tokenPort else { return super.endpoints }
        return super.endpoints + [Endpoint(name: "token port", port: port)]
    }

    override func judge(_ request: HTTPRequest) -> Reaction {
        if request.path == "/token" { return exchange(request) }
        // The second port is for exchanges alone.
        if request.endpoint > 0 { return refuse("path", FCMError.answer(404, "NOT_FOUND")) }
        if let refusal = headRefusal(request) { return refusal }
        do throws(FCMMessage.Fault) {
            let (field, target) = try target(of: request.body)
            targets[field, default: 0] += 1
            if field != "topic", let only = options.field, only != field {
                return refusesField(field, target)
            }
            return settle(target, request)
        } catch {
            return refuse(error.word, FCMError.violation(of: error.field, error.word))
        }
    }

    // MARK: Messages

    private func headRefusal(_ request: HTTPRequest) -> Reaction? {
        guard request.path.hasPrefix(Self.prefix), request.path.hasSuffix(Self.suffix) else {
            return refuse("path", FCMError.answer(404, "NOT_FOUND"))
        }
        guard request.method == "POST" else {
            return refuse("method", FCMError.answer(404, "NOT_FOUND"))
        }
        let project = request.path.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
        guard !project.isEmpty, options.project == nil || options.project == String(project) else {
            return refuse("project", FCMError.answer(403, "PERMISSION_DENIED"))
        }
        if let word = tokens.refusal(of: request.field("authorization"), now: clock.seconds) {
            return refuse(word, FCMError.answer(401, "UNAUTHENTICATED"))
        }
        let type = request.field("content-type")?.lowercased() ?? ""
        guard type == "application/json" || type.hasPrefix("application/json;") else {
            return refuse("content-type", FCMError.violation(of: "body", "not JSON"))
        }
        guard request.bodyCount == request.body.count else {
            return refuse("too-large", FCMError.answer(413, ""))
        }
        if let length = request.field("content-length"), Int(length) != request.bodyCount {
            return refuse("content-length", FCMError.violation(of: "body", "not as long"))
        }
        return nil
    }

    private func target(
        of body: [UInt8]
    ) throws(FCMMessage.Fault) -> (field: String, target: [UInt8]) {
        if let token = known?.token(of: body) { return ("token", token) }
        let message = try FCMMessage(body, options)
        if let constant, constant != message.constant {
            throw FCMMessage.Fault("not-constant", "message")
        }
        constant = message.constant
        if message.field == "token" { known = KnownMessage(body, token: message.target) }
        return (message.field, message.target)
    }

    /// A proper message whose target stands in the field that names nobody.
    private func refusesField(_ field: String, _ target: [UInt8]) -> Reaction {
        counters.proper += 1
        counters.faults["field", default: 0] += 1
        return .answer(FCMError.answer(400, "BAD_TOKEN", field: field), nil)
    }

    /// What comes of a message that is as it must be.
    private func settle(_ token: [UInt8], _ request: HTTPRequest) -> Reaction {
        counters.proper += 1
        checkRetryAfter(token)
        if isDue(options.revokeEvery) {
            counters.faults["revoked", default: 0] += 1
            tokens.revokeAll()
            return .answer(FCMError.answer(401, "UNAUTHENTICATED"), nil)
        }
        if let fault = connectionFault(token) { return fault }
        if let scripted = scriptedAnswer(for: token), scripted.status != 200 {
            recordRetryAfter(token, seconds: scripted.retryAfter)
            return .answer(
                FCMError.answer(scripted.status, scripted.reason, retryAfter: scripted.retryAfter),
                nil)
        }
        counters.deliver(token)
        let project = request.path.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
        return .answer(
            .json(200, "{\"name\":\"projects/\(project)/messages/0:\(counters.delivered)\"}"), nil)
    }

    private func refuse(_ word: String, _ answer: HTTPAnswer) -> Reaction {
        refuse(word)
        return .answer(answer, nil)
    }

    // MARK: Exchanges

    private func exchange(_ request: HTTPRequest) -> Reaction {
        let outcome = tokens.exchange(request, now: clock.seconds)
        if let word = outcome.refusal { refuse(word) }
        if let fault = outcome.fault { counters.faults[fault, default: 0] += 1 }
        var answer = outcome.answer
        answer.delay += options.tokenLatency
        return .answer(answer, InFlightLease(tokens.inFlight))
    }

    override func members() -> [(name: String, json: String)] {
        [
            ("exchanges", "\(tokens.exchanges)"), ("issued", "\(tokens.issued)"),
            ("mostExchanges", "\(tokens.inFlight.most)"),
            ("assertions", "\(tokens.assertions)"), ("fids", "\(targets["fid"] ?? 0)"),
            ("topics", "\(targets["topic"] ?? 0)"),
        ]
    }
}
