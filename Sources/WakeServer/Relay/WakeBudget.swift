import WakePush

/// How many wake-ups an installation may have passed on: so many a minute, a minute's worth at
/// once, and never less at once than one batch. A token bucket as a value that takes the time.
struct WakeBudget: Equatable {
    private let perMinute: Int
    private let most: Int
    /// Thousandths of wake-ups, so that nothing is lost to rounding.
    private var left: Int
    private var counted: UInt64

    /// - Parameter now: milliseconds of a clock that never goes back.
    init(perMinute: Int, now: UInt64) {
        precondition(perMinute > 0)
        self.perMinute = perMinute
        most = max(perMinute, RelayBatch.maximumWakes) * 1000
        left = most
        counted = now
    }

    /// Takes `count`, at most a batch, or nothing.
    /// - Returns: nil when it was taken, else seconds until it could be.
    mutating func take(_ count: Int, now: UInt64) -> Int? {
        let elapsed = Int(min(now - counted, 3_600_000))
        // A thousandth of a wake-up a millisecond is 60 a minute.
        let earned = elapsed * perMinute / 60
        if earned > 0 || left == most {
            left = min(most, left + earned)
            counted = now
        }
        let missing = count * 1000 - left
        guard missing > 0 else {
            left -= count * 1000
            return nil
        }
        let perSecond = perMinute * 1000 / 60
        return max(1, (missing + perSecond - 1) / max(1, perSecond))
    }
}
