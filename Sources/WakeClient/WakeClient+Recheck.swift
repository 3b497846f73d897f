import WakeFeed

// A secret that is added later is checked against the past without any request.

extension WakeClient {
    /// Checks the retained batches again if the app's secrets changed since the last time.
    /// - Returns: how many matches are new.
    @discardableResult
    public func recheckRetained() async throws(ClientError) -> Int {
        await beginChecking()
        defer { endChecking() }
        let new = try await recheck()
        return new
    }

    /// As `recheckRetained`, for who has the turn.
    @discardableResult
    func recheck() async throws(ClientError) -> Int {
        let generation: UInt64
        do {
            generation = try await secrets.generation()
        } catch {
            throw .secrets
        }
        guard record.generation != generation else { return 0 }
        var new = 0
        // Read after the generation: a secret added meanwhile bumps it again.
        let lent = LocalSecretSet(try await lentSecrets())
        var damaged = 0
        for (sequence, name) in cache.batches() where sequence <= record.cursor.sequence {
            guard !Task.isCancelled else { throw .cancelled }
            let found: [FeedMatch]
            do throws(FeedError) {
                found = try cache.matches(in: name, of: record.cursor.feedID, secrets: lent)
            } catch {
                cache.drop(name)
                damaged += 1
                continue
            }
            if !found.isEmpty {
                new += try save(record, matches: found.map(Match.init), as: .recheck)
            }
            await Task.yield()
        }
        // Not fetched again: a request that only a new secret brings about would tell of it.
        if damaged > 0 { environment.log(.keptBatchesDamaged(damaged)) }
        var next = record
        next.generation = generation
        try save(next, as: .recheck)
        return new
    }

    func lentSecrets() async throws(ClientError) -> [LocalSecret] {
        var lent: [LocalSecret] = []
        do {
            try await secrets.lend { id, bytes in
                if let secret = LocalSecret(id: id, bytes: bytes) { lent.append(secret) }
            }
        } catch {
            throw .secrets
        }
        return lent
    }
}
