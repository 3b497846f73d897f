import WakeFeed
import WakeSystem

/// The rule of when a cycle begins: one runs, one more may be requested. A wake requests one more,
/// as the running one may have fetched its head before the publication; it never ends that one.
struct CycleSchedule: Sendable {
    struct Request: Sendable, Equatable {
        /// The newest sequence that a wake named; 0 for none.
        var hint: UInt64 = 0
        /// A wake without hint: when nothing is new, one more cycle follows (stale edges of a CDN).
        var isBlindWake = false

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

    /// Requests a cycle at `time` or sooner. With `isJittered` it is random within a wake's spread,
    /// and further wakes share it: the earliest of many draws would bring all clients at once.
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

    /// Ends a cycle; returns the wait before one that the client requests. `random` is in [0, 1).
    @discardableResult
    mutating func end(
        _ end: Result<SyncOutcome, ClientError>, served: Request, at now: Duration,
        cache: Duration, spread: Duration, random: Double
    ) -> Duration? {
        precondition(isRunning)
        isRunning = false
        var delay: Duration?
        var again = Request()
        switch end {
        case .success(.checked), .success(.metered):
            (behind, failures) = (0, 0)
            // A wake during the cycle needs one more, but no third.
            pending.isBlindWake = false
        case .success(.upToDate), .success(.retired), .success(.ignored):
            (behind, failures) = (0, 0)
            if served.isBlindWake { delay = cache + spread * random }
        case .success(.behind):
            failures = 0
            behind += 1
            if behind < FeedLimits.staleEdgeAttempts {
                delay = max(.seconds(1), cache + spread * random)
                again.hint = served.hint
            } else {
                behind = 0
            }
        case .failure(.cancelled):
            // Its caller went away; another that waits begins one of its own.
            pending.hint = max(pending.hint, served.hint)
            return nil
        case .failure(let error):
            failures += 1
            let floor = error.retryAfter.map { min(max($0, .zero), Backoff.longestFloor) }
            delay = Backoff.cycle.delay(failures: failures, random: random, floor: floor ?? .zero)
            if let floor { notBefore = now + floor }
            again = served
        }
        if let delay { request(again, at: now + delay) }
        return delay
    }
}

/// The rule of when to poll: between four times an hour and once a day, whatever a feed asks for.
enum PollSchedule {
    static let standardSeconds: UInt32 = 4 * 3600
    static let shortest = Duration.seconds(15 * 60)
    static let longest = Duration.seconds(24 * 3600)

    /// The wait by the newest head's `pollSeconds`, 0 for the standard; `random` is in [0, 1).
    static func interval(pollSeconds: UInt32, random: Double) -> Duration {
        precondition((0..<1).contains(random))
        let seconds = pollSeconds == 0 ? standardSeconds : pollSeconds
        return min(max(.seconds(Int64(seconds)) * (0.5 + random), shortest), longest)
    }
}
