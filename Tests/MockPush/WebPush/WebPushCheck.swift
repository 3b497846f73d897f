import WakeSystem

/// Holds requests against RFC 8030, RFC 8292 and what this project promises: one constant request.
/// Signatures of VAPID are verified by PyJWT and py-vapid in `VAPIDTests`.
struct WebPushCheck {
    /// What a request deserves for what it does wrong.
    struct Refusal {
        let status: Int
        let word: String

        init(_ status: Int, _ word: String) {
            self.status = status
            self.word = word
        }
    }

    private let options: WebPushOptions
    /// What the first request had, and no other may change.
    private var topic: String??

    /// Push services take at least so much (RFC 8030 §7.2), and no more here.
    private static let longestBody = 4096
    /// The longest `exp` lies ahead (RFC 8292 §2).
    private static let longestVAPID = 24 * 3600

    init(_ options: WebPushOptions) { self.options = options }

    mutating func refusal(of request: HTTPRequest, now: Int) -> Refusal? {
        if request.method != "POST" { return Refusal(405, "method") }
        if let refusal = length(request) { return refusal }
        if let refusal = fields(request) { return refusal }
        if let refusal = body(request) { return refusal }
        guard let header = request.field("authorization") else {
            return Refusal(401, "vapid-missing")
        }
        return vapidFault(header, request.origin, now).map { Refusal(403, $0) }
    }

    /// `vapid t=…,k=…`, each once (RFC 8292 §3; lists as in RFC 9110 §5.6.1).
    private func vapidFault(_ header: String, _ origin: String, _ now: Int) -> String? {
        guard header.prefix(6).lowercased() == "vapid " else { return "vapid-form" }
        var found: [String: String] = [:]
        for part in header.dropFirst(6).split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.trimmed.split(separator: "=", maxSplits: 1)
            guard pair.count == 2,
                found.updateValue(String(pair[1]), forKey: String(pair[0])) == nil
            else { return "vapid-form" }
        }
        guard found.count == 2, let key = found["k"], let token = found["t"].flatMap({ JWT($0) })
        else { return "vapid-form" }
        guard token.header["alg"]?.string == "ES256", token.signature.count == 64,
            Set(token.claims.keys).isSubset(of: ["aud", "exp", "sub"]),
            let end = token.claims["exp"]?.integer
        else { return "vapid-claims" }
        if token.claims["aud"]?.string != origin { return "vapid-aud" }
        if end <= now || end > now + Self.longestVAPID { return "vapid-exp" }
        if let subject = options.subject, subject != token.claims["sub"]?.string {
            return "vapid-sub"
        }
        return options.publicKey == nil || options.publicKey == key ? nil : "vapid-key"
    }

    private func length(_ request: HTTPRequest) -> Refusal? {
        if request.has("content-length") {
            guard request.field("content-length") == "\(request.bodyCount)" else {
                return Refusal(400, "content-length")
            }
        } else if !request.isHTTP2 {
            // RFC 9110 §8.6: a method that has a use for content tells its length, even 0.
            return Refusal(411, "content-length-missing")
        }
        return request.bodyCount > Self.longestBody ? Refusal(413, "too-large") : nil
    }

    private mutating func fields(_ request: HTTPRequest) -> Refusal? {
        // RFC 8030 §5.2
        guard request.has("ttl") else { return Refusal(400, "ttl-missing") }
        guard let text = request.field("ttl"), let seconds = Int(text), text == "\(seconds)",
            (0...0x7FFF_FFFF).contains(seconds),
            options.lifetime < 0 || options.lifetime == seconds
        else { return Refusal(400, "ttl") }
        // RFC 8030 §5.3
        let urgency = request.field("urgency")
        if request.has("urgency") {
            guard let urgency, ["very-low", "low", "normal", "high"].contains(urgency) else {
                return Refusal(400, "urgency")
            }
        }
        if let expected = options.urgency, expected != urgency { return Refusal(400, "urgency") }
        return topic(request)
    }

    /// RFC 8030 §5.4
    private mutating func topic(_ request: HTTPRequest) -> Refusal? {
        let value = request.field("topic")
        if request.has("topic") {
            guard let value, (1...32).contains(value.utf8.count), value.utf8.allSatisfy(Self.isURL)
            else { return Refusal(400, "topic") }
        }
        if let expected = options.topic, expected != value { return Refusal(400, "topic") }
        if let first = topic, first != value { return Refusal(400, "topic-not-constant") }
        topic = .some(value)
        return nil
    }

    private func body(_ request: HTTPRequest) -> Refusal? {
        switch options.body {
        case .empty: if request.bodyCount > 0 { return Refusal(400, "body") }
        case .byte: if request.bodyCount != 1 { return Refusal(400, "body") }
        case .any: break
        }
        // RFC 8291 §4. A single byte holds nothing to encrypt: it is what UnifiedPush asks for.
        let isEncrypted = request.field("content-encoding") == "aes128gcm"
        if request.bodyCount > 1, !isEncrypted { return Refusal(400, "body-in-the-clear") }
        if request.bodyCount == 0, request.has("content-encoding") {
            return Refusal(400, "content-encoding")
        }
        return nil
    }

    private static func isURL(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
