// What is added later is checked against the past without any request.

extension WakeClient {
    /// Checks what is retained again if the app has more to look for since the last time: the
    /// batches of the feed, or whatever a `DataSource` keeps. No request is made.
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
        let generation = try await generation()
        guard record.generation != generation else { return 0 }
        // Read after the generation: a secret added meanwhile bumps it again.
        let new =
            switch source {
            case .feed(let feed): try await recheck(feed)
            case .own(let own): try await recheck(own)
            }
        var next = record
        next.generation = generation
        try save(next, as: .recheck)
        return new
    }

    private func generation() async throws(ClientError) -> UInt64 {
        switch source {
        case .own(let own):
            return try await own.generation(
                in: environment, onLate: { lastFailure = .source(.slow) })
        case .feed(let feed):
            do {
                return try await feed.secrets.generation()
            } catch {
                throw .secrets
            }
        }
    }
}
