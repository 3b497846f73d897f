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
        let outcome = try await sharedCycle(hint: hint)
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
        let verified = try await newHead(hint: hint)
        if record.orders.isRetired {
            try retire()
            return .retired
        }
        guard !verified.plan.isEmpty else {
            _ = try wait(with: 0)
            cache.trim(head: verified.head)
            return verified.freshness == .edgeIsStale ? .behind : .upToDate
        }
        let secrets = try await lentSecrets()
        var (batches, matches) = (0, 0)
        for planned in verified.plan {
            guard let new = try await check(planned, of: verified, against: secrets) else { break }
            batches += 1
            matches += new
        }
        let waiting = verified.plan.count - batches
        let nextDay = try wait(with: waiting)
        cache.trim(head: verified.head)
        environment.log(.cycleEnded(batches: batches))
        if let nextDay {
            return .metered(
                batches: batches, matches: matches, waiting: waiting, until: nextDay)
        }
        if verified.freshness == .edgeIsStale { return .behind }
        return .checked(batches: batches, matches: matches)
    }

    // MARK: Head

    private func newHead(hint: UInt64?) async throws(ClientError) -> VerifiedHead {
        let bytes: [UInt8]
        do throws(ClientError) {
            bytes = try await fetchHead()
        } catch {
            // A captive portal's page is longer than any head, or elsewhere.
            if error.isOfPortal { try refused(.badFeed) }
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
        try countHead()
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
        var warned = record.warned.intersection([
            .retired, .fork, .refused, .cacheFull, .distributor,
        ])
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
        // Whole, as far as the server says, and yet no head: a short page of a captive portal.
        case .truncated: try refused(.badFeed)
        case .tooLarge, .corruptBatch: break
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
