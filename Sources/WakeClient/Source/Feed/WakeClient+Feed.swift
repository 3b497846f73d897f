import WakeFeed
import WakeFetch

// A cycle over the signed feed: head, missing batches, local check.

extension WakeClient {
    func look(
        at feed: FeedSource, hint: UInt64?
    ) async throws(ClientError) -> SyncOutcome {
        let verified = try await newHead(of: feed, hint: hint)
        guard !verified.plan.isEmpty else {
            if record.orders.isRetired {
                try retire()
                return .retired
            }
            _ = try wait(with: 0, of: feed)
            feed.cache.trim(head: verified.head)
            return verified.freshness == .edgeIsStale ? .behind : .upToDate
        }
        let secrets = LocalSecretSet(try await lentSecrets(of: feed))
        var (batches, matches) = (0, 0)
        for planned in verified.plan {
            let new: Int?
            do throws(ClientError) {
                new = try await check(planned, of: verified, in: feed, against: secrets)
            } catch {
                // What a retired feed published last is checked first, if it can be.
                if record.orders.isRetired, !error.isTransient { try retire() }
                throw error
            }
            guard let new else { break }
            batches += 1
            matches += new
        }
        let waiting = verified.plan.count - batches
        let nextDay = try wait(with: waiting, of: feed)
        feed.cache.trim(head: verified.head)
        environment.log(.cycleEnded(batches: batches))
        if let nextDay {
            return .metered(
                batches: batches, matches: matches, waiting: waiting, until: nextDay)
        }
        if record.orders.isRetired {
            try retire()
            return .retired
        }
        if verified.freshness == .edgeIsStale { return .behind }
        return .checked(batches: batches, matches: matches)
    }

    // MARK: Head

    private func newHead(
        of feed: FeedSource, hint: UInt64?
    ) async throws(ClientError) -> VerifiedHead {
        let bytes: [UInt8]
        do throws(ClientError) {
            bytes = try await fetchHead(of: feed)
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
            try refuse(error, bytes, feed)
            throw ClientError(error)
        }
        try accept(verified, bytes, feed, now: now)
        return verified
    }

    private func fetchHead(of feed: FeedSource) async throws(ClientError) -> [UInt8] {
        try countHead(of: feed)
        let body = BoundedBody(limit: FeedLimits.headBytes)
        let request = FetchRequest(
            feed.addresses.head, limit: FeedLimits.headBytes, purpose: .feed)
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
        _ verified: VerifiedHead, _ bytes: [UInt8], _ feed: FeedSource, now: Int64
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
        feed.cache.keepHead(bytes)
    }

    private func refuse(
        _ error: FeedError, _ bytes: [UInt8], _ feed: FeedSource
    ) throws(ClientError) {
        switch error {
        case .badSignature, .wrongFeed, .malformedHead: try refused(.badFeed)
        case .rollback: try refused(.rollback)
        case .fork(let sequence):
            feed.cache.keepEvidence(of: sequence, other: bytes, in: directory.path)
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
}
