import WakeSystem

/// Holds the request for an access token against what Google documents.
struct AssertionCheck {
    struct Fault: Error {
        let word: String
        var status = 400
        let error: String
        let what: String

        init(_ word: String, _ error: String, _ what: String) {
            self.word = word
            self.error = error
            self.what = what
        }
    }

    private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds by which clocks may differ.
    private static let skew = 60

    private let options: FCMOptions
    private let key: RSAPublicKey?

    init(_ options: FCMOptions) throws {
        self.options = options
        key = try options.publicKey.map { try RSAPublicKey(pem: try readFile($0)) }
    }

    /// The assertion of a request that is as it must be.
    func assertion(in request: HTTPRequest, now: Int) throws(Fault) -> String {
        guard request.method == "POST" else {
            throw Fault("token-method", "invalid_request", "Only POST is allowed")
        }
        guard request.field("content-type") == "application/x-www-form-urlencoded" else {
            throw Fault("token-content-type", "invalid_request", "Not a form")
        }
        guard let form = Self.form(request.body), form.count == 2 else {
            throw Fault("token-form", "invalid_request", "Bad Request")
        }
        guard form["grant_type"] == Self.grant else {
            throw Fault("grant-type", "unsupported_grant_type", "Invalid grant_type")
        }
        guard let text = form["assertion"], let token = JWT(text) else {
            throw Fault("assertion", "invalid_grant", "Invalid JWT")
        }
        try checkHeader(token)
        try checkClaims(token, request, now)
        return text
    }

    private func checkHeader(_ token: JWT) throws(Fault) {
        guard token.header["alg"]?.string == "RS256", token.header["typ"]?.string == "JWT",
            Set(token.header.keys).isSubset(of: ["alg", "typ", "kid"])
        else { throw Fault("assertion-header", "invalid_grant", "Invalid JWT header") }
        guard options.keyID == nil || options.keyID == token.header["kid"]?.string else {
            throw Fault("assertion-key-id", "invalid_grant", "Invalid JWT: key not found")
        }
        if let key, !key.verifies(token.signature, of: token.signed) {
            throw Fault("assertion-signature", "invalid_grant", "Invalid JWT Signature.")
        }
    }

    private func checkClaims(
        _ token: JWT, _ request: HTTPRequest, _ now: Int
    ) throws(Fault) {
        let claims = token.claims
        guard Set(claims.keys) == ["iss", "scope", "aud", "iat", "exp"] else {
            throw Fault("assertion-claims", "invalid_grant", "Invalid JWT: claims")
        }
        guard let email = claims["iss"]?.string, email.contains("@"),
            options.email == nil || options.email == email
        else { throw Fault("assertion-iss", "invalid_grant", "account not found") }
        guard claims["scope"]?.string == Self.scope else {
            throw Fault("assertion-scope", "invalid_scope", "Invalid OAuth scope")
        }
        guard claims["aud"]?.string == options.audience ?? request.origin + request.path else {
            throw Fault("assertion-aud", "invalid_grant", "Invalid JWT: audience")
        }
        // A short-lived token (60 minutes) and in a reasonable timeframe.
        guard let issued = claims["iat"]?.integer, let end = claims["exp"]?.integer,
            issued <= now + Self.skew, end > now - Self.skew, end > issued, end - issued <= 3600
        else { throw Fault("assertion-time", "invalid_grant", "Check your iat and exp values") }
    }

    /// application/x-www-form-urlencoded, names once each; nil for what is none.
    static func form(_ body: [UInt8]) -> [String: String]? {
        var members: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = decode(parts[0]), let value = decode(parts[1]),
                members.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return members
    }

    private static func decode(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst(), let low = rest.popFirst(),
                    let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
