import WakeSystem

/// The flags of the mock of FCM; what is nil is not checked.
struct FCMOptions: ServiceOptions {
    var common = CommonOptions()
    /// A port of its own for the exchange, without TLS.
    var tokenPort: Int = -1
    var keyID: String?
    var email: String?
    var project: String?
    var lifetime: Int = -1
    var dataKey: String?
    var collapseKey: String?
    /// At every so many messages, what was issued so far ceases to be good.
    var revokeEvery = 0

    static let about = """
        usage: mock-push --service fcm [FLAG VALUE]…

        FCM v1 and the place where access tokens are given out: POST /v1/projects/P/messages:send
        and POST /token, by HTTP/2 or HTTP/1.1, with TLS or without. Reasons of an ANSWER are those
        of FcmError (UNREGISTERED, INVALID_ARGUMENT, SENDER_ID_MISMATCH, QUOTA_EXCEEDED,
        UNAVAILABLE, INTERNAL, THIRD_PARTY_AUTH_ERROR), BAD_REQUEST for a BadRequest about another
        field than the push token, BAD_TOKEN for both details, or UNAUTHENTICATED and the like.

        """

    static var flags: [Flag<FCMOptions>] {
        [
            .number(
                "--token-port", "N", "POST /token there; the second line says where", \.tokenPort),
            .text("--key-id", "TEXT", "kid of assertions", \.keyID),
            .text("--email", "TEXT", "iss of assertions", \.email),
            .text("--project", "TEXT", "in the path of messages", \.project),
            .number("--lifetime", "S", "android.ttl, exactly", \.lifetime),
            .text("--data-key", "TEXT", "the one key in data", \.dataKey),
            .text("--collapse-key", "TEXT", "android.collapse_key", \.collapseKey),
            .number(
                "--revoke-every", "N", "at every Nth message, tokens so far become invalid",
                \.revokeEvery),
        ]
    }
}

/// FCM v1, with the place where its access tokens are given out.
final class FCMService: HTTPService {
    private let options: FCMOptions
    private var tokens: TokenIssuer
    /// Proper messages by the field that names whom they are for.
    private var targets: [String: Int] = [:]
    /// What no message may change.
    private var constant: [String]?

    private static let suffix = "/messages:send"
    private static let prefix = "/v1/projects/"

    init(_ options: FCMOptions) {
        self.options = options
        tokens = TokenIssuer(options)
        super.init(options.common)
    }

    override var endpoints: [Endpoint] {
        guard let port = UInt16(exactly: options.tokenPort) else { return super.endpoints }
        return super.endpoints + [Endpoint(name: "token port", port: port)]
    }

    override func judge(_ request: HTTPRequest) -> Reaction {
        if request.path == "/token" {
            let outcome = tokens.exchange(request, now: clock.seconds)
            guard let word = outcome.refusal else { return .answer(outcome.answer) }
            return refuse(word, outcome.answer)
        }
        if let refusal = headRefusal(request) { return refusal }
        do throws(FCMMessage.Fault) {
            let message = try FCMMessage(request.body, options)
            if let constant, constant != message.constant {
                throw FCMMessage.Fault("not-constant", "message")
            }
            constant = message.constant
            targets[message.field, default: 0] += 1
            return settle(Array(message.target.utf8), request)
        } catch {
            return refuse(error.word, FCMError.violation(of: error.field, error.word))
        }
    }

    private func headRefusal(_ request: HTTPRequest) -> Reaction? {
        // The second port is for exchanges alone.
        guard request.endpoint == 0, request.method == "POST",
            request.path.hasPrefix(Self.prefix), request.path.hasSuffix(Self.suffix)
        else { return refuse("path", FCMError.answer(404, "NOT_FOUND")) }
        let project = request.path.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)
        guard !project.isEmpty, options.project == nil || options.project == String(project) else {
            return refuse("project", FCMError.answer(403, "PERMISSION_DENIED"))
        }
        if let word = tokens.refusal(of: request.field("authorization"), now: clock.seconds) {
            return refuse(word, FCMError.answer(401, "UNAUTHENTICATED"))
        }
        guard request.field("content-type")?.hasPrefix("application/json") == true else {
            return refuse("content-type", FCMError.violation(of: "body", "not JSON"))
        }
        return nil
    }

    /// What comes of a message that is as it must be.
    private func settle(_ token: [UInt8], _ request: HTTPRequest) -> Reaction {
        counters.proper += 1
        checkRetryAfter(token)
        if isDue(options.revokeEvery) {
            counters.faults["revoked", default: 0] += 1
            tokens.revokeAll()
            return .answer(FCMError.answer(401, "UNAUTHENTICATED"))
        }
        if let fault = connectionFault(token) { return fault }
        if let scripted = scriptedAnswer(for: token), scripted.status != 200 {
            recordRetryAfter(token, seconds: scripted.retryAfter)
            return .answer(
                FCMError.answer(scripted.status, scripted.reason, retryAfter: scripted.retryAfter))
        }
        counters.deliver(token)
        return .answer(.json(200, "{\"name\":\"projects/p/messages/0:\(counters.delivered)\"}"))
    }

    override func members() -> [(name: String, json: String)] {
        [
            ("exchanges", "\(tokens.exchanges)"), ("issued", "\(tokens.issued)"),
            ("assertions", "\(tokens.assertions)"), ("fids", "\(targets["fid"] ?? 0)"),
            ("topics", "\(targets["topic"] ?? 0)"),
        ]
    }
}
