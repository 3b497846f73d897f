/// How many wake-ups a push service's quota allows now: at no time more than the quota in any
/// minute, spread evenly. A value that takes the time.
struct QuotaPace: Equatable {
    /// Wake-ups that may leave at once when none have for a while: a hundredth of the quota.
    let burst: Int
    /// Wake-ups in a minute beyond that.
    private let rate: Int
    /// In wake-ups times milliseconds of a minute, so that nothing is lost to rounding.
    private var saved: Int
    private var since: UInt64?

    private static let minute = 60_000

    /// - Parameter perMinute: at least 100.
    init(perMinute: Int) {
        precondition((100...1_000_000_000).contains(perMinute))
        burst = perMinute / 100
        rate = perMinute - burst
        saved = burst * Self.minute
    }

    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func allowance(now: UInt64) -> Int {
        let elapsed = Int(min(now - (since ?? now), UInt64(Self.minute)))
        since = now
        saved = min(burst * Self.minute, saved + rate * elapsed)
        return saved / Self.minute
    }

    /// So many have left, at most what was allowed.
    mutating func spend(_ count: Int) {
        saved -= count * Self.minute
        precondition(saved >= 0, "more than was allowed")
    }
}
