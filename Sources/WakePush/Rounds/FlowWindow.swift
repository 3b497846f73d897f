/// How many wake-ups are with the engine at once: enough that the push service is never idle, and
/// not more. What is in flight when the process is killed is sent again by the next one.
///
/// Nobody knows beforehand how far away a push service is. So the window is doubled as long as that
/// brings more answers a second, and halved when it does not; now and then it is tried again.
struct FlowWindow: Equatable {
    let most: Int
    private(set) var size: Int

    private var since: UInt64?
    private var landed = 0
    /// More was waiting than fitted.
    private var wasFull = false
    /// Answers in a millisecond before the window was doubled; nil when it was not.
    private var rateBefore: Double?
    private var restsUntil: UInt64 = 0

    static let least = 64
    /// Milliseconds over which answers are counted.
    private static let shortEpoch: UInt64 = 100
    private static let longEpoch: UInt64 = 1000
    /// Milliseconds until a window that was too large is tried again.
    private static let rest: UInt64 = 5000

    init(most: Int) {
        precondition(most > 0)
        self.most = most
        size = min(most, Self.least)
    }

    /// Something had to wait although it was ready.
    mutating func filled() { wasFull = true }

    /// - Parameters:
    ///   - count: outcomes that came.
    ///   - now: milliseconds of a clock that never goes back.
    mutating func landed(_ count: Int, now: UInt64) {
        landed += count
        guard let since else { return begin(now) }
        let elapsed = now - since
        // Two round trips at least, so that the count is of this window and not the one before.
        guard elapsed >= Self.longEpoch || elapsed >= Self.shortEpoch && landed >= 2 * size else {
            return
        }
        if wasFull, now >= restsUntil { adapt(Double(landed) / Double(elapsed), now) }
        begin(now)
    }

    private mutating func begin(_ now: UInt64) {
        since = now
        landed = 0
        wasFull = false
    }

    private mutating func adapt(_ rate: Double, _ now: UInt64) {
        if let rateBefore, rate < rateBefore * 1.15 {
            size = max(min(most, Self.least), size / 2)
            self.rateBefore = nil
            restsUntil = now + Self.rest
        } else if size < most {
            size = min(most, size * 2)
            rateBefore = rate
        }
    }
}
