/// When a provider token is used, replaced, or waited for: a value that takes the time.
///
/// Apple: no more than one new token in 20 minutes (429 TooManyProviderTokenUpdates), none older
/// than an hour (403 ExpiredProviderToken).
package struct ProviderTokenPolicy: Sendable {
    package enum Decision: Sendable, Equatable {
        case use(ProviderToken)
        case mint
        /// Nothing may be sent for so many seconds; then ask again.
        case wait(seconds: Int)
    }

    /// Seconds between two tokens at least.
    package static let shortest = 20 * 60
    /// Seconds after which no token is used.
    package static let longest = 60 * 60
    /// Seconds a token is used: ten minutes short of the end, for what is still in flight and for
    /// clocks that differ.
    package static let usual = 50 * 60

    private let reuse: Int
    /// The token made last, usable or not: it is what the next one is counted from.
    private var last: ProviderToken?
    /// The push service has called `last` expired.
    private var isRefused = false
    /// `last` was made because the one before was called expired.
    private var isReplacement = false
    /// The push service asked for a pause: from when, in uptime.
    private var pausedAt: Int?

    /// - Parameters:
    ///   - reuse: seconds a token is used, 20 to 59 minutes.
    ///   - kept: the token of an earlier run, if there is one.
    package init(reuse: Int = Self.usual, kept: ProviderToken? = nil) {
        precondition((Self.shortest..<Self.longest).contains(reuse))
        self.reuse = reuse
        last = kept
    }

    package mutating func decide(_ now: ClockReading) -> Decision {
        if let pausedAt {
            let left = Self.shortest - (now.uptime - pausedAt)
            if left > 0 { return .wait(seconds: left) }
            self.pausedAt = nil
        }
        guard let last else { return .mint }
        // An age that is not known is no age to use a token at.
        if !isRefused, let age = now.seconds(since: last.minted), age < reuse {
            return .use(last)
        }
        let known = now.atLeast(since: last.minted)
        return known >= Self.shortest ? .mint : .wait(seconds: Self.shortest - known)
    }

    /// A token was made and kept, as decided.
    package mutating func minted(_ token: ProviderToken) {
        isReplacement = isRefused
        isRefused = false
        last = token
    }

    /// 403 ExpiredProviderToken for a wake-up that was sent with `token`.
    /// - Throws: when the token is too young for that, or was itself the answer to such a refusal:
    ///   then the clock is wrong, and one more would not help.
    package mutating func expired(
        _ token: ProviderToken, at now: ClockReading
    ) throws(GatewayFailure) {
        // Answers to the token before the last are late, and settled already.
        guard token == last, !isRefused else { return }
        let age = now.seconds(since: token.minted) ?? Self.longest
        if isReplacement || age < Self.shortest { throw .misconfigured(.apns(.clockWrong)) }
        isRefused = true
    }

    /// A wake-up that was sent with `token` was accepted: the clock is right.
    package mutating func worked(_ token: ProviderToken) {
        if token == last { isReplacement = false }
    }

    /// 429 TooManyProviderTokenUpdates.
    package mutating func tooManyUpdates(_ now: ClockReading) {
        if pausedAt == nil { pausedAt = now.uptime }
    }
}
