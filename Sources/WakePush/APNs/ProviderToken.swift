package import WakeModel

/// A JSON Web Token that says who pushes (Apple, "Establishing a token-based connection to APNs"),
/// and when it was made. Whoever holds it pushes as the app for an hour: it prints as nothing.
package struct ProviderToken: Sendable, Equatable {
    /// The three parts of RFC 7515 §3.1, as they stand after `bearer `.
    package let text: SecretBytes
    /// When it was made; `iat` is the wall clock's part.
    package let minted: ClockReading

    /// Makes and signs a token; nil when libcrypto is out of memory.
    init?(mintedBy credentials: APNsCredentials, at now: ClockReading) {
        let text = JSONWebToken.text(Self.signedPart(credentials, issuedAt: now.wall)) {
            credentials.key.sign($0)?.raw
        }
        guard let text else { return nil }
        self.text = text
        minted = now
    }

    /// Takes up a token that was kept; nil unless it is one these credentials would make.
    init?(text: Span<UInt8>, minted: ClockReading, credentials: APNsCredentials) {
        var expected = Self.signedPart(credentials, issuedAt: minted.wall)
        defer { wipe(&expected) }
        let dot = expected.count
        guard text.count > dot + 1, text[dot] == UInt8(ascii: ".") else { return nil }
        for index in expected.indices where text[index] != expected[index] { return nil }
        // A file from before the key was replaced must not keep the old key in use.
        guard let raw = Base64URL.decode(text.extracting((dot + 1)...)),
            let signature = ECDSASignature(raw: raw),
            credentials.key.verifies(signature, of: expected.span)
        else { return nil }
        self.text = SecretBytes(text)
        self.minted = minted
    }

    /// All names in it are letters, digits and full stops: nothing needs an escape.
    private static func signedPart(
        _ credentials: APNsCredentials, issuedAt: Int
    ) -> [UInt8] {
        JSONWebToken.signedPart {
            $0.member("alg", string: "ES256" as StaticString)
            $0.member("kid", string: credentials.keyID)
        } claims: {
            $0.member("iss", string: credentials.teamID)
            $0.member("iat", number: issuedAt)
        }
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(provider token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
