import WakePush

/// How many wake-ups an installation may have passed on: so many a minute, a minute's worth at
/// once, and never less at once than one batch. A token bucket as a value that takes the time.
struct WakeBudget: Equatable {
    private let perMinute: Int
    private let most: Int
    /// In parts of a wake-up: a millisecond earns `perMinute` of them, so that nothing is rounded.
    private var left: Int
    private var counted: UInt64

    /// Of a wake-up: the milliseconds of a minute.
    private static let parts = 60_000

    /// - Parameter now: milliseconds of a clock that never goes back.
    init(perMinute: Int, now: UInt64) {
        precondition(perMinute > 0)
        self.perMinute = perMinute
        most = max(perMinute, RelayBatch.maximumWakes) * Self.parts
        left = most
        counted = now
    }

    /// Takes `count`, at most a batch, or nothing.
    /// - Returns: nil when it was taken, else seconds until it could be.
    mutating func take(_ count: Int, now: UInt64) -> Int? {
        // After so long even the smallest budget is full.
        let elapsed = Int(min(now - counted, UInt64(most)))
        left = elapsed > (most - left) / perMinute ? most : left + elapsed * perMinute
        counted = now
        let missing = count * Self.parts - left
        guard missing > 0 else {
            left -= count * Self.parts
            return nil
        }
        let perSecond = perMinute * 1000
        return (missing + perSecond - 1) / perSecond
    }
}
