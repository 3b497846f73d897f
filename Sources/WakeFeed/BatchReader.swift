private import WakeSodium

/// Verifies and searches one batch in a single pass while its bytes come in, in pieces of any size.
///
/// Nothing is known to be true before `finish` returns: neither matches nor the cursor are handed
/// out earlier. Memory stays bounded whatever comes: the header, the table of local digests, and
/// the sealed notes of matches.
public struct BatchReader: ~Copyable {
    private let expected: Expectation
    private let secrets: LocalSecretSet
    private var headerBytes: [UInt8] = []
    private var payload: PayloadReader?
    private var failure: FeedError?

    /// The header; nil until all of it came and was verified.
    public private(set) var header: BatchHeader?

    /// - Parameters:
    ///   - cursor: where the client stands; the batch to come is the one after.
    ///   - head: names the batch.
    ///   - secrets: what to look for; the same set for all batches of a cycle.
    public init(cursor: FeedCursor, head: VerifiedHead, secrets: LocalSecretSet) {
        precondition(head.head.retains(cursor.sequence + 1), "no batch follows this cursor")
        expected = Expectation(cursor: cursor, head: head)
        self.secrets = secrets
        headerBytes.reserveCapacity(FeedLimits.headerBytes)
    }

    /// As above, for a single batch.
    public init(cursor: FeedCursor, head: VerifiedHead, secrets: [LocalSecret]) {
        self.init(cursor: cursor, head: head, secrets: LocalSecretSet(secrets))
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
            self.header = header
            payload = PayloadReader(header: header, matcher: secrets.matcher(for: header))
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
        return CommittedBatch(
            header: header, cursor: expected.cursor(after: header, hash: hash),
            matches: secrets.matches(of: hits, in: header))
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
