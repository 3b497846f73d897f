/// Decides whether 4096 bytes are the feed's head and what follows from it. Pure: no clock, no
/// file, no network; the same input gives the same answer.
public struct HeadVerifier: Sendable {
    /// What the client knows so far.
    public let cursor: FeedCursor

    /// - Parameter cursor: as it was stored last.
    public init(cursor: FeedCursor) {
        self.cursor = cursor
    }

    /// The checks in their order; the first that fails names the error.
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - now: seconds since 1970.
    ///   - hint: the sequence a wake-up spoke of. Unsigned: it only makes a client look again.
    public func verify(
        _ bytes: Span<UInt8>, now: Int64, hint: UInt64? = nil
    ) throws(FeedError) -> VerifiedHead {
        // Before the signature holds, no byte may choose another code than `.badSignature`.
        let signer = try FeedHead.signer(of: bytes, among: cursor.acceptedKeys)
        guard FeedHead.feedID(in: bytes) == cursor.feedID else { throw .wrongFeed }
        let head = try FeedHead(signed: bytes)
        guard cursor.accepts(signer, at: head.sequence) else { throw .badSignature }
        guard head.sequence >= cursor.sequence else {
            throw .rollback(stored: cursor.sequence, offered: head.sequence)
        }
        // A head signed again for freshness keeps its header hash, so the hash alone decides.
        if head.sequence == cursor.sequence, let known = cursor.headerHash,
            known != head.headerHash
        {
            throw .fork(sequence: head.sequence)
        }
        return advance(to: head, signedBy: signer, now: now, hint: hint)
    }

    private func advance(
        to head: FeedHead, signedBy signer: FeedKey, now: Int64, hint: UInt64?
    ) -> VerifiedHead {
        var warnings: [FeedWarning] = []
        let tolerance = FeedLimits.clockToleranceSeconds
        // Never a reason to stop: matching needs no clock.
        if head.expires < now.clampedSubtracting(tolerance) {
            warnings.append(.stale(expired: head.expires))
        }
        if head.issued > now.clampedAdding(tolerance) {
            warnings.append(.clockSkew(issued: head.issued))
        }
        var next = cursor
        next.adopt(head, signedBy: signer)
        if cursor.sequence + 1 < head.firstSequence {
            let missing = cursor.sequence + 1...head.firstSequence - 1
            // A client that never saw a head misses nothing: it begins here.
            if cursor.newestIssued != nil { warnings.append(.gap(missing: missing)) }
            next.sequence = head.firstSequence - 1
            next.headerHash = nil
        }
        if next.sequence == head.sequence {
            next.headerHash = head.headerHash
            next.retireKeys(olderThan: signer)
        }
        let isStale = hint.map { $0 > head.sequence } ?? false
        return VerifiedHead(
            head: head, signer: signer, cursor: next, warnings: warnings,
            freshness: isStale ? .edgeIsStale : .current)
    }
}

extension Int64 {
    fileprivate func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    fileprivate func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? .min : difference
    }
}
