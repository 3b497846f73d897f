import WakeFeed
import WakeFetch
import WakeSystem

/// The check of one batch: fetched or found in the cache, verified and searched in one pass,
/// committed in one transaction.
final class BatchChecker {
    private let addresses: FeedAddresses
    private let cache: FeedCache
    private let meter: TrafficMeter?
    private let profile: ProfileState
    private let transport: any ClientTransport
    private let environment: ClientEnvironment
    /// The last batch that was fetched could not be kept.
    private var isCacheFull = false

    init(
        _ addresses: FeedAddresses, cache: FeedCache, meter: TrafficMeter?,
        profile: ProfileState, through transport: any ClientTransport,
        in environment: ClientEnvironment
    ) {
        self.addresses = addresses
        self.cache = cache
        self.meter = meter
        self.profile = profile
        self.transport = transport
        self.environment = environment
    }

    /// - Returns: the number of matches that are new; nil when the batch waits for another day's
    ///   quota.
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

    /// Matches, cursor and outbox in one transaction: a crash loses none and repeats none.
    private func commit(_ batch: CommittedBatch, head: FeedHead) throws(ClientError) -> Int {
        var next = profile.record
        next.cursor = batch.cursor
        // Checked all the same, but a secret that is added later will not be checked against it.
        let isNews = isCacheFull && !next.warned.contains(.cacheFull)
        if isCacheFull { next.warned.insert(.cacheFull) } else { next.warned.remove(.cacheFull) }
        let oldest = environment.wallSeconds() - FeedLimits.retainedSeconds
        let new = try profile.save(
            next, matches: batch.matches.map(Match.init), warnings: isNews ? [.cacheFull] : [],
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
            var offset = 0
            while true {
                let bytes = try file.read(at: offset, count: BatchDownload.markBytes)
                if bytes.isEmpty { break }
                try reader.feed(bytes.span)
                offset += bytes.count
            }
            return try reader.finish()
        } catch {
            cache.drop(name)
            return nil
        }
    }

    /// - Parameter bypassingCaches: the batch came damaged before.
    /// - Returns: nil when the day's quota is used up.
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
        let ended: Result<Void, FetchError>
        do throws(FetchError) {
            _ = try await transport.fetch(
                request, onHead: { download.begin($0) }, sink: { download.append($0) })
            ended = .success(())
        } catch {
            ended = .failure(error)
        }
        if let reserved { try meter?.settle(download, reserved: reserved) }
        if download.isCut, download.failure == nil { return nil }
        do throws(FetchError) {
            try ended.get()
        } catch {
            throw try failure(error, of: download, name)
        }
        do throws(FeedError) {
            let checked = try download.finish()
            if download.synchronize() { cache.keep(name) } else { cache.drop(name) }
            isCacheFull = download.isFull
            return checked
        } catch {
            throw try refuse(name, error)
        }
    }

    /// Drops a part file that cannot be continued.
    private func failure(
        _ error: FetchError, of download: BatchDownload, _ name: String
    ) throws(ClientError) -> ClientError {
        if let refusal = download.failure { return try refuse(name, refusal) }
        if error == .stopped, let response = download.response {
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
