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

    /// Cycles that wakes may cause: so many at once, and so many an hour.
    static let wakesPerHour = 30

    private(set) var isRunning = false
    /// By a poll, by a caller, or after a failure.
    private var due: Duration?
    /// By a wake, or by what follows one.
    private var wakeDue: Duration?
    private var pending = Request()
    /// One of the pending requests has a jittered start.
    private var isJittered = false
    private var behind = 0
    private var failures = 0
    /// A server asked not to be called before; holds for wakes, too.
    private var notBefore = Duration.zero
    private var wakes = TokenBucket(
        tokens: wakesPerHour, per: .seconds(3600), burst: wakesPerHour, isFull: true)
    /// A service that wakes all the time brings about no cycle before this time. The newest of its
    /// wakes is followed then.
    private(set) var noWakeBefore = Duration.zero

    /// The time of the next cycle; nil while one runs or none is requested.
    var nextStart: Duration? {
        guard !isRunning else { return nil }
        let times = [due, wakeStart].compactMap(\.self)
        return times.min().map { max($0, notBefore) }
    }

    private var wakeStart: Duration? { wakeDue.map { max($0, noWakeBefore) } }

    /// Requests a cycle at `time` or sooner.
    mutating func request(_ request: Request, at time: Duration) {
        due = min(due ?? time, time)
        pending.merge(request)
    }

    /// Requests a cycle because of a wake, within the bound of those. With `isJittered` the time is
    /// random within a wake's spread, and further wakes share it: the earliest of many draws would
    /// bring all clients at once.
    mutating func requestByWake(_ request: Request, at time: Duration, isJittered: Bool = false) {
        if !(isJittered && self.isJittered) { wakeDue = min(wakeDue ?? time, time) }
        self.isJittered = self.isJittered || isJittered
        pending.merge(request)
    }

    /// Begins a cycle if one is due; it serves all requests made until now.
    mutating func begin(at now: Duration) -> Request? {
        guard let start = nextStart, start <= now else { return nil }
        if let wakeStart, wakeStart <= now { countWake(at: now) }
        isRunning = true
        isJittered = false
        (due, wakeDue) = (nil, nil)
        defer { pending = Request() }
        return pending
    }

    /// Counts a cycle that a wake caused.
    mutating func countWake(at now: Duration) {
        let nanoseconds = now.wholeNanoseconds
        _ = wakes.take(upTo: 1, now: nanoseconds)
        noWakeBefore = .nanoseconds(nanoseconds + wakes.wait(now: nanoseconds))
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
        switch end {
        case .success(.checked), .success(.metered):
            (behind, failures) = (0, 0)
            // A wake during the cycle needs one more, but no third.
            pending.isBlindWake = false
        case .success(.upToDate), .success(.retired), .success(.ignored):
            (behind, failures) = (0, 0)
            if served.isBlindWake {
                let wait = cache + spread * random
                requestByWake(Request(), at: now + wait)
                delay = wait
            }
        case .success(.behind):
            failures = 0
            behind += 1
            if behind < FeedLimits.staleEdgeAttempts {
                let wait = max(.seconds(1), cache + spread * random)
                requestByWake(Request(hint: served.hint), at: now + wait)
                delay = wait
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
            let wait = Backoff.cycle.delay(
                failures: failures, random: random, floor: floor ?? .zero)
            if let floor { notBefore = now + floor }
            request(served, at: now + wait)
            delay = wait
        }
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
