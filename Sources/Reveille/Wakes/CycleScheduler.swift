import Synchronization
import WakeFeed
import WakeModel
import WakeSystem

/// Collects requests of cycles, jitters starts common to all clients, and backs off after failures.
final class CycleScheduler {
    private let profile: ProfileState
    private let runner: CycleRunner
    private let outbox: Outbox
    private let wakes: PendingWakes
    private let environment: ClientEnvironment

    private var schedule = CycleSchedule()
    /// `runner.cyclesBegun` at the newest request: a cycle that began since serves all of them.
    private var cyclesAtRequest = 0
    /// The start that the newest wake got.
    private var lastStart = Duration.seconds(-1)
    private var nextPoll: Duration?
    /// `runner.cyclesBegun` when a cycle was last counted as one that a wake caused.
    private var cyclesCounted = 0
    /// Signalled when the machine has slept.
    let resumed = AsyncEvent()
    /// The begin of the next cycle that is planned, by the clock of uptime.
    var nextStart: Duration? {
        guard let start = schedule.nextStart, let nextPoll else { return nextPoll }
        return min(start, nextPoll)
    }

    init(
        _ profile: ProfileState, runner: CycleRunner, outbox: Outbox, wakes: PendingWakes,
        in environment: ClientEnvironment
    ) {
        self.profile = profile
        self.runner = runner
        self.outbox = outbox
        self.wakes = wakes
        self.environment = environment
    }

    private func request(_ request: CycleSchedule.Request) {
        schedule.request(request, at: environment.uptime())
        requested()
    }

    /// Requests a cycle that all clients have at the same time, each at a random start.
    private func requestJittered(_ request: CycleSchedule.Request, by time: Duration) {
        schedule.requestByWake(request, at: jitteredStart(after: time), isJittered: true)
        requested()
    }

    private func requested() {
        cyclesAtRequest = runner.cyclesBegun
        wakes.event.signal()
    }

    /// The start of a cycle after a wake: at random within the spread, so that not all clients of a
    /// broadcast come at once. All wakes until then share it; the next one is at least 1 s later.
    private func jitteredStart(after wake: Duration) -> Duration {
        guard lastStart <= wake else { return lastStart }
        let start = wake + profile.record.directives.spread * environment.randomUnit()
        lastStart = max(start, lastStart + .seconds(1))
        return lastStart
    }

    /// False when a wake is to be ignored: paused by the publisher, or unregistered by the user.
    func isListening(to reason: SyncReason) throws(ClientError) -> Bool {
        switch reason {
        case .push, .wake:
            let now = environment.wallSeconds()
            if profile.record.directives.pausedUntil(now: now) != nil { return false }
            return try profile.database.registration()?.kind != .absent
        case .manual, .poll, .resumed: return true
        }
    }

    private func requestPendingWakes() throws(ClientError) {
        let wakes = wakes.removeAll()
        if wakes.isUrgent { request(.init()) }
        if let request = wakes.shared, try isListening(to: .push) {
            requestJittered(request, by: wakes.time)
        }
    }

    /// Handles an event of the stream. The first one of a connection is sent to every client that
    /// connects, and after a restart of the service all do: it says what may have been missed.
    func receive(_ event: WakeEvent, at time: Duration, isFirst: Bool, isOfFeed: Bool) {
        let record = profile.record
        let now = environment.wallSeconds()
        guard record.directives.pausedUntil(now: now) == nil else { return }
        let sequence = isOfFeed ? event.sequence : 0
        if isFirst {
            let isKnown = sequence > 0 && sequence <= record.sequence
            if !isKnown { requestJittered(.init(hint: sequence), by: time) }
        } else {
            requestJittered(.init(hint: sequence, isBlindWake: sequence == 0), by: time)
        }
    }

    /// Runs a cycle for a caller, after the jitter of a wake.
    func runCycle(for reason: SyncReason) async throws(ClientError) -> SyncOutcome {
        let before = (cycles: runner.cyclesBegun, sequence: profile.record.sequence)
        var hint: UInt64?
        if case .wake(let sequence) = reason { hint = sequence }
        let isByWake = reason == .push || hint != nil
        var due: Duration?
        if isByWake {
            let now = environment.uptime()
            let start = max(jitteredStart(after: now), schedule.noWakeBefore)
            due = start
            await environment.sleep(start - now)
            guard !Task.isCancelled else { throw .cancelled }
        }
        defer { if isByWake { countWake() } }
        let outcome = try await runner.sharedCycle(hint: hint, since: before.cycles, due: due)
        let isBlind = reason == .push && profile.record.sequence == before.sequence
        if outcome == .behind || (outcome == .upToDate && isBlind) {
            // An edge that lags behind; a push has no hint to show it. `run` runs another cycle.
            let directives = profile.record.directives
            let wait = directives.cache + directives.spread * environment.randomUnit()
            schedule.requestByWake(.init(hint: hint ?? 0), at: environment.uptime() + wait)
            requested()
        }
        return outcome
    }

