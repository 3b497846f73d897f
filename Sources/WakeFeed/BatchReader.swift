private import WakeSodium

/// Verifies and searches one batch in a single pass while its bytes come in, in pieces of any size.
///
/// Nothing is known to be true before `finish` returns: neither matches nor the cursor are handed
/// out earlier. Memory stays bounded whatever comes: the header, the table of local digests, and
/// the sealed notes of matches.
public struct BatchReader: ~Copyable {
    private let expected: Expectation
    private let secrets: [LocalSecret]
    private var headerBytes: [UInt8] = []
    private var payload: PayloadReader?
    private var failure: FeedError?

    /// The header; nil until all of it came and was verified.
    public private(set) var header: BatchHeader?

    /// - Parameters:
    ///   - cursor: where the client stands; the batch to come is the one after.
    ///   - head: names the batch.
    ///   - secrets: what to look for.
    public init(cursor: FeedCursor, head: VerifiedHead, secrets: [LocalSecret]) {
        precondition(head.head.retains(cursor.sequence + 1), "no batch follows this cursor")
        expected = Expectation(cursor: cursor, head: head)
        self.secrets = secrets
        headerBytes.reserveCapacity(FeedLimits.headerBytes)
    }

    /// Bytes still to come; nil as long as the header is incomplete.
    public var remainingBytes: Int? { payload?.remaining }

    /// Takes the next bytes. After an error only the same error follows.
    public mutating func feed(_ piece: Span<UInt8>) throws(FeedError) {
        if let failure { throw failure }
        do throws(FeedError) {
            try take(piece)
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func take(_ piece: Span<UInt8>) throws(FeedError) {
        var start = 0
        if payload == nil {
            start = min(piece.count, FeedLimits.headerBytes - headerBytes.count)
            headerBytes.append(piece.extracting(0..<start))
            guard headerBytes.count == FeedLimits.headerBytes else { return }
            let header = try expected.verify(headerBytes.span)
            let matcher = Matcher(secrets: secrets, width: header.width, salt: header.salt)
            self.header = header
            payload = PayloadReader(header: header, matcher: matcher)
        }
        try payload?.feed(piece.extracting(start..<piece.count))
    }

    /// Ends the batch.
    /// - Returns: the cursor after it, and what was found.
    public consuming func finish() throws(FeedError) -> CommittedBatch {
        if let failure { throw failure }
        guard let header, let payload else { throw .truncated }
        let hits = try payload.finish()
        let hash = HeaderHash(ofHeader: headerBytes.span)
        let matches = hits.flatMap { hit in
            hit.secrets.map { index in
                FeedMatch(
                    secret: secrets[index], sealedNote: hit.sealedNote, feedID: header.feedID,
                    sequence: header.sequence)
            }
        }
        return CommittedBatch(
            header: header, cursor: expected.cursor(after: header, hash: hash), matches: matches)
    }
}

/// A batch that was verified to its last byte.
public struct CommittedBatch: Sendable {
    /// Its header.
    public let header: BatchHeader
    /// The client's cursor after it.
    public let cursor: FeedCursor
    /// One for each local secret whose digest was published in it.
    public let matches: [FeedMatch]
}

extension FeedMatch {
    init(secret: LocalSecret, sealedNote: [UInt8]?, feedID: FeedID, sequence: UInt64) {
        let note = sealedNote.flatMap { SealedNote.open($0, secret: secret.bytes) }
        self.init(
            matchID: MatchID(feedID: feedID, secret: secret.bytes, note: note),
            secretID: secret.id, note: note, sequence: sequence)
    }
}
