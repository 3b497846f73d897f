import WakeFeed
import WakeSystem

/// The rule of when a cycle begins, as a value: one running, and one more requested.
///
/// A wake during a cycle requests exactly one more, because the running one may have fetched its
/// head before the publication that the wake stands for. Wakes never end a running cycle.
struct CycleSchedule: Sendable {
    /// The reason of a cycle.
    struct Request: Sendable, Equatable {
        /// The newest sequence that a wake named; 0 for none.
        var hint: UInt64 = 0
        /// A wake without hint that finds nothing new is followed by one more cycle (stale edges
        /// of a CDN).
        var isBlindWake = false

        /// Adds a request that the same cycle serves.
        mutating func merge(_ other: Request) {
            hint = max(hint, other.hint)
            isBlindWake = isBlindWake || other.isBlindWake
        }
    }

    private(set) var isRunning = false
    private var due: Duration?
    private var pending = Request()
    /// One of the pending requests has a jittered start.
    private var isJittered = false
    private var behind = 0
    private var failures = 0
    /// A server asked not to be called before; holds for wakes, too.
    private var notBefore = Duration.zero

    /// The time of the next cycle; nil while one runs or none is requested.
    var nextStart: Duration? { isRunning ? nil : due.map { max($0, notBefore) } }

    /// Requests a cycle at `time` or sooner.
    /// - Parameter isJittered: `time` was drawn from the spread of a wake. Further wakes share the
    ///   first one's time: the earliest of many draws would bring all clients at once.
    mutating func request(_ request: Request, at time: Duration, isJittered: Bool = false) {
        if !(isJittered && self.isJittered) { due = min(due ?? time, time) }
        self.isJittered = self.isJittered || isJittered
        pending.merge(request)
    }

    /// Begins a cycle if one is due; it serves all requests made until now.
    mutating func begin(at now: Duration) -> Request? {
        guard let start = nextStart, start <= now else { return nil }
        isRunning = true
        isJittered = false
        due = nil
        defer { pending = Request() }
        return pending
    }

    /// The end of a cycle, as far as the next one depends on it.
    enum End: Sendable, Equatable {
        case upToDate
        case advanced
        /// The head was older than the hint.
        case behind
        case failed(retryAfter: Duration?)
        case cancelled
    }

    /// - Parameters:
    ///   - served: the result of `begin`.
    ///   - cache: how long caches may serve an old head.
    ///   - spread: the upper bound of the random part of a wait.
    ///   - random: in [0, 1).
    /// - Returns: the wait before the cycle that the client itself requests, if any.
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
            // A wake during the cycle needs one more, but no third.
            pending.isBlindWake = false
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
            // Its caller went away; another that waits begins one of its own.
            pending.hint = max(pending.hint, served.hint)
            return nil
        }
        if let delay { request(again, at: now + delay) }
        return delay
    }
}

/// The rule of when to poll. Nothing in a feed makes a client poll more than four times an hour or
/// less than once a day.
enum PollSchedule {
    static let standardSeconds: UInt32 = 4 * 3600
    static let shortest = Duration.seconds(15 * 60)
    static let longest = Duration.seconds(24 * 3600)

    /// The time to the next poll.
    /// - Parameters:
    ///   - pollSeconds: from the newest head; 0 for the standard.
    ///   - random: in [0, 1).
    static func interval(pollSeconds: UInt32, random: Double) -> Duration {
        precondition((0..<1).contains(random))
        let seconds = pollSeconds == 0 ? standardSeconds : pollSeconds
        return min(max(.seconds(Int64(seconds)) * (0.5 + random), shortest), longest)
    }
}
