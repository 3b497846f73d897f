package import WakeModel

/// Says to one push service who wakes (RFC 8292 §2): a signed statement that is good for that
/// service alone and for some hours. Whoever holds it may wake there: it prints as nothing.
package struct VAPIDToken: Sendable, Equatable {
    /// Seconds until `exp`: half of what RFC 8292 §2 allows, for clocks that differ.
    package static let lifetime = 12 * 60 * 60

    /// The three parts of RFC 7515 §3.1.
    package let text: SecretBytes
    /// When it was made.
    package let minted: ClockReading

    /// - Parameters:
    ///   - origin: of the push service, as ``origin(host:)`` makes it.
    ///   - subject: whom the push service may write to, `mailto:` or `https:` (RFC 8292 §2.1).
    /// - Returns: nil when libcrypto is out of memory.
    package init?(_ key: VAPIDKey, origin: [UInt8], subject: String?, now: ClockReading) {
        let text = JSONWebToken.text(
            Self.signedPart(origin, subject, expires: now.wall + Self.lifetime)
        ) { key.key.sign($0)?.raw }
        guard let text else { return nil }
        self.text = text
        minted = now
    }

    /// RFC 6454 §6.2: scheme and host; the port is always the default one and left out.
    /// - Parameter host: in lower case.
    package static func origin(host: [UInt8]) -> [UInt8] { Array("https://".utf8) + host }

    /// The value of `Authorization` (RFC 8292 §3): the token, and the key that signed it. No space
    /// after the comma, which may be there or not (RFC 9110 §5.6.1): some readers trip over it.
    package func authorization(_ key: VAPIDKey) -> [UInt8] {
        text.withSpan { Array("vapid t=".utf8) + $0.array } + Array(",k=\(key.publicText)".utf8)
    }

    private static func signedPart(
        _ origin: [UInt8], _ subject: String?, expires: Int
    ) -> [UInt8] {
        JSONWebToken.signedPart {
            $0.member("typ", string: "JWT" as StaticString)
            $0.member("alg", string: "ES256" as StaticString)
        } claims: {
            $0.member("aud", string: origin.span)
            $0.member("exp", number: expires)
            if let subject { $0.member("sub", string: subject) }
        }
    }
}

extension VAPIDToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(vapid token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
