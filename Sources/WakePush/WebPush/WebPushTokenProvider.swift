package import WakeModel
package import WakeSystem

/// A signed statement of the sender's identity to one push service, for hours (RFC 8292 §2).
package struct VAPIDToken: Sendable, Equatable, Redacted {
    /// Seconds until `exp`: half of what RFC 8292 §2 allows, for clocks that differ.
    package static let lifetime = 12 * 60 * 60

    /// The three parts of RFC 7515 §3.1.
    package let text: SecretBytes
    package let minted: ClockReading

    /// Nil when libcrypto refuses. `subject`: a contact (RFC 8292 §2.1).
    package init?(_ key: VAPIDKey, origin: [UInt8], subject: String?, now: ClockReading) {
        let text = JSONWebToken.text(
            Self.signedPart(origin, subject, expires: now.wall + Self.lifetime)
        ) { key.key.sign($0)?.raw }
        guard let text else { return nil }
        self.text = text
        minted = now
    }

    /// RFC 6454 §6.2: scheme and host (in lower case); the port is always the default one.
    package static func origin(host: [UInt8]) -> [UInt8] { Array("https://".utf8) + host }

    /// The value of `Authorization` (RFC 8292 §3), without the optional space after the comma (RFC
    /// 9110 §5.6.1), which some servers do not understand.
    package func authorization(_ key: VAPIDKey) -> [UInt8] {
        text.withSpan { Array("vapid t=".utf8) + $0.array } + Array(",k=\(key.publicText)".utf8)
    }

    private static func signedPart(_ origin: [UInt8], _ subject: String?, expires: Int) -> [UInt8] {
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

/// The tokens in use, one for each origin, in memory only. A value that takes the time.
package struct VAPIDTokenProvider: Sendable {
    private struct Kept {
        let token: VAPIDToken
        let value: SecretBytes
        var lastUse: UInt64
    }

    /// Origins remembered at most; the least recently used one is forgotten.
    package static let limit = 1024
    /// Seconds a token is used: an hour short of its end, for what is still in flight.
    package static let usual = VAPIDToken.lifetime - 60 * 60
    /// Seconds by which the wall clock, the source of `exp`, may have been set since.
    package static let drift = 5 * 60

    private let key: VAPIDKey
    private let subject: String?
    private var kept: [[UInt8]: Kept] = [:]
    private var uses: UInt64 = 0

    package init(_ key: VAPIDKey, subject: String?) {
        self.key = key
        self.subject = subject
    }

    package var count: Int { kept.count }

    /// The value of `Authorization` for an origin; nil when libcrypto refuses.
    package mutating func authorization(_ origin: [UInt8], at now: ClockReading) -> SecretBytes? {
        uses += 1
        if let entry = kept[origin], Self.isGood(entry.token, at: now) {
            kept[origin]?.lastUse = uses
            return entry.value
        }
        guard let token = VAPIDToken(key, origin: origin, subject: subject, now: now) else {
            return nil
        }
        if kept[origin] == nil, kept.count >= Self.limit { forgetOne() }
        let value = SecretBytes(token.authorization(key))
        kept[origin] = Kept(token: token, value: value, lastUse: uses)
        return value
    }

    private static func isGood(_ token: VAPIDToken, at now: ClockReading) -> Bool {
        // A token of unknown age is not used.
        guard let age = now.seconds(since: token.minted), (0..<usual).contains(age) else {
            return false
        }
        return abs(now.wall - token.minted.wall - age) <= drift
    }

    private mutating func forgetOne() {
        guard let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        kept[oldest.key] = nil
    }
}
