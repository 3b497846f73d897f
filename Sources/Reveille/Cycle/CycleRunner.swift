import WakeSystem

/// Data that a cycle checks. `onLate` is called when the app is late, before its call is awaited.
protocol CycleSource {
    /// A number that changes whenever the device has more to search for.
    func generation(onLate: () -> Void) async throws(ClientError) -> UInt64

    /// Checks retained data again, without a request.
    func recheck(onLate: () -> Void) async throws(ClientError) -> Recheck

    /// Fetches what is new and checks it; `hint` is the newest sequence that a wake named.
    func cycle(hint: UInt64?, onLate: () -> Void) async throws(ClientError) -> SyncOutcome

    /// Fetches the newest head alone, and the keys of the service's gateway that it names; the
    /// batches are the next cycle's. Nothing where there is no head.
    func renewHead() async throws(ClientError)

    /// The bytes of the counted day; nil without a limit.
    var quota: DailyQuota? { get }

    func eraseCache()
}

/// The result of a check of retained data: the number of new matches, and what it could not check.
struct Recheck {
    var new = 0
    var warnings: [Warning] = []
}

/// Runs cycles, one at a time: callers that come while one runs share the next one.
final class CycleRunner {
    private let source: any CycleSource
    private let profile: ProfileState
    private let environment: ClientEnvironment

    /// A cycle, a re-check or an erasure runs.
    private var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var cyclesBegun = 0
    private(set) var isCycling = false
    /// Signalled when a cycle ends, for `waitForCycle`.
    private let end = AsyncEvent()
    /// The newest sequence that a caller of the next cycle heard of; 0 for none.
    private var wantedHint: UInt64 = 0
    /// The end of the newest cycle; nil while it runs, or when its caller went away.
    private var lastEnd: Result<SyncOutcome, ClientError>?
    private(set) var failure: ClientError?

    init(_ source: any CycleSource, _ profile: ProfileState, in environment: ClientEnvironment) {
        self.source = source
        self.profile = profile
        self.environment = environment
    }

    /// Runs a cycle, or shares one that began after `begunBefore` cycles, however that ended.
    func sharedCycle(
        hint: UInt64?, since begunBefore: Int
    ) async throws(ClientError) -> SyncOutcome {
        wantedHint = max(wantedHint, hint ?? 0)
        return try await exclusively { () async throws(ClientError) in
            guard !Task.isCancelled else { throw .cancelled }
            if cyclesBegun == begunBefore || lastEnd == nil {
                cyclesBegun += 1
                lastEnd = nil
                lastEnd = try await cycle()
            }
            guard let outcome = try lastEnd?.get() else { throw .cancelled }
            // Another caller heard of something newer.
            let isKnown = hint ?? 0 <= profile.record.sequence
            return outcome == .behind && isKnown ? .upToDate : outcome
        }
    }

    /// - Throws: `cancelled`; any other end is shared by all callers.
    private func cycle() async throws(ClientError) -> Result<SyncOutcome, ClientError> {
        let hint = wantedHint == 0 ? nil : wantedHint
        wantedHint = 0
        isCycling = true
        environment.log(.cycleBegan)
        defer {
            isCycling = false
            end.signal()
            // Here for those who run no `run`; a state that cannot be written is reported as such.
            try? profile.warnOfSilence(now: environment.wallSeconds())
        }
        do throws(ClientError) {
            let outcome = try await recheckAndCycle(hint: hint)
            failure = nil
            profile.cycleSucceeded()
            return .success(outcome)
        } catch {
            if error == .cancelled {
                wantedHint = max(wantedHint, hint ?? 0)
                throw .cancelled
            }
            failure = error
            return .failure(error)
        }
    }

    private func recheckAndCycle(hint: UInt64?) async throws(ClientError) -> SyncOutcome {
        var unreadable: ClientError?
        do throws(ClientError) {
            try await recheck()
        } catch .secrets {
            // The line shows what every client's does.
            unreadable = .secrets
        }
        let outcome = try await source.cycle(hint: hint, onLate: setLate)
        if let unreadable { throw unreadable }
        return outcome
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
        try await exclusively { () async throws(ClientError) in try await recheck() }
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

    /// Returns when the cycle that runs has ended, or after a while. One waiter at a time.
    func waitForCycle(atMost time: Duration) async {
        let (cycle, deadline) = (cyclesBegun, environment.uptime() + time)
        while isCycling, cyclesBegun == cycle, !Task.isCancelled {
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
