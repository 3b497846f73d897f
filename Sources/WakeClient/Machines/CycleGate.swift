import WakeFeed

/// Decides when a cycle begins: one running, plus one dirty bit.
///
/// A wake during a cycle asks for exactly one more, because the running one may have fetched its
/// head before the publication that the wake stands for. Wakes never end a running cycle.
struct CycleGate: Sendable {
    /// What a cycle was begun for.
    struct Request: Sendable, Equatable {
        /// The newest sequence a wake spoke of; 0 for none.
        var hint: UInt64 = 0
        /// A wake without hint that finds nothing new looks once more (stale edges of a CDN).
        var isBlindWake = false
    }

    private(set) var isRunning = false
    private var due: Duration?
    private var waiting = Request()
    /// One of the requests that wait was drawn for a wake.
    private var isDrawn = false
    private var behind = 0
    private var failures = 0
    /// A server asked to be left alone until then, also by who is woken meanwhile.
    private var notBefore = Duration.zero

    /// When the next cycle should begin; nil while one runs or none is asked for.
    var nextStart: Duration? { isRunning ? nil : due.map { max($0, notBefore) } }

    /// Asks for a cycle at `time` or sooner.
    /// - Parameter isDrawn: `time` is a client's place in the spread of a wake. Further wakes share
    ///   the first one's place: the earliest of many draws would bring all clients at once.
    mutating func ask(_ request: Request, at time: Duration, isDrawn: Bool = false) {
        if !(isDrawn && self.isDrawn) { due = min(due ?? time, time) }
        self.isDrawn = self.isDrawn || isDrawn
        waiting.hint = max(waiting.hint, request.hint)
        waiting.isBlindWake = waiting.isBlindWake || request.isBlindWake
    }

    /// Begins a cycle if one is due: whatever was asked for until now is served by it.
    mutating func begin(at now: Duration) -> Request? {
        guard let start = nextStart, start <= now else { return nil }
        isRunning = true
        isDrawn = false
        due = nil
        defer { waiting = Request() }
        return waiting
    }

    /// How a cycle ended, as far as the next one depends on it.
    enum End: Sendable, Equatable {
        case upToDate
        case advanced
        /// The head was older than the hint.
        case behind
        case failed(retryAfter: Duration?)
        case cancelled
    }

    /// - Parameters:
    ///   - served: what `begin` returned.
    ///   - freshness: how long caches may serve an old head, and the spread of the looks.
    ///   - random: in [0, 1).
    /// - Returns: the wait before the cycle that the client itself asks for, if any.
    @discardableResult
    mutating func end(
        _ end: End, served: Request, at now: Duration, cache: Duration, spread: Duration,
        random: Double
    ) -> Duration? {
        precondition(isRunning)
        isRunning = false
        var delay: Duration?
        var again = Request()
        switch end {
        case .advanced:
            (behind, failures) = (0, 0)
            // Who was woken meanwhile needs one more cycle, but no third.
            waiting.isBlindWake = false
        case .upToDate:
            (behind, failures) = (0, 0)
            if served.isBlindWake { delay = cache + spread * random }
        case .behind:
            failures = 0
            behind += 1
            if behind < FeedLimits.staleEdgeAttempts {
                delay = max(.seconds(1), cache + spread * random)
                again.hint = served.hint
            } else {
                behind = 0
            }
        case .failed(let retryAfter):
            failures += 1
            delay = Backoff.cycle.delay(
                failures: failures, random: random, floor: retryAfter ?? .zero)
            if let retryAfter { notBefore = now + min(retryAfter, Backoff.longestFloor) }
            again = served
        case .cancelled:
            // Its caller went away; whoever else waits begins another.
            waiting.hint = max(waiting.hint, served.hint)
            return nil
        }
        if let delay { ask(again, at: now + delay) }
        return delay
    }
}
