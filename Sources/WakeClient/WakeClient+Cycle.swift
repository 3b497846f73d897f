// The cycle: look at what is published, check it here, tell. One at a time, whatever the source.

extension WakeClient {
    /// Looks at what is published now, and returns when it was checked and told; after a push or a
    /// wake it first waits a random time of up to the spread, so that not all clients come at once.
    /// Calls that come while a cycle runs share the next one.
    /// - Throws: why the cycle failed, as in the article on the cycle. What was found before is
    ///   told all the same.
    @discardableResult
    public func synchronize(
        _ reason: SyncReason = .manual
    ) async throws(ClientError) -> SyncOutcome {
        let before = (cycles: cyclesBegun, sequence: record.sequence)
        switch reason {
        case .push, .wake:
            guard try isListening() else { return .ignored }
            await environment.sleep(placeInSpread() - environment.uptime())
            guard !Task.isCancelled else { throw .cancelled }
        case .manual, .poll, .resumed: break
        }
        var hint: UInt64?
        if case .wake(let sequence) = reason { hint = sequence }
        let outcome: SyncOutcome
        do throws(ClientError) {
            outcome = try await sharedCycle(hint: hint, since: before.cycles)
        } catch {
            // What was found before the failure is not kept waiting for the next cycle.
            if error != .cancelled { try? await tell() }
            throw error
        }
        let isBlind = reason == .push && record.sequence == before.sequence
        if outcome == .behind || (outcome == .upToDate && isBlind) {
            // An edge that lags behind; a push carries no hint, so it would go unnoticed. `run`
            // looks again.
            let orders = record.orders
            ask(
                .init(hint: hint ?? 0),
                after: orders.cache + orders.spread * environment.randomUnit())
        }
        try await tell()
        return outcome
    }

    /// When to look after a wake: at random within the spread, so that not all clients of a
    /// broadcast come at once. All wakes until then share the place, and the next one is a second
    /// later at least: a thousand wakes in a second are two cycles.
    func placeInSpread() -> Duration {
        let now = environment.uptime()
        guard lastPlace <= now else { return lastPlace }
        let place = now + record.orders.spread * environment.randomUnit()
        lastPlace = max(place, lastPlace + .seconds(1))
        return lastPlace
    }

    /// False while wakes are to be ignored: paused by the publisher, or unregistered by the user.
    func isListening() throws(ClientError) -> Bool {
        if record.orders.pausedUntil(now: environment.wallSeconds()) != nil { return false }
        return try clientError { () throws(StateError) in try state.wish()?.kind } != .absent
    }

    /// Runs a cycle, or shares one that began since, however that ended.
    /// - Parameter begunBefore: `cyclesBegun` when the caller knew that it needs one.
    func sharedCycle(
        hint: UInt64?, since begunBefore: Int
    ) async throws(ClientError) -> SyncOutcome {
        // The next cycle looks for the newest that any of its callers heard of.
        wantedHint = max(wantedHint, hint ?? 0)
        await beginChecking()
        defer { endChecking() }
        guard !Task.isCancelled else { throw .cancelled }
        if cyclesBegun == begunBefore || lastEnd == nil {
            cyclesBegun += 1
            lastEnd = nil
            lastEnd = try await ownCycle()
        }
        guard let outcome = try lastEnd?.get() else { throw .cancelled }
        // Somebody else heard of something newer.
        let isKnown = hint ?? 0 <= record.sequence
        return outcome == .behind && isKnown ? .upToDate : outcome
    }

    /// - Throws: `cancelled`; any other end is everybody's.
    private func ownCycle() async throws(ClientError) -> Result<SyncOutcome, ClientError> {
        let hint = wantedHint == 0 ? nil : wantedHint
        wantedHint = 0
        environment.log(.cycleBegan)
        do throws(ClientError) {
            let outcome = try await cycle(hint: hint)
            lastFailure = nil
            return .success(outcome)
        } catch {
            if error == .cancelled {
                wantedHint = max(wantedHint, hint ?? 0)
                throw .cancelled
            }
            lastFailure = error
            return .failure(error)
        }
    }

    private func cycle(hint: UInt64?) async throws(ClientError) -> SyncOutcome {
        try await recheck()
        switch source {
        case .feed(let feed): return try await look(at: feed, hint: hint)
        case .own(let own): return try await look(at: own)
        }
    }

    // MARK: State

    /// Stores the feed's row with what follows from it; what is remembered moves only then.
    @discardableResult
    func save(
        _ next: FeedRecord, matches: [Match] = [], warnings: [Warning] = [],
        dropBefore: (sequence: UInt64, time: Int64)? = nil, as name: StatePoint.Write
    ) throws(ClientError) -> Int {
        let new = try clientError { () throws(StateError) in
            try state.save(
                next, matches: matches, warnings: warnings, dropBefore: dropBefore, as: name)
        }
        record = next
        hasWarnedOfFullDisk = false
        if new > 0 || !warnings.isEmpty { tellingBell.ring() }
        return new
    }

    func clientError<Result>(
        _ body: () throws(StateError) -> Result
    ) throws(ClientError) -> Result {
        do {
            return try body()
        } catch {
            throw error.clientError
        }
    }

    // MARK: Taking turns

    /// Waits until no other cycle or re-check runs.
    func beginChecking() async {
        guard isChecking else {
            isChecking = true
            return
        }
        await withCheckedContinuation { checkWaiters.append($0) }
    }

    /// Hands the turn to whoever waits longest.
    func endChecking() {
        if checkWaiters.isEmpty {
            isChecking = false
        } else {
            checkWaiters.removeFirst().resume()
        }
    }
}
