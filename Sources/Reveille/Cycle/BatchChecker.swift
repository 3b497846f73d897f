import WakeFeed
import WakeFetch
import WakeSystem

/// The check of the batches that a head names: each is fetched or found in the cache, verified and
/// searched in one pass, and committed. One that does not come keeps no other waiting.
struct BatchChecker {
    /// The end of a cycle's checks.
    struct End {
        var checked = 0
        var matches = 0
        /// What was fetched without secrets.
        var unsearched: [VerifiedHead.PlannedBatch] = []
        /// Batches that exceed the day's quota.
        var waiting = 0
        /// Of the first batch that could not be checked.
        var failure: ClientError?
    }

    let addresses: FeedAddresses
    let cache: FeedCache
    let meter: TrafficMeter?
    let profile: ProfileState
    let transport: PacedTransport
    let environment: ClientEnvironment

    /// The batches to ask for: new ones in order, then those that were missing before.
    func plan(_ verified: VerifiedHead) -> [VerifiedHead.PlannedBatch] {
        BatchQueue.order(
            new: verified.plan,
            missing: profile.record.missing.sequences.compactMap(verified.batch),
            random: environment.randomUnit)
    }

    /// - Parameter secrets: nil when they are not read yet: what is fetched all the same, as by
    ///   every client, is checked from the cache when they are.
    func check(
        _ plan: [VerifiedHead.PlannedBatch], of verified: VerifiedHead,
        against secrets: LocalSecretSet?
    ) async throws(ClientError) -> End {
        var end = End()
        var queue = BatchQueue(plan)
        while let batch = queue.next() {
            do throws(ClientError) {
                guard let new = try await check(batch, of: verified, against: secrets) else {
                    end.waiting = queue.count + 1
                    break
                }
                end.checked += 1
                end.matches += new
                if secrets == nil { end.unsearched.append(batch) }
                queue.succeeded()
            } catch {
                guard error.isOfBatch else { throw error }
                end.failure = end.failure ?? error
                queue.failed(random: environment.randomUnit)
            }
        }
        return end
    }

    /// - Returns: the number of matches that are new; nil when the day's quota is used up.
    private func check(
        _ planned: VerifiedHead.PlannedBatch, of verified: VerifiedHead,
        against secrets: LocalSecretSet?
    ) async throws(ClientError) -> Int? {
        let record = profile.record
        let search = BatchSearch(
            cursor: record.cursor, head: verified, secrets: secrets ?? LocalSecretSet([]),
            sequence: planned.sequence,
            hash: record.missing.hash(of: planned.sequence))
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
        // Here and not at the end of the cycle: the bound holds while a hundred batches come.
        defer { cache.trim(head: verified.head) }
        return secrets == nil ? 0 : try commit(checked, head: verified.head)
    }

    private func commit(_ batch: CommittedBatch, head: FeedHead) throws(ClientError) -> Int {
        let now = environment.wallSeconds()
        var next = profile.record
        next.advance(to: batch.cursor, after: batch.header, now: now)
        // Checked all the same, but a secret that is added later will not be checked against it.
        let warnings = next.mark(.cacheFull, cache.isFull ? .cacheFull : nil)
        let oldest = now - FeedLimits.retainedSeconds
        return try profile.save(
            next, matches: batch.matches.map(Match.init), warnings: warnings,
            dropBefore: (head.firstSequence, oldest))
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
        let range = download.range
        let request = FetchRequest(
            try addresses.batch(name),
            fields: bypassingCaches ? [FetchField("Cache-Control", "no-cache")] : [],
            range: range?.first, rangeEnd: range?.last,
            limit: BatchDownload.mostBytes, purpose: .feed)
        var fetchError: FetchError?
        do throws(FetchError) {
            _ = try await transport.fetch(
                request, onHead: { download.begin($0) }, sink: { download.append($0) })
            download.received()
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
            throw try refuse(name, error, download)
        }
    }

    /// Drops a part file that cannot be continued.
    private func failure(
        _ error: FetchError, of download: BatchDownload, _ name: String
    ) throws(ClientError) -> ClientError {
        let progress = download.progress
        if let refusal = progress.failure { return try refuse(name, refusal, download) }
        if error == .stopped, let response = progress.response {
            // RFC 9110 §15.5.17: what is kept is longer than what the server has.
            if response.status == 416 || response.status == 206 { cache.dropPart(name) }
            if [404, 410].contains(response.status) { return .missingBatch }
            return .httpStatus(
                response.status, retryAfter: response.retryAfter.map { .seconds($0) })
        }
        // A server that answers ranges wrongly does so every time: the next request is for all.
        let isRangeBroken = error == .protocolViolation && download.resumeAt > 0
        if error == .tooLarge || isRangeBroken { cache.dropPart(name) }
        return ClientError(error)
    }

    private func refuse(
        _ name: String, _ error: FeedError, _ download: BatchDownload
    ) throws(ClientError) -> ClientError {
        switch error {
        case .truncated: break
        case .fork(let sequence):
            try profile.recordFork(at: sequence, other: download.header, "batch-header")
        default: cache.dropPart(name)
        }
        return ClientError(error)
    }
}

extension Match {
    init(_ match: FeedMatch) {
        self.init(
            id: match.matchID, secretID: match.secretID, noteBytes: match.note,
            sequence: match.sequence)
    }
}
