/// What the engine's thread has left to do after a turn, and hence how long it may sleep: a value.
struct LoopRest: Equatable {
    /// Outcomes that are held back at most, so that they are handed over by the thousand.
    static let heldResults = 8192
    /// Milliseconds for which they are.
    static let heldMilliseconds: UInt64 = 4

    /// Some line can read or write at once.
    var isRunnable = false
    /// The far end of some line owes us something.
    var awaits = false
    /// Pushes wait for a line.
    var isQueued = false
    /// When the next line may be connected, while pushes wait.
    var nextAttempt: UInt64?
    /// Since when outcomes have been held back.
    var heldSince: UInt64?

    /// Whether outcomes are handed over now.
    func handsOver(_ results: Int, now: UInt64) -> Bool {
        guard let heldSince else { return false }
        // Where nothing else is to come, nobody is kept waiting.
        return results == 0 || results >= Self.heldResults || !(awaits || isQueued)
            || now >= heldSince + Self.heldMilliseconds
    }

    /// Milliseconds to sleep, or -1: until somebody calls. An engine with open connections and
    /// nothing in flight never wakes up by itself.
    func timeout(now: UInt64, tick: UInt64) -> Int32 {
        if isRunnable { return 0 }
        var until = UInt64.max
        if awaits || isQueued { until = tick }
        if let nextAttempt { until = min(until, nextAttempt) }
        if let heldSince { until = min(until, heldSince + Self.heldMilliseconds) }
        guard until < UInt64.max else { return -1 }
        return until > now ? Int32(min(until - now, 60_000)) : 0
    }
}
