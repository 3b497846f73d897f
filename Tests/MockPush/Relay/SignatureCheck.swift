import WakeModel
import WakeSodium
import WakeSystem

/// Verifies who a request is from (RFC 9421), from the text of its fields: written apart from what
/// the project itself has for it.
struct SignatureCheck {
    /// What is wrong, by the codes of the answer.
    enum Fault: String, Error {
        case missing = "signature_missing"
        case malformed = "signature_malformed"
        case wrong = "signature_wrong"
        case stale = "signature_stale"
        case replayed = "signature_replayed"
        case unknown = "installation_unknown"

        var status: Int { self == .unknown ? 403 : 401 }
    }

    private static let label = "wakes="
    private static let components =
        #"("@method" "@authority" "@path" "content-type" "content-digest")"#
    /// Seconds a signature may be old, and ahead.
    private static let window = -60...5

    private let authority: String?
    private let installations: Set<String>
    private var nonces: Set<String> = []

    init(authority: String?, installations: Set<String>) {
        self.authority = authority
        self.installations = installations
    }

    /// - Returns: the public key of the installation.
    mutating func installation(
        of request: HTTPRequest, now: Int
    ) throws(Fault) -> String {
        guard request.has("signature-input"), request.has("signature") else { throw .missing }
        guard let input = request.field("signature-input"),
            let signature = request.field("signature").flatMap(Self.signature),
            request.field("content-type") == "application/json",
            let digest = request.field("content-digest"), let hash = Self.digest(digest),
            input.hasPrefix(Self.label + Self.components)
        else { throw .malformed }
        let text = String(input.dropFirst(Self.label.count))
        let parameters = try Self.parameters(text.dropFirst(Self.components.count))
        guard let id = parameters["keyid"],
            let created = parameters["created"].flatMap({ Int($0) }),
            let nonce = parameters["nonce"]
        else { throw .malformed }
        // Never allowed and revoked look the same, and nobody learns which keys are known.
        guard installations.isEmpty || installations.contains(id) else { throw .unknown }
        guard authority == nil || authority == request.authority,
            let key = VerifyingKey(text: id), hash == SHA256.hash(request.body)
        else { throw .wrong }
        let base = Self.base(request, digest, text)
        guard key.verifies(signature.span, of: base.span) else { throw .wrong }
        guard Self.window.contains(created - now) else { throw .stale }
        guard nonces.insert(nonce).inserted else { throw .replayed }
        return id
    }

    /// RFC 9421 §2.5
    private static func base(
        _ request: HTTPRequest, _ digest: String, _ parameters: String
    ) -> [UInt8] {
        let lines = [
            "\"@method\": \(request.method)", "\"@authority\": \(request.authority.lowercased())",
            "\"@path\": \(request.path)", "\"content-type\": application/json",
            "\"content-digest\": \(digest)", "\"@signature-params\": \(parameters)",
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// `;name=value` each once, all five, in any order and without a space.
    private static func parameters(_ text: Substring) throws(Fault) -> [String: String] {
        var found: [String: String] = [:]
        for part in text.split(separator: ";", omittingEmptySubsequences: false).dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { throw .malformed }
            let name = String(part[..<equals])
            var value = part[part.index(after: equals)...]
            if name == "created" {
                guard value.allSatisfy({ $0.isASCII && $0.isNumber }), value.count <= 15 else {
                    throw .malformed
                }
            } else {
                guard value.count >= 2, value.removeFirst() == "\"", value.popLast() == "\"" else {
                    throw .malformed
                }
            }
            guard found.updateValue(String(value), forKey: name) == nil else { throw .malformed }
        }
        guard text.first == ";", found.count == 5, found["alg"] == "ed25519",
            found["tag"] == "reveille-relay", bytes(found["nonce"], count: 16),
            bytes(found["keyid"], count: 32), found["created"] != nil
        else { throw .malformed }
        return found
    }

    private static func bytes(_ text: String?, count: Int) -> Bool {
        guard let text else { return false }
        let characters = Array(text.utf8)
        return Base64URL.decode(characters.span)?.count == count
    }

    /// `wakes=:…:`, of 64 bytes.
    private static func signature(_ field: String) -> [UInt8]? {
        guard field.hasPrefix(label) else { return nil }
        return byteSequence(field.dropFirst(label.count), count: 64)
    }

    /// `sha-256=:…:` (RFC 9530 §2).
    private static func digest(_ field: String) -> [UInt8]? {
        guard field.hasPrefix("sha-256=") else { return nil }
        return byteSequence(field.dropFirst(8), count: 32)
    }

    /// RFC 8941 §3.3.5
    private static func byteSequence(_ text: Substring, count: Int) -> [UInt8]? {
        guard text.count >= 2, text.first == ":", text.last == ":",
            let bytes = Base64.decode(String(text.dropFirst().dropLast())), bytes.count == count
        else { return nil }
        return bytes
    }
}
