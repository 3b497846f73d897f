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
        let text = JSONWebToken.text(Self.signedPart(credentials, now: now)) {
            credentials.key.sign($0)
        }
        guard let text else { return nil }
        self.text = text
    }

    private static func signedPart(_ credentials: FCMCredentials, now: Int) -> [UInt8] {
        JSONWebToken.signedPart {
            $0.member("alg", string: "RS256" as StaticString)
            $0.member("typ", string: "JWT" as StaticString)
            if let id = credentials.privateKeyID { $0.member("kid", string: id) }
        } claims: {
            $0.member("iss", string: credentials.clientEmail)
            $0.member("scope", string: Self.scope)
            $0.member("aud", string: credentials.audience)
            $0.member("iat", number: now)
            $0.member("exp", number: now + Self.lifetime)
        }
    }
}

extension FCMAssertion: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(assertion)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
