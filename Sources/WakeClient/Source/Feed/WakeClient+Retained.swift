import WakeFeed

extension WakeClient {
    /// Checks the retained batches against all secrets.
    /// - Returns: how many matches are new.
    func recheck(_ feed: FeedSource) async throws(ClientError) -> Int {
        var new = 0
        let lent = try await lentSecrets(of: feed)
        for (sequence, name) in feed.cache.batches() where sequence <= record.cursor.sequence {
            guard !Task.isCancelled else { throw .cancelled }
            guard let batch = feed.cache.batch(name, of: record.cursor.feedID) else {
                feed.cache.drop(name)
                continue
            }
            let matches = batch.matches(of: lent).map(Match.init)
            if !matches.isEmpty { new += try save(record, matches: matches, as: .recheck) }
            await Task.yield()
        }
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
