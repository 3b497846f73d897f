import Synchronization
import WakeHTTP
import WakeModel
import WakeSystem

/// The rule of the admin listener: programs of the operator may ask, web pages may not.
final class AdminAccess: Sendable {
    /// nil: the mode of the Unix socket alone decides.
    private let token: Mutex<AdminToken?>

    init(_ token: AdminToken?) { self.token = Mutex(token) }

    /// - Returns: whether it is another token than before.
    func change(to new: AdminToken?) -> Bool {
        token.withLock { token in
            defer { token = new }
            guard let former = token, let new else { return (token == nil) != (new == nil) }
            return !former.isSame(as: new)
        }
    }

    /// The reason to refuse a request; nil when it is served.
    func problem(with request: Request) -> Problem? {
        if Self.isOfBrowser(request) { return .browserRefused }
        if let token = token.withLock({ $0 }) {
            guard let given = request.bearerToken, token.isEqual(to: given.span)
            else { return .adminTokenWrong }
        }
        // A page may send a body without a type, or as text, to any listener unasked.
        let isTyped = request.body.isEmpty || request.onlyValue(of: "content-type") != nil
        return isTyped && request.hasJSONBody ? nil : .contentTypeUnsupported
    }

    /// A browser names the page's origin (Fetch Standard, "Origin header") and, where a name of
    /// another site leads here (DNS rebinding), that name.
    static func isOfBrowser(_ request: Request) -> Bool {
        !request.values(of: "origin").isEmpty || !isOwnHost(of: request)
    }

    /// `localhost` or a literal of the loopback net, with any port: forwarded ones differ.
    private static func isOwnHost(of request: Request) -> Bool {
        guard let value = request.onlyValue(of: "host") else { return false }
        let text = String(decoding: value, as: UTF8.self).lowercased()
        if text.hasPrefix("[") { return text == "[::1]" || text.hasPrefix("[::1]:") }
        return Configuration.Address.isLoopback(String(text.prefix { $0 != ":" }))
    }
}

/// The token of an admin listener on TCP, which every user of the machine can reach: 32 random
/// bytes as base64url in a private file.
package struct AdminToken: Sendable, Redacted {
    /// 43 characters.
    private let text: KeyMemory

    private static let source = "make one with reveille keygen --kind admin"

    package init(file path: String) throws(SetupError) {
        var text = try mapError(
            { (error: SecretFileError) in
                SetupError("[admin] token: " + error.message(source: Self.source))
            }, try Files.readSecret(path, limit: 64))
        defer { text.wipe() }
        if text.last == 0x0A { text.removeLast() }
        guard var bytes = Base64URL.decode(text.span), bytes.count == 32 else {
            throw SetupError("[admin] token: the file holds no token\nhint: " + Self.source)
        }
        bytes.wipe()
        self.text = KeyMemory(text.span)
    }

    func isEqual(to other: Span<UInt8>) -> Bool { text.isEqual(to: other) }

    fileprivate func isSame(as other: AdminToken) -> Bool {
        other.text.withSpan { text.isEqual(to: $0) }
    }

    /// The value of the `Authorization` field that it needs; to be wiped.
    package var authorization: [UInt8] {
        text.withSpan { text in
            var value = Array("Bearer ".utf8)
            value.append(span: text)
            return value
        }
    }
}

extension Configuration {
    /// nil where the mode of the Unix socket alone decides.
    func readAdminToken() throws(SetupError) -> AdminToken? {
        guard let adminToken else { return nil }
        return try AdminToken(file: adminToken)
    }
}
