import WakeFeed
import WakeFetch

// The cycle: head, missing batches, local check. One at a time.

extension WakeClient {
    /// Looks at the feed now; after a push or a wake first waits a random time of up to the feed's
    /// spread, so that not all clients come at once. Calls that come while a cycle runs share the
    /// next one. Tells what was found before it returns.
    @discardableResult
    public func synchronize(
        _ reason: SyncReason = .manual
    ) async throws(ClientError) -> SyncOutcome {
        let before = (cycles: cyclesBegun, sequence: record.cursor.sequence)
        switch reason {
        case .push, .wake:
            guard try isListening() else { return .ignored }
            await environment.sleep(placeInSpread() - environment.uptime())
            guard !Task.isCancelled else { throw .cancelled }
        case .manual, .poll, .resumed: break
        }
        var hint: UInt64?
        if case .wake(let sequence) = reason { hint = sequence }
        let outcome = try await sharedCycle(hint: hint, since: before.cycles)
        let isBlind = reason == .push && record.cursor.sequence == before.sequence
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
        let isKnown = hint ?? 0 <= record.cursor.sequence
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
        let verified = try await newHead(hint: hint)
        guard !verified.plan.isEmpty else {
            if record.orders.isRetired {
                try retire()
                return .retired
            }
            cache.trim(head: verified.head)
            return verified.freshness == .edgeIsStale ? .behind : .upToDate
        }
        let secrets = try await lentSecrets()
        var matches = 0
        for planned in verified.plan {
            do throws(ClientError) {
                matches += try await check(planned, of: verified, against: secrets)
            } catch {
                // What a retired feed published last is checked first, if it can be.
                if record.orders.isRetired, !error.isTransient { try retire() }
                throw error
            }
        }
        cache.trim(head: verified.head)
        if record.orders.isRetired {
            try retire()
            return .retired
        }
        environment.log(.cycleEnded(batches: verified.plan.count))
        if verified.freshness == .edgeIsStale { return .behind }
        return .checked(batches: verified.plan.count, matches: matches)
    }

    // MARK: Head

    private func newHead(hint: UInt64?) async throws(ClientError) -> VerifiedHead {
        let bytes: [UInt8]
        do throws(ClientError) {
            bytes = try await fetchHead()
        } catch {
            // A captive portal's page is longer than any head.
            if error == .tooLarge { try refused(.badFeed) }
            throw error
        }
        let now = environment.wallSeconds()
        let verified: VerifiedHead
        do throws(FeedError) {
            verified = try HeadVerifier(cursor: record.cursor)
                .verify(bytes.span, now: now, hint: hint)
        } catch {
            try refuse(error, bytes)
            throw ClientError(error)
        }
        try accept(verified, bytes, now: now)
        return verified
    }

    private func fetchHead() async throws(ClientError) -> [UInt8] {
        let body = BoundedBody(limit: FeedLimits.headBytes)
        let request = FetchRequest(
            addresses.head, limit: FeedLimits.headBytes, purpose: .feed)
        let response: FetchResponse
        do throws(FetchError) {
            response = try await transport.fetch(
                request, onHead: { _ in .proceed }, sink: { body.append($0) })
        } catch {
            throw ClientError(error)
        }
        guard response.status == 200 else {
            throw .httpStatus(response.status, retryAfter: response.retryAfter)
        }
        return body.take()
    }

    private func accept(
        _ verified: VerifiedHead, _ bytes: [UInt8], now: Int64
    ) throws(ClientError) {
        var next = record
        // Two histories were seen: nothing that this one says is believed any more.
        guard !record.isForked else { throw .fork }
        var warnings: [Warning] = []
        var warned = record.warned.intersection([.retired, .fork, .refused])
        for warning in verified.warnings {
            switch warning {
            case .gap(let missing):
                warnings.append(.gap(first: missing.lowerBound, last: missing.upperBound))
            case .stale:
                warned.insert(.stale)
                if !record.warned.contains(.stale) { warnings.append(.stale) }
            case .clockSkew(let issued):
                warned.insert(.clockSkew)
                if !record.warned.contains(.clockSkew) {
                    warnings.append(.clockSkew(seconds: issued - now))
                }
            }
        }
        if verified.cursor.newestIssued != record.cursor.newestIssued { next.ordersSeen = now }
        next.cursor = verified.cursor
        next.warned = warned
        next.watch.headVerified(now: now)
        try save(next, warnings: warnings, as: .head)
        cache.keepHead(bytes)
    }

    private func refuse(_ error: FeedError, _ bytes: [UInt8]) throws(ClientError) {
        switch error {
        case .badSignature, .wrongFeed, .malformedHead: try refused(.badFeed)
        case .rollback: try refused(.rollback)
        case .fork(let sequence):
            cache.keepEvidence(of: sequence, other: bytes, in: directory.path)
            try forked(at: sequence)
        case .truncated, .tooLarge, .corruptBatch: break
        }
    }

    private func refused(_ trouble: Watch.Trouble) throws(ClientError) {
        var next = record
        let warning = next.watch.headRefused(trouble, now: environment.wallSeconds())
        try save(next, warnings: warning.map { [$0] } ?? [], as: .feed)
    }

    /// Stops the cursor for good, and says so once.
    func forked(at sequence: UInt64) throws(ClientError) {
        var next = record
        next.isForked = true
        next.warned.insert(.fork)
        let isNew = !record.warned.contains(.fork)
        try save(next, warnings: isNew ? [.fork(sequence: sequence)] : [], as: .feed)
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
