/// An adaptive limit of the wake-ups with the engine, which a killed process sends again. It is
/// doubled as long as that brings more answers a second, and halved when it does not. As many as
/// are answered in a millisecond it takes in any case: large batches cost less CPU each.
struct ConcurrencyLimiter: Equatable {
    let most: Int
    private(set) var size: Int
    private var since: UInt64?
    private var completed = 0
    private var wasFull = false
    /// Answers in a millisecond before the limit was doubled; nil when it was not.
    private var rateBefore: Double?
    private var restsUntil: UInt64 = 0

    static let least = 64
    /// Milliseconds in which answers are counted.
    private static let shortEpoch: UInt64 = 100
    private static let longEpoch: UInt64 = 1000
    /// Milliseconds until a limit that was too large is tried again.
    private static let rest: UInt64 = 5000

    init(most: Int) {
        precondition(most > 0)
        self.most = most
        size = min(most, Self.least)
    }

    mutating func fill() { wasFull = true }

    /// Counts answers of a service that took up what it was sent: one that has too much to do and
    /// says so at once is not given more for it. `now`: milliseconds of a clock that never goes
    /// back.
    mutating func complete(_ count: Int, now: UInt64) {
        completed += count
        guard let since else { return begin(now) }
        let elapsed = now - since
        // Two round trips at least, so that the count is of this limit and not the one before.
        guard elapsed >= Self.longEpoch || elapsed >= Self.shortEpoch && completed >= 2 * size
        else { return }
        if wasFull, completed > 0, now >= restsUntil {
            adapt(Double(completed) / Double(elapsed), now)
        }
        begin(now)
    }

    private mutating func begin(_ now: UInt64) {
        since = now
        completed = 0
        wasFull = false
    }

    private mutating func adapt(_ rate: Double, _ now: UInt64) {
        let prompt = min(most, max(Self.least, Int(rate)))
        if size < prompt {
            size = prompt
            rateBefore = nil
        } else if let rateBefore, rate < rateBefore * 1.15 {
            size = max(prompt, size / 2)
            self.rateBefore = nil
            restsUntil = now + Self.rest
        } else if size < most {
            size = min(most, size * 2)
            rateBefore = rate
        }
    }
}
