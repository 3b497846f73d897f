package import WakeModel
package import WakeSystem

/// A signed statement of the sender's identity to one push service, for hours (RFC 8292 §2).
extension ProviderToken {
    /// Seconds until `exp`: half of what RFC 8292 §2 allows, for clocks that differ.
    package static let lifetimeOfVAPID = 12 * 60 * 60

    /// The value of `Authorization` (RFC 8292 §3), without the optional space after the comma (RFC
    /// 9110 §5.6.1), which some servers do not understand. It is used until an hour short of its
    /// end, for what is still in flight.
    /// - Parameter subject: a contact (RFC 8292 §2.1).
    /// - Returns: nil when libcrypto refuses.
    package static func vapid(
        _ key: VAPIDKey, origin: [UInt8], subject: String?, now: ClockReading
    ) -> ProviderToken? {
        let signed = JSONWebToken.signedPart {
            $0.member("typ", string: "JWT" as StaticString)
            $0.member("alg", string: "ES256" as StaticString)
        } claims: {
            $0.member("aud", string: origin.span)
            $0.member("exp", number: now.wall + lifetimeOfVAPID)
            if let subject { $0.member("sub", string: subject) }
        }
        guard let token = JSONWebToken.text(signed, sign: { key.key.sign($0)?.raw }) else {
            return nil
        }
        let value = token.withSpan { Array("vapid t=".utf8) + $0.array }
        let used = lifetimeOfVAPID - 60 * 60
        return ProviderToken(
            text: SecretBytes(value + Array(",k=\(key.publicText)".utf8)), issued: now,
            refresh: used, end: used)
    }
}

/// The tokens in use, one for each origin, in memory only. A value that takes the time.
package struct VAPIDTokenProvider: Sendable {
    /// Origins remembered at most; the least recently used one is forgotten.
    package static let limit = 1024

    private let key: VAPIDKey
    private let subject: String?
    private var kept: [[UInt8]: (token: ProviderToken, lastUse: UInt64)] = [:]
    private var uses: UInt64 = 0

    package init(_ key: VAPIDKey, subject: String?) {
        self.key = key
        self.subject = subject
    }

    package var count: Int { kept.count }

    /// RFC 6454 §6.2: scheme and host (in lower case); the port is always the default one.
    package static func origin(host: [UInt8]) -> [UInt8] { Array("https://".utf8) + host }

    /// The value of `Authorization` for an origin; nil when libcrypto refuses.
    package mutating func authorization(_ origin: [UInt8], at now: ClockReading) -> SecretBytes? {
        uses += 1
        if let entry = kept[origin], entry.token.isUsable(at: now) {
            kept[origin]?.lastUse = uses
            return entry.token.text
        }
        let token = ProviderToken.vapid(key, origin: origin, subject: subject, now: now)
        guard let token else { return nil }
        if kept[origin] == nil, kept.count >= Self.limit { forgetOne() }
        kept[origin] = (token, uses)
        return token.text
    }

    private mutating func forgetOne() {
        guard let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        kept[oldest.key] = nil
    }
}
