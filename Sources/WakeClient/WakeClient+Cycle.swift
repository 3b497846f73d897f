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
        switch reason {
        case .push, .wake:
            guard try isListening() else { return .ignored }
            // Every client of a broadcast would come at once otherwise.
            await environment.sleep(record.orders.spread * environment.randomUnit())
            guard !Task.isCancelled else { throw .cancelled }
        case .manual, .poll, .resumed: break
        }
        var hint: UInt64?
        if case .wake(let sequence) = reason { hint = sequence }
        let outcome: SyncOutcome
        do throws(ClientError) {
            outcome = try await sharedCycle(hint: hint)
        } catch {
            // What was found before the failure is not kept waiting for the next cycle.
            if error != .cancelled { try? await tell() }
            throw error
        }
        if outcome == .behind || (outcome == .upToDate && reason == .push) {
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

    /// False while wakes are to be ignored: paused by the publisher, or unregistered by the user.
    func isListening() throws(ClientError) -> Bool {
        if record.orders.pausedUntil(now: environment.wallSeconds()) != nil { return false }
        return try clientError { () throws(StateError) in try state.wish()?.kind } != .absent
    }

    /// Runs a cycle, or shares one that began after this call.
    func sharedCycle(hint: UInt64?) async throws(ClientError) -> SyncOutcome {
        let begunBefore = cyclesBegun
        await beginChecking()
        defer { endChecking() }
        guard !Task.isCancelled else { throw .cancelled }
        if cyclesBegun > begunBefore, let lastOutcome, lastOutcome != .behind {
            return lastOutcome
        }
        cyclesBegun += 1
        lastOutcome = nil
        environment.log(.cycleBegan)
        do throws(ClientError) {
            let outcome = try await cycle(hint: hint)
            lastOutcome = outcome
            lastFailure = nil
            return outcome
        } catch {
            if error != .cancelled { lastFailure = error }
            throw error
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
