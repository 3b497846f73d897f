// A cycle over what the app publishes in a format of its own.

extension WakeClient {
    /// Fetches and checks page after page; each is stored with what was found in it as one step.
    func look(at own: OwnSource) async throws(ClientError) -> SyncOutcome {
        var (batches, matches) = (0, 0)
        for _ in 0..<OwnSource.pagesPerCycle {
            guard case .own(let cursor, _) = record.position else {
                preconditionFailure("the state belongs to another kind of source")
            }
            let page = try await own.page(
                after: cursor, in: environment, onLate: { lastFailure = .source(.slow) })
            batches += page.batches
            matches += try commit(page, of: own)
            guard page.hasMore else {
                environment.log(.cycleEnded(batches: batches))
                return batches == 0 ? .upToDate : .checked(batches: batches, matches: matches)
            }
            guard page.cursor != cursor else { throw .source(.stuck) }
        }
        throw .source(.endless)
    }

    /// Matches, cursor and outbox in one transaction: a crash loses none and repeats none.
    private func commit(
        _ page: OwnSource.CheckedPage, of own: OwnSource
    ) throws(ClientError) -> Int {
        let now = environment.wallSeconds()
        var next = record
        next.position = .own(page.cursor, own.settings)
        next.watch.headVerified(now: now)
        let old = now - own.retentionSeconds
        return try save(
            next, matches: Self.stamped(page.matches, at: now),
            dropBefore: (UInt64(clamping: old), old), as: .batch)
    }

    /// Checks the past against what the device knows now, as far as the source keeps a past.
    /// - Returns: how many matches are new.
    func recheck(_ own: OwnSource) async throws(ClientError) -> Int {
        // Before the first page there is no past.
        if case .own(nil, _) = record.position { return 0 }
        let matches = try await own.recheck(
            in: environment, onLate: { lastFailure = .source(.slow) })
        guard !matches.isEmpty else { return 0 }
        let now = environment.wallSeconds()
        return try save(record, matches: Self.stamped(matches, at: now), as: .recheck)
    }

    /// A source has no numbers of batches: what stands in their place is when it last brought the
    /// match, so that one which goes on being published is remembered for as long.
    private static func stamped(_ matches: [Match], at now: Int64) -> [Match] {
        matches.map {
            Match(
                id: $0.id, secretID: $0.secretID, note: $0.note, sequence: UInt64(clamping: now))
        }
    }
}
