import WakeSystem

/// Data that a cycle checks. `onLate` is called when the app is late, before its call is awaited.
protocol CycleSource {
    /// A number that changes whenever the device has more to search for.
    func generation(onLate: () -> Void) async throws(ClientError) -> UInt64

    /// Checks retained data again, without a request.
    func recheck(onLate: () -> Void) async throws(ClientError) -> Recheck

    /// Fetches what is new and checks it; `hint` is the newest sequence that a wake named, `due`
    /// when the cycle was to begin.
    func cycle(
        hint: UInt64?, due: Duration, onLate: () -> Void
    ) async throws(ClientError) -> CycleEnd

    /// Fetches the newest head alone, and the keys of the service's gateway that it names; the
    /// batches are the next cycle's. Nothing where there is no head.
    func renewHead() async throws(ClientError)

    /// The bytes of the counted day; nil without a limit.
    var quota: DailyQuota? { get }

    func eraseCache()
}

/// The outcome as the line shows it, and a failure of which that tells nothing.
typealias CycleEnd = (outcome: SyncOutcome, failure: ClientError?)

/// The result of a check of retained data: the number of new matches, and what it could not check.
struct Recheck {
    var new = 0
    var warnings: [Warning] = []
}

/// Runs cycles, one at a time: callers that come while one runs share the next one.
final class CycleRunner {
    private let source: any CycleSource
    private let profile: ProfileState
    private let outbox: Outbox
    private let environment: ClientEnvironment

    /// A cycle, a re-check or an erasure runs.
    private var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var cyclesBegun = 0
    var isCycling: Bool { outbox.isCycling }
    /// Signalled when a cycle ends, for `waitForCycle`.
    private let end = AsyncEvent()
    /// The newest sequence that a caller of the next cycle heard of; 0 for none.
    private var wantedHint: UInt64 = 0
    /// The end of the newest cycle; nil while it runs, or when its caller went away.
    private var lastEnd: Result<SyncOutcome, ClientError>?
    private(set) var failure: ClientError?
    /// Of the newest cycle, as the line shows it; nil when it failed there.
    private(set) var outcome: SyncOutcome?

    init(
        _ source: any CycleSource, _ profile: ProfileState, _ outbox: Outbox,
        in environment: ClientEnvironment
    ) {
        self.source = source
        self.profile = profile
        self.outbox = outbox
        self.environment = environment
    }

    /// Runs a cycle, or shares one that began after `begunBefore` cycles, however that ended.
    /// - Parameter due: when it was to begin; nil: now.
    func sharedCycle(
        hint: UInt64?, since begunBefore: Int, due: Duration? = nil
    ) async throws(ClientError) -> SyncOutcome {
        wantedHint = max(wantedHint, hint ?? 0)
        return try await exclusively { () async throws(ClientError) in
            guard !Task.isCancelled else { throw .cancelled }
            if cyclesBegun == begunBefore || lastEnd == nil {
                cyclesBegun += 1
                lastEnd = nil
                lastEnd = try await cycle(due: due ?? environment.uptime())
            }
            guard let outcome = try lastEnd?.get() else { throw .cancelled }
            // Another caller heard of something newer.
            let isKnown = hint ?? 0 <= profile.record.sequence
            return outcome == .behind && isKnown ? .upToDate : outcome
        }
    }

    /// - Throws: `cancelled`; any other end is shared by all callers.
    private func cycle(
        due: Duration
    ) async throws(ClientError) -> Result<SyncOutcome, ClientError> {
        let hint = wantedHint == 0 ? nil : wantedHint
        wantedHint = 0
        outbox.cycleBegan()
        profile.checkBegan(now: environment.wallSeconds())
        environment.log(.cycleBegan)
        defer {
            // Here for those who run no `run`.
            outbox.warnOfSilence()
            outbox.cycleEnded()
            end.signal()
        }
        outcome = nil
        do throws(ClientError) {
            let end = try await recheckAndCycle(hint: hint, due: due)
            outcome = end.outcome
            failure = end.failure
            profile.checkEnded(failure)
            return failure.map { .failure($0) } ?? .success(end.outcome)
        } catch {
            if error == .cancelled {
                wantedHint = max(wantedHint, hint ?? 0)
                throw .cancelled
            }
            failure = error
            profile.checkEnded(error)
            return .failure(error)
        }
    }

    private func recheckAndCycle(
        hint: UInt64?, due: Duration
    ) async throws(ClientError) -> CycleEnd {
        var unreadable: ClientError?
        do throws(ClientError) {
            try await recheck()
        } catch .secrets {
            // The line shows what every client's does.
            unreadable = .secrets
        }
        let end = try await source.cycle(hint: hint, due: due, onLate: setLate)
        return (end.outcome, end.failure ?? unreadable)
    }

    /// Fetches the newest head, beside no cycle.
    func renewHead() async throws(ClientError) {
        try await exclusively { () async throws(ClientError) in
            guard !Task.isCancelled else { throw .cancelled }
            try await source.renewHead()
        }
    }

    /// Checks retained data again if the app has more to search for since the last time.
    @discardableResult
    func recheckRetained() async throws(ClientError) -> Int {
        try await exclusively { () async throws(ClientError) in
            do throws(ClientError) { return try await recheck() } catch {
                if error != .cancelled { failure = error }
                throw error
            }
        }
    }

    @discardableResult
    private func recheck() async throws(ClientError) -> Int {
        let generation = try await source.generation(onLate: setLate)
        guard profile.record.generation != generation else { return 0 }
        // Read after the generation: a secret added meanwhile changes it again.
        let recheck = try await source.recheck(onLate: setLate)
        var next = profile.record
        next.generation = generation
        try profile.save(next, warnings: recheck.warnings)
        return recheck.new
    }

    /// Returns when the cycle that runs, or with `isDue` is about to, has ended, or after a while.
    /// One waiter at a time.
    func waitForCycle(isDue: Bool = false, atMost time: Duration) async {
        let deadline = environment.uptime() + time
        let cycle = isDue && !isCycling ? cyclesBegun + 1 : cyclesBegun
        while cyclesBegun < cycle || (isCycling && cyclesBegun == cycle), !Task.isCancelled {
            let rest = deadline - environment.uptime()
            guard rest > .zero else { return }
            await end.wait(for: rest, in: environment)
        }
    }

    private func setLate() { failure = .source(.slow) }

    /// Waits until no other cycle or re-check runs, and keeps others waiting while `body` does.
    func exclusively<Result>(
        _ body: () async throws(ClientError) -> Result
    ) async throws(ClientError) -> Result {
        if isBusy {
            await withCheckedContinuation { waiters.append($0) }
        } else {
            isBusy = true
        }
        defer {
            if waiters.isEmpty {
                isBusy = false
            } else {
                waiters.removeFirst().resume()
            }
        }
        return try await body()
    }
}
