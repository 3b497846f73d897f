private import Glibc
import WakeFeed
import WakeFetch
import WakeFiles

// One batch: fetched or found, verified and searched in one pass, committed in one transaction.

extension WakeClient {
    /// - Returns: how many matches are new; nil when the batch waits for another day's budget.
    func check(
        _ planned: VerifiedHead.PlannedBatch, of verified: VerifiedHead, in feed: FeedSource,
        against secrets: LocalSecretSet
    ) async throws(ClientError) -> Int? {
        precondition(record.cursor.sequence + 1 == planned.sequence, "batches come in order")
        let search = BatchSearch(cursor: record.cursor, head: verified, secrets: secrets)
        var committed = kept(planned, feed, search)
        if committed == nil {
            do throws(ClientError) {
                committed = try await fetch(planned, feed, fresh: false, search)
            } catch .corruptBatch {
                // A cache on the way may hold the damage.
                committed = try await fetch(planned, feed, fresh: true, search)
            }
        }
        guard let committed else { return nil }
        return try commit(committed, of: feed, head: verified.head)
    }

    /// Matches, cursor and outbox in one transaction: a crash loses none and repeats none.
    private func commit(
        _ batch: CommittedBatch, of feed: FeedSource, head: FeedHead
    ) throws(ClientError) -> Int {
        var next = record
        next.cursor = batch.cursor
        // Checked all the same, but a secret that is added later will not be checked against it.
        let warnings: [Warning] =
            isCacheFull && !next.warned.contains(.cacheFull) ? [.cacheFull] : []
        if isCacheFull { next.warned.insert(.cacheFull) } else { next.warned.remove(.cacheFull) }
        let old = environment.wallSeconds() - FeedLimits.retainedSeconds
        let new = try save(
            next, matches: batch.matches.map(Match.init), warnings: warnings,
            dropBefore: (head.firstSequence, old), as: .batch)
        // Now and not at the end of the cycle: the bound holds while a hundred batches come.
        feed.cache.trim(head: head)
        return new
    }

    /// A batch that was fetched before a crash came between.
    private func kept(
        _ planned: VerifiedHead.PlannedBatch, _ feed: FeedSource, _ search: BatchSearch
    ) -> CommittedBatch? {
        guard let file = feed.cache.open(planned.name) else { return nil }
        var reader = search.begin()
        do {
            var offset = 0
            while true {
                let piece = try file.read(at: offset, count: BatchIntake.markBytes)
                if piece.isEmpty { break }
                try reader.feed(piece.span)
                offset += piece.count
            }
            return try reader.finish()
        } catch {
            feed.cache.drop(planned.name)
            return nil
        }
    }

    /// - Parameter fresh: whether caches on the way are to be passed by.
    /// - Returns: nil when the day's budget is used up.
    private func fetch(
        _ planned: VerifiedHead.PlannedBatch, _ feed: FeedSource, fresh: Bool,
        _ search: BatchSearch
    ) async throws(ClientError) -> CommittedBatch? {
        if fresh { feed.cache.dropPart(planned.name) }
        let intake = BatchIntake(path: feed.cache.partPath(planned.name), search: search)
        let reserved = try reserve(for: intake, of: feed, isSecond: fresh)
        guard let reserved else { return nil }
        let request = FetchRequest(
            try feed.addresses.batch(planned.name),
            fields: fresh ? [FetchField("Cache-Control", "no-cache")] : [],
            range: intake.resumeAt > 0 ? intake.resumeAt : nil,
            limit: FeedLimits.headerBytes + FeedLimits.payloadBytes, purpose: .feed)
        let status = StatusBox()
        let ended = await take(request, into: intake, status)
        try settle(intake, of: feed, reserved: reserved)
        if intake.isCut, intake.failure == nil { return nil }
        do throws(FetchError) {
            try ended.get()
        } catch {
            if let failure = intake.failure { throw try batchRefused(failure, planned, feed) }
            if error == .stopped, let response = status.response {
                // RFC 9110 §15.5.17: what is kept is longer than what the server has.
                if response.status == 416 || response.status == 206 {
                    feed.cache.dropPart(planned.name)
                }
                throw .httpStatus(response.status, retryAfter: response.retryAfter)
            }
            // Who answers ranges wrongly does so every time: the next one asks for all of it.
            let isRangeBroken = error == .protocolViolation && intake.resumeAt > 0
            if error == .tooLarge || isRangeBroken { feed.cache.dropPart(planned.name) }
            throw ClientError(error)
        }
        do throws(FeedError) {
            let committed = try intake.finish()
            if intake.synchronize() {
                feed.cache.keep(planned.name)
            } else {
                feed.cache.drop(planned.name)
            }
            isCacheFull = intake.isFull
            return committed
        } catch {
            throw try batchRefused(error, planned, feed)
        }
    }

    private func take(
        _ request: FetchRequest, into intake: BatchIntake, _ status: StatusBox
    ) async -> Result<Void, FetchError> {
        do throws(FetchError) {
            _ = try await transport.fetch(
                request,
                onHead: { response in
                    status.set(response)
                    return intake.begin(response)
                }, sink: { intake.take($0) })
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func batchRefused(
        _ error: FeedError, _ planned: VerifiedHead.PlannedBatch, _ feed: FeedSource
    ) throws(ClientError) -> ClientError {
        switch error {
        case .truncated: break
        case .fork(let sequence):
            // The part file is evidence; trimming spares what the head names.
            try forked(at: sequence)
        default: feed.cache.dropPart(planned.name)
        }
        return ClientError(error)
    }
}

extension Match {
    init(_ match: FeedMatch) {
        self.init(
            id: match.matchID, secretID: match.secretID, note: match.note ?? [],
            sequence: match.sequence)
    }
}