    /// Counts the newest cycle once, however many wakes share it.
    private func countWake() {
        guard runner.cyclesBegun > cyclesCounted else { return }
        cyclesCounted = runner.cyclesBegun
        schedule.countWake(at: environment.uptime())
    }

    /// Runs the next cycle if due, else waits for it or a request; returns whether one was run.
    func runNextCycle() async throws(ClientError) -> Bool {
        do throws(ClientError) {
            try await runner.recheckRetained()
        } catch {
            switch error {
            case .state, .diskFull, .cancelled: throw error
            // The cycle meets the same fault, and backs off.
            default: break
            }
        }
        try requestPendingWakes()
        let now = environment.uptime()
        guard let start = schedule.nextStart else {
            await wakes.event.wait()
            return false
        }
        guard start <= now, let request = schedule.begin(at: now) else {
            await wakes.event.wait(for: start - now, in: environment)
            return false
        }
        defer { cyclesCounted = runner.cyclesBegun }
        do throws(ClientError) {
            let outcome = try await runner.sharedCycle(
                hint: request.hint == 0 ? nil : request.hint, since: cyclesAtRequest, due: start)
            conclude(.success(outcome), of: request)
        } catch {
            conclude(.failure(error), of: request)
            if case .state = error { throw error }
            if error == .diskFull { outbox.reportFullDisk() }
        }
        return true
    }

    private func conclude(
        _ end: Result<SyncOutcome, ClientError>, of request: CycleSchedule.Request
    ) {
        var shown = end
        // The next request must not show a failure of which this cycle's have shown nothing.
        if case .failure(.secrets) = end, let outcome = runner.outcome { shown = .success(outcome) }
        let directives = profile.record.directives
        let delay = schedule.end(
            shown, served: request, at: environment.uptime(), cache: directives.cache,
            spread: directives.spread, random: environment.randomUnit())
        cyclesAtRequest = runner.cyclesBegun
        if case .failure(let error) = end, error != .cancelled, let failure = runner.failure {
            environment.log(.cycleFailed(failure, retrySeconds: Int(delay?.wholeSeconds ?? 0)))
        }
    }

    /// Requests a cycle at once and then at random intervals, until the task is cancelled.
    func poll() async {
        while !Task.isCancelled {
            request(.init())
            let start = environment.uptime()
            let random = environment.randomUnit()
            while !Task.isCancelled {
                // Drawn once, and valid for whatever interval the newest head asks for.
                let interval = PollSchedule.interval(
                    pollSeconds: profile.record.pollSeconds, random: random)
                nextPoll = start + interval
                let before = environment.uptime()
                let rest = start + interval - before
                if rest <= .zero { break }
                let pause = min(rest, .seconds(900))
                await resumed.wait(for: pause, in: environment)
                outbox.warnOfSilence()
                // The machine has slept: somebody says so, or more time went by than was waited.
                let waited = environment.uptime() - before
                if waited < pause - .milliseconds(10) || waited > pause + .seconds(60) { break }
            }
        }
    }
}

/// Wakes from any thread that the client has not handled yet; any number of them is one.
final class PendingWakes: Sendable {
    struct Wakes: Sendable, Equatable {
        /// Of those that come to all clients at once; nil when none came.
        var shared: CycleSchedule.Request?
        /// The arrival of the newest of them, by the clock of uptime.
        var time = Duration.zero
        /// One came that concerns this client alone, and is not jittered.
        var isUrgent = false
    }

    /// Signalled when a cycle may have to begin.
    let event = AsyncEvent()
    /// Signalled by pushes, for a test of them.
    let pushed = AsyncEvent()
    private let pushCount = Atomic(0)
    private let wakes = Mutex(Wakes())

    /// Pushes that arrived in this process.
    var pushes: Int { pushCount.load(ordering: .relaxed) }

    func add(_ reason: SyncReason, at time: Duration) {
        wakes.withLock { wakes in
            var shared = wakes.shared ?? CycleSchedule.Request()
            switch reason {
            case .manual, .poll, .resumed:
                wakes.isUrgent = true
                return
            case .push: shared.merge(.init(isBlindWake: true))
            case .wake(let hint): shared.merge(.init(hint: hint, isBlindWake: hint == 0))
            }
            (wakes.shared, wakes.time) = (shared, time)
        }
        event.signal()
        guard reason == .push else { return }
        pushCount.add(1, ordering: .relaxed)
        pushed.signal()
    }

    func removeAll() -> Wakes {
        wakes.withLock { wakes in
            defer { wakes = Wakes() }
            return wakes
        }
    }
}
