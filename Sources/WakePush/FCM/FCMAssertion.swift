package import WakeModel

/// A signed statement of who we are, to be exchanged for an access token (RFC 7523 §2.1; Google,
/// "Using OAuth 2.0 for server to server applications"). It is worth an access token for an hour:
/// it prints as nothing.
package struct FCMAssertion: Sendable {
    /// What the access token is to be good for, and nothing else.
    package static let scope: StaticString =
        "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds from `iat` to `exp`: the most Google takes.
    package static let lifetime = 3600

    /// The three parts of RFC 7515 §3.1.
    package let text: SecretBytes

    /// - Parameter now: seconds since 1970.
    /// - Returns: nil when libcrypto is out of memory.
    package init?(_ credentials: FCMCredentials, now: Int) {
        var text = Self.signedPart(credentials, now: now)
        defer { wipe(&text) }
        guard let signature = credentials.key.sign(text.span) else { return nil }
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(signature.span)
        self.text = SecretBytes(text)
    }

    /// RFC 7515 §5.1: header and claims, each base64url, with a full stop between.
    private static func signedPart(_ credentials: FCMCredentials, now: Int) -> [UInt8] {
        var header = JSONText()
        header.beginObject()
        header.member("alg", string: "RS256" as StaticString)
        header.member("typ", string: "JWT" as StaticString)
        if let id = credentials.privateKeyID { header.member("kid", string: id) }
        header.endObject()
        var claims = JSONText()
        claims.beginObject()
        claims.member("iss", string: credentials.clientEmail)
        claims.member("scope", string: Self.scope)
        claims.member("aud", string: credentials.audience)
        claims.member("iat", number: now)
        claims.member("exp", number: now + Self.lifetime)
        claims.endObject()
        return Base64URL.encode(header.bytes.span) + [UInt8(ascii: ".")]
            + Base64URL.encode(claims.bytes.span)
    }
}

extension FCMAssertion: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(assertion)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
