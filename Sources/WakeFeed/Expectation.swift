/// What a client knows of the next batch before its first byte.
struct Expectation: Sendable {
    private let cursor: FeedCursor
    private let head: VerifiedHead
    private let sequence: UInt64

    init(cursor: FeedCursor, head: VerifiedHead) {
        self.cursor = cursor
        self.head = head
        sequence = cursor.sequence + 1
    }

    /// The checks in their order; the first that fails names the error.
    /// - Parameter bytes: 256 bytes.
    func verify(_ bytes: Span<UInt8>) throws(FeedError) -> BatchHeader {
        let signer = try BatchHeader.signer(of: bytes, among: cursor.acceptedKeys)
        let header = try BatchHeader(signed: bytes)
        guard header.feedID == cursor.feedID else { throw .wrongFeed }
        guard header.sequence == sequence else { throw .corruptBatch(.sequence) }
        guard cursor.accepts(signer, at: sequence) else { throw .badSignature }
        // Both sides of the chain. A rightly signed batch of this number that does not fit into it
        // is a second one: the publisher made two.
        if let known = cursor.headerHash, header.previous != known {
            throw .fork(sequence: sequence)
        }
        let hash = HeaderHash(ofHeader: bytes)
        guard hash.suffix == head.head.suffix(of: sequence),
            sequence < head.head.sequence || hash == head.head.headerHash
        else { throw .fork(sequence: sequence) }
        try header.checkSize()
        return header
    }

    /// Where the client stands once the batch was verified to its end.
    func cursor(after header: BatchHeader, hash: HeaderHash) -> FeedCursor {
        var next = cursor
        next.sequence = header.sequence
        next.headerHash = hash
        if next.sequence == head.head.sequence { next.retireKeys(olderThan: head.signer) }
        return next
    }
}
