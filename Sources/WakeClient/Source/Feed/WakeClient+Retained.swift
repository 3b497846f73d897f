import WakeFeed

extension WakeClient {
    /// Checks the retained batches against all secrets.
    /// - Returns: how many matches are new.
    func recheck(_ feed: FeedSource) async throws(ClientError) -> Int {
        var new = 0
        let lent = LocalSecretSet(try await lentSecrets(of: feed))
        var damaged = 0
        for (sequence, name) in feed.cache.batches() where sequence <= record.cursor.sequence {
            guard !Task.isCancelled else { throw .cancelled }
            let found: [FeedMatch]
            do throws(FeedError) {
                found = try feed.cache.matches(in: name, of: record.cursor.feedID, secrets: lent)
            } catch {
                feed.cache.drop(name)
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
        return new
    }

    func lentSecrets(of feed: FeedSource) async throws(ClientError) -> [LocalSecret] {
        var lent: [LocalSecret] = []
        do {
            try await feed.secrets.lend { id, bytes in
                if let secret = LocalSecret(id: id, bytes: bytes) { lent.append(secret) }
            }
        } catch {
            throw .secrets
        }
        return lent
    }
}
