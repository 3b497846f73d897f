import WakeSystem

/// The pace of a run: pushes leave at an even rate, or as fast as the gateways take them.
struct RunPace {
    private var bucket: TokenBucket?
    /// Pushes that may leave at once.
    private var allowed = 0
    /// Between two checks of what may leave.
    let interval: Duration

    /// The burst, in milliseconds' worth of pushes.
    private static let burstMilliseconds = 50

    init() { interval = .milliseconds(Self.burstMilliseconds) }

    /// An even pace: 1 to 10⁹ pushes over 1 to 10⁶ seconds.
    init(pushes: Int, over seconds: Int) {
        // One that is due and the burst: who is late by less loses nothing, however slow the rate.
        let burst = 1 + (pushes * Self.burstMilliseconds + seconds * 1000 - 1) / (seconds * 1000)
        bucket = TokenBucket(tokens: pushes, per: .seconds(seconds), burst: burst, isFull: false)
        // Few at a time: the pace is even, and little is in flight. But each check costs.
        interval = .milliseconds(max(2, min(8000 * seconds / pushes, Self.burstMilliseconds)))
    }

    /// Whether a push may leave `now`, monotonic nanoseconds; if it does, `spend` follows.
    mutating func allows(now: @autoclosure () -> UInt64) -> Bool {
        if allowed == 0 { allowed = bucket?.take(upTo: .max, now: now()) ?? .max }
        return allowed > 0
    }

    /// Lets one push leave whatever the rate.
    mutating func allowOne() { allowed = max(allowed, 1) }
    mutating func spend() { allowed -= 1 }
}
