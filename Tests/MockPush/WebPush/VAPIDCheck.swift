import WakeModel
import WakePush
import WakeSystem

/// Verifies what an application server says of itself (RFC 8292), each distinct header once.
final class VAPIDCheck {
    /// A header whose signature is good.
    struct Verified {
        let audience: String
        let end: Int
        let subject: String?
        let key: String
    }

    private let options: WebPushOptions
    private var known: [String: Verified] = [:]
    private static let mostKnown = 100_000
    /// The longest `exp` lies ahead (RFC 8292 §2).
    private static let longest = 24 * 3600

    init(_ options: WebPushOptions) { self.options = options }

    /// A word for what is wrong with a header; nil when it is good for this origin.
    func refusal(of header: String, origin: String, now: Int) -> String? {
        let verified: Verified
        if let seen = known[header] {
            verified = seen
        } else {
            switch Self.verify(header) {
            case .success(let new):
                if known.count < Self.mostKnown { known[header] = new }
                verified = new
            case .failure(let fault): return fault.word
            }
        }
        if verified.audience != origin { return "vapid-aud" }
        if verified.end <= now { return "vapid-expired" }
        if verified.end > now + Self.longest { return "vapid-exp-too-far" }
        if let expected = options.subject, expected != verified.subject { return "vapid-sub" }
        if let key = options.publicKey, key != verified.key { return "vapid-key" }
        return nil
    }

    private struct Fault: Error {
        let word: String

        init(_ word: String) { self.word = word }
    }

    private static func verify(_ header: String) -> Result<Verified, Fault> {
        guard let (token, key) = parameters(header) else { return .failure(Fault("vapid-form")) }
        let text = Array(key.utf8)
        guard let point = Base64URL.decode(text.span), point.count == 65, point[0] == 4,
            let publicKey = publicKey(point)
        else { return .failure(Fault("vapid-point")) }
        guard let token = JWT(token) else { return .failure(Fault("vapid-token")) }
        guard token.header["alg"]?.string == "ES256",
            token.header["typ"] == nil || token.header["typ"]?.string == "JWT",
            Set(token.header.keys).isSubset(of: ["alg", "typ"])
        else { return .failure(Fault("vapid-header")) }
        guard let signature = ECDSASignature(raw: token.signature),
            publicKey.verifies(signature, of: token.signed.span)
        else { return .failure(Fault("vapid-signature")) }
        guard Set(token.claims.keys).isSubset(of: ["aud", "exp", "sub"]),
            let audience = token.claims["aud"]?.string, let end = token.claims["exp"]?.integer
        else { return .failure(Fault("vapid-claims")) }
        let subject = token.claims["sub"]?.string
        if token.claims["sub"] != nil {
            // RFC 8292 §2.1
            guard let subject, subject.hasPrefix("mailto:") || subject.hasPrefix("https:") else {
                return .failure(Fault("vapid-sub"))
            }
        }
        return .success(Verified(audience: audience, end: end, subject: subject, key: key))
    }

    /// `vapid t=…,k=…`, each once (RFC 8292 §3; lists as in RFC 9110 §5.6.1).
    private static func parameters(_ header: String) -> (token: String, key: String)? {
        guard header.prefix(6).lowercased() == "vapid " else { return nil }
        var found: [String: String] = [:]
        for part in header.dropFirst(6).split(separator: ",", omittingEmptySubsequences: false) {
            let text = HTTP1Head.trimmed(part)
            guard let equals = text.firstIndex(of: "=") else { return nil }
            let name = text[..<equals].lowercased()
            let value = String(text[text.index(after: equals)...])
            guard !value.isEmpty, found.updateValue(value, forKey: name) == nil else { return nil }
        }
        guard found.count == 2, let token = found["t"], let key = found["k"] else { return nil }
        return (token, key)
    }

    /// An uncompressed point as libcrypto reads it: a SubjectPublicKeyInfo for id-ecPublicKey on
    /// prime256v1 (RFC 5480 §2), in PEM.
    private static func publicKey(_ point: [UInt8]) -> P256Key? {
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
            0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let text = Base64.encode(head + point)
        var lines = "-----BEGIN PUBLIC KEY-----\n"
        for (index, character) in text.enumerated() {
            lines.append(character)
            if index % 64 == 63 { lines.append("\n") }
        }
        lines += "\n-----END PUBLIC KEY-----\n"
        let pem = Array(lines.utf8)
        return try? P256Key(.publicKey, pem: pem.span)
    }
}
