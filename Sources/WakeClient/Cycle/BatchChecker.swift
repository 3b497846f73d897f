import WakeFeed
import WakeFetch
import WakeSystem

/// The check of one batch, fetched or cached: verified and searched in one pass, then committed.
struct BatchChecker {
    let addresses: FeedAddresses
    let cache: FeedCache
    let meter: TrafficMeter?
    let profile: ProfileState
    let transport: any ClientTransport
    let environment: ClientEnvironment

    /// - Returns: the number of matches that are new; nil when the day's quota is used up.
    func check(
        _ planned: VerifiedHead.PlannedBatch, of verified: VerifiedHead,
        against secrets: LocalSecretSet
    ) async throws(ClientError) -> Int? {
        let cursor = profile.record.cursor
        precondition(cursor.sequence + 1 == planned.sequence, "batches come in order")
        let search = BatchSearch(cursor: cursor, head: verified, secrets: secrets)
        var checked = cached(planned.name, search)
        if checked == nil {
            do throws(ClientError) {
                checked = try await fetch(planned.name, search, bypassingCaches: false)
            } catch .corruptBatch {
                // A cache on the way may hold the damage.
                checked = try await fetch(planned.name, search, bypassingCaches: true)
            }
        }
        guard let checked else { return nil }
        return try commit(checked, head: verified.head)
    }

    private func commit(_ batch: CommittedBatch, head: FeedHead) throws(ClientError) -> Int {
        var next = profile.record
        next.cursor = batch.cursor
        // Checked all the same, but a secret that is added later will not be checked against it.
        let warnings = next.mark(.cacheFull, cache.isFull ? .cacheFull : nil)
        let oldest = environment.wallSeconds() - FeedLimits.retainedSeconds
        let new = try profile.save(
            next, matches: batch.matches.map(Match.init), warnings: warnings,
            dropBefore: (head.firstSequence, oldest), as: .batch)
        // Now and not at the end of the cycle: the bound holds while a hundred batches come.
        cache.trim(head: head)
        return new
    }

    /// A batch that was fetched before a crash; nil when there is none.
    private func cached(_ name: String, _ search: BatchSearch) -> CommittedBatch? {
        guard let file = cache.open(name) else { return nil }
        var reader = search.begin()
        do {
            _ = try reader.feed(file, upTo: BatchDownload.mostBytes + 1)
            return try reader.finish()
        } catch {
            cache.drop(name)
            return nil
        }
    }

    /// Fetches the batch; nil when the day's quota is used up. `bypassingCaches`: it came damaged.
    private func fetch(
        _ name: String, _ search: BatchSearch, bypassingCaches: Bool
    ) async throws(ClientError) -> CommittedBatch? {
        if bypassingCaches { cache.dropPart(name) }
        let download = BatchDownload(path: cache.partPath(name), search: search)
        let reserved = try meter?.reserve(for: download, in: cache, isSecond: bypassingCaches)
        if meter != nil, reserved == nil { return nil }
        let request = FetchRequest(
            try addresses.batch(name),
            fields: bypassingCaches ? [FetchField("Cache-Control", "no-cache")] : [],
            range: download.resumeAt > 0 ? download.resumeAt : nil,
            limit: BatchDownload.mostBytes, purpose: .feed)
        var fetchError: FetchError?
        do throws(FetchError) {
            _ = try await transport.fetch(
                request, onHead: { download.begin($0) }, sink: { download.append($0) })
        } catch {
            fetchError = error
        }
        if let reserved { try meter?.charge(download, reserved: reserved) }
        let progress = download.progress
        if progress.isCut, progress.failure == nil { return nil }
        if let fetchError { throw try failure(fetchError, of: download, name) }
        do throws(FeedError) {
            let checked = try download.finish()
            if download.synchronize() { cache.keep(name) } else { cache.drop(name) }
            cache.isFull = download.progress.isFull
            return checked
        } catch {
            throw try refuse(name, error)
        }
    }

    /// Drops a part file that cannot be continued.
    private func failure(
        _ error: FetchError, of download: BatchDownload, _ name: String
    ) throws(ClientError) -> ClientError {
        let progress = download.progress
        if let refusal = progress.failure { return try refuse(name, refusal) }
        if error == .stopped, let response = progress.response {
            // RFC 9110 §15.5.17: what is kept is longer than what the server has.
            if response.status == 416 || response.status == 206 { cache.dropPart(name) }
            return .httpStatus(response.status, retryAfter: response.retryAfter)
        }
        // A server that answers ranges wrongly does so every time: the next request is for all.
        let isRangeBroken = error == .protocolViolation && download.resumeAt > 0
        if error == .tooLarge || isRangeBroken { cache.dropPart(name) }
        return ClientError(error)
    }

    private func refuse(_ name: String, _ error: FeedError) throws(ClientError) -> ClientError {
        switch error {
        case .truncated: break
        // The part file is evidence; trimming spares what the head names.
        case .fork(let sequence): try profile.recordFork(at: sequence)
        default: cache.dropPart(name)
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
