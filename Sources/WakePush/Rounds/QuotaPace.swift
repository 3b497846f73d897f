/// How many wake-ups a push service's quota allows now: at no time more than the quota in any
/// minute, spread evenly, and after a silence from next to nothing up to that over a minute. Spikes
/// are refused before the quota is used up (firebase.google.com, "FCM throttling and quotas"), and
/// are what "Best practices when sending FCM messages at scale" asks senders to avoid. A value that
/// takes the time.
///
/// ```
///   wake-ups a second
///        rate ┤          ┌─────────
///             │       ╱
///             │   ╱
///             └──────────┬───────── time since the first after a silence
///                     a minute
/// ```
struct QuotaPace: Equatable {
    /// Wake-ups that may leave at once when fewer than allowed have for a while, at the full rate:
    /// a hundredth of the quota.
    let burst: Int
    /// Wake-ups that may leave at once after a silence: those of a small installation all at once.
    let head: Int
    /// Wake-ups in a minute beyond the burst.
    private let rate: Int
    /// In wake-ups times milliseconds of a minute, so that nothing is lost to rounding.
    private var saved: Int
    private var since: UInt64?
    /// Milliseconds since the first wake-up after a silence, at most a minute.
    private var age = 0
    /// Milliseconds in which none has left.
    private var idle = Self.silence

    private static let minute = 60_000
    /// Milliseconds without a wake-up after which the push service has forgotten the rate before.
    private static let silence = 10_000

    /// - Parameter perMinute: at least 100.
    init(perMinute: Int) {
        precondition((100...1_000_000_000).contains(perMinute))
        burst = perMinute / 100
        head = max(1, burst / 30)
        rate = perMinute - burst
        saved = head * Self.minute
    }

    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func allowance(now: UInt64) -> Int {
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

    /// So many have left, at most what was allowed.
    mutating func spend(_ count: Int) {
        guard count > 0 else { return }
        saved -= count * Self.minute
        idle = 0
        precondition(saved >= 0, "more than was allowed")
    }

    /// So many that it is worth a batch of its own.
    var parcel: Int { max(1, capacity / 2) }

    /// Wake-ups that may be saved up: as many seconds of what is allowed now as the burst has.
    private var capacity: Int { max(head, burst * age / Self.minute) }
}
