import WakeModel
import WakePush
import WakeSystem

/// The flags of the mock of APNs; what is nil is not checked.
struct APNsOptions: ServiceOptions {
    var common = CommonOptions()
    var publicKey: String?
    var keyID: String?
    var teamID: String?
    var topic: String?
    var tokenAge = 3600

    static let about = """
        usage: mock-push [FLAG VALUE]…

        A push service that speaks as APNs does, for tests: it checks every request, goes wrong as
        it is told, and on SIGTERM or SIGINT prints one line of JSON: distinct tokens, duplicates,
        answers, refusals, faults, violations and fields. Plain HTTP/2 on 127.0.0.1 unless given a
        certificate. An ANSWER is STATUS[:REASON[:RETRY-AFTER]]. Example:

          mock-push --port 8443 --certificate chain.pem --key key.pem --latency 50

        """

    static var flags: [Flag<APNsOptions>] {
        [
            .text("--public-key", "FILE", "verify provider tokens with this PEM key", \.publicKey),
            .text("--key-id", "TEXT", "kid of provider tokens", \.keyID),
            .text("--team-id", "TEXT", "iss of provider tokens", \.teamID),
            .text("--topic", "TEXT", "apns-topic", \.topic),
            .number("--token-age", "S", "older provider tokens are expired (3600)", \.tokenAge),
            .subject("--answer-token", separator: ":", \.common),
        ]
    }
}

/// APNs: holds requests against what it asks for and this project promises, one constant shape and
/// an empty payload.
final class APNsService: HTTPService {
    /// What a request does wrong, as APNs names it.
    private struct Refusal: Error {
        let status: Int
        let reason: String

        init(_ status: Int, _ reason: String) {
            self.status = status
            self.reason = reason
        }
    }

    private static let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
    private static let prefix = "/3/device/"

    private let options: APNsOptions
    private let key: P256Key?
    /// Provider tokens that verified, with the time that they say of themselves.
    private var issued: [String: Int] = [:]

    init(_ options: APNsOptions) throws {
        self.options = options
        key = try options.publicKey.map { path in
            let pem = try Files.read(path, limit: 4096)
            return try P256Key(.publicKey, pem: pem.span)
        }
        super.init(options.common)
    }

    override func judge(_ request: HTTPRequest) -> Reaction {
        let token: [UInt8]
        do throws(Refusal) {
            token = try pushToken(request)
        } catch {
            return refuse(
                "\(error.status) \(error.reason)", Self.answer(error.status, error.reason))
        }
        counters.proper += 1
        checkRetryAfter(token)
        if let fault = connectionFault(token) { return fault }
        let scripted = scriptedAnswer(for: token)
        if scripted == nil || scripted?.status == 200 { counters.deliver(token) }
        recordRetryAfter(token, seconds: scripted?.retryAfter)
        return .answer(
            Self.answer(scripted?.status ?? 200, scripted?.reason ?? "", scripted?.retryAfter))
    }

    /// As APNs: `{"reason":"…"}`, and with 410 a timestamp in milliseconds.
    private static func answer(
        _ status: Int, _ reason: String, _ retryAfter: Int? = nil
    ) -> HTTPAnswer {
        let time = status == 410 ? ",\"timestamp\":1700000000000" : ""
        var answer = HTTPAnswer(
            status,
            body: reason.isEmpty ? [] : Array("{\"reason\":\"\(reason)\"\(time)}".utf8))
        if let retryAfter { answer.fields.append(("retry-after", "\(retryAfter)")) }
        return answer
    }

    /// The push token of a request that is as it must be.
    private func pushToken(_ request: HTTPRequest) throws(Refusal) -> [UInt8] {
        guard request.method == "POST" else { throw Refusal(405, "MethodNotAllowed") }
        guard request.isHTTP2, request.path.hasPrefix(Self.prefix) else {
            throw Refusal(404, "BadPath")
        }
        let token = Array(request.path.utf8.dropFirst(Self.prefix.utf8.count))
        guard (64...200).contains(token.count), token.count.isMultiple(of: 2),
            token.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { throw Refusal(400, "BadDeviceToken") }
        try checkProvider(request.field("authorization"))
        guard let topic = request.field("apns-topic") else { throw Refusal(400, "MissingTopic") }
        guard options.topic == nil || options.topic == topic else {
            throw Refusal(400, "TopicDisallowed")
        }
        guard request.field("apns-push-type") == "background" else {
            throw Refusal(400, "InvalidPushType")
        }
        // Apple: a background push must have priority 5.
        guard request.field("apns-priority") == "5" else { throw Refusal(400, "BadPriority") }
        // Always set, or devices that are off now never hear of it.
        guard let end = request.field("apns-expiration").flatMap({ Int($0) }), end > clock.seconds
        else { throw Refusal(400, "BadExpirationDate") }
        guard request.bodyCount > 0 else { throw Refusal(400, "PayloadEmpty") }
        // Not one of Apple's reasons: this project promises one constant payload.
        guard request.body == Self.body else { throw Refusal(400, "PayloadNotConstant") }
        return token
    }

    private func checkProvider(_ authorization: String?) throws(Refusal) {
        guard let authorization else { throw Refusal(403, "MissingProviderToken") }
        if issued[authorization] == nil { issued[authorization] = try verify(authorization) }
        // Age goes on while a token is in use.
        let age = clock.seconds - (issued[authorization] ?? 0)
        if key != nil, age >= options.tokenAge || age < -60 {
            throw Refusal(403, "ExpiredProviderToken")
        }
    }

    /// The time at which a provider token was issued.
    private func verify(_ authorization: String) throws(Refusal) -> Int {
        guard let key else { return clock.seconds }
        guard authorization.hasPrefix("bearer "), let token = JWT(authorization.dropFirst(7)),
            let signature = ECDSASignature(raw: token.signature),
            key.verifies(signature, of: token.signed.span),
            Set(token.header.keys) == ["alg", "kid"], token.header["alg"]?.string == "ES256",
            Set(token.claims.keys) == ["iss", "iat"], let time = token.claims["iat"]?.integer,
            options.keyID == nil || options.keyID == token.header["kid"]?.string,
            options.teamID == nil || options.teamID == token.claims["iss"]?.string
        else { throw Refusal(403, "InvalidProviderToken") }
        return time
    }

    override func members() -> [(name: String, json: String)] {
        [("providerTokens", "\(issued.count)")]
    }
}
