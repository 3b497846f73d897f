import WakeSystem

/// The pace of a run: rows are handled at an even rate, or as fast as their gateway takes them. All
/// rows count, not only the gateway's own: ids are uniform, so that each gateway has its share of
/// the rate.
struct RunPace {
    private var bucket: TokenBucket?
    /// Below zero where other gateways' rows were more than the pace allowed.
    private var allowed = 0
    /// Between two checks of what may leave.
    let interval: Duration
    /// Infinite without a pace.
    let perSecond: Double

    /// The burst, in milliseconds' worth of pushes.
    private static let burstMilliseconds = 50

    init() { (interval, perSecond) = (.milliseconds(Self.burstMilliseconds), .infinity) }

    /// An even pace: 1 to 10⁹ pushes over 1 to 10⁶ seconds.
    init(pushes: Int, over seconds: Int) {
        // One that is due and the burst: who is late by less loses nothing, however slow the rate.
        let burst = 1 + (pushes * Self.burstMilliseconds + seconds * 1000 - 1) / (seconds * 1000)
        bucket = TokenBucket(tokens: pushes, per: .seconds(seconds), burst: burst, isFull: false)
        perSecond = Double(pushes) / Double(seconds)
        // Few at a time: the pace is even, and little is in flight. But each check costs.
        interval = .milliseconds(max(2, min(8000 * seconds / pushes, Self.burstMilliseconds)))
    }

    var isBounded: Bool { bucket != nil }

    /// Whether a push may leave `now`, monotonic nanoseconds; if it does, `spend` follows.
    mutating func allows(now: @autoclosure () -> UInt64) -> Bool {
        if allowed <= 0 {
            guard bucket != nil else { return true }
            allowed += bucket?.take(upTo: .max, now: now()) ?? 0
        }
        return allowed > 0
    }

    /// Counts rows.
    mutating func spend(_ count: Int = 1) { if isBounded { allowed -= count } }
}
