/// A token bucket with a ramp, as a value: never more than the quota in a minute, spread evenly;
/// after a silence the rate grows over a minute, for peers that refuse spikes.
///
/// ```
///   tokens a second
///        rate ┤          ┌─────────
///             │       ╱
///             │   ╱
///             └──────────┬───────── time since the first after a silence
///                     a minute
/// ```
package struct RampedTokenBucket: Sendable, Equatable {
    /// Tokens that may be saved up at the full rate: a hundredth of the quota.
    package let burst: Int
    /// Tokens that may be spent at once after a silence.
    package let head: Int
    /// Tokens in a minute beyond the burst.
    private let rate: Int
    /// In tokens times milliseconds of a minute, to avoid rounding.
    private var saved: Int
    private var since: UInt64?
    /// Milliseconds since the first token after a silence, at most a minute.
    private var age = 0
    /// Milliseconds in which none was spent.
    private var idle = Self.silence

    private static let minute = 60_000
    /// Milliseconds without a token after which the ramp begins again.
    private static let silence = 10_000

    /// - Parameter perMinute: at least 100.
    package init(perMinute: Int) {
        precondition((100...1_000_000_000).contains(perMinute))
        burst = perMinute / 100
        head = max(1, burst / 30)
        rate = perMinute - burst
        saved = head * Self.minute
    }

    /// The tokens that may be spent now.
    /// - Parameter now: milliseconds of a clock that never goes back.
    package mutating func allowance(now: UInt64) -> Int {
        let elapsed = Int(min(now - (since ?? now), UInt64(Self.minute)))
        since = now
        idle = min(Self.silence, idle + elapsed)
        if idle == Self.silence {
            // Never more than what would have been saved meanwhile.
            age = 0
            saved = head * Self.minute
        } else {
            let next = min(Self.minute, age + elapsed)
            // The area under the slope, then at the full rate.
            saved += rate * (next * next - age * age) / (2 * Self.minute)
            saved += rate * (age + elapsed - next)
            age = next
            saved = min(capacity * Self.minute, saved)
        }
        return saved / Self.minute
    }

    /// - Parameter count: at most the allowance.
    package mutating func spend(_ count: Int) {
        guard count > 0 else { return }
        saved -= count * Self.minute
        idle = 0
        precondition(saved >= 0, "more than was allowed")
    }

    /// Tokens that are worth a batch of their own.
    package var parcel: Int { max(1, capacity / 2) }

    /// Tokens that may be saved up now: the same time's worth as the burst.
    private var capacity: Int { max(head, burst * age / Self.minute) }
}
