package import WakeModel

/// The tokens in use, one for each origin, in memory only: making one costs a signature, and no
/// push service counts them. A value that takes the time.
package struct VAPIDTokens: Sendable {
    private struct Kept {
        let token: VAPIDToken
        /// The value of `Authorization`.
        let value: SecretBytes
        var lastUse: UInt64
    }

    /// Origins remembered at most; beyond that the one that was not used for longest is forgotten.
    package static let limit = 1024
    /// Seconds a token is used: an hour short of its end, for what is still in flight.
    package static let usual = VAPIDToken.lifetime - 60 * 60
    /// Seconds by which the wall clock may have been set since a token was made. `exp` was taken
    /// from that clock: when it was put right, the token is as wrong as the clock was.
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

    /// The value of `Authorization` for a push service.
    /// - Parameter origin: as ``VAPIDToken/origin(host:)`` makes it.
    /// - Returns: nil when libcrypto is out of memory.
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
        // An age that is not known is no age to use a token at.
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
