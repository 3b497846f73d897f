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
        let lent = try await lentSecrets()
        for (sequence, name) in cache.batches() where sequence <= record.cursor.sequence {
            guard !Task.isCancelled else { throw .cancelled }
            guard let batch = cache.batch(name, of: record.cursor.feedID) else {
                cache.drop(name)
                continue
            }
            let matches = batch.matches(of: lent).map(Match.init)
            if !matches.isEmpty { new += try save(record, matches: matches, as: .recheck) }
            await Task.yield()
        }
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
