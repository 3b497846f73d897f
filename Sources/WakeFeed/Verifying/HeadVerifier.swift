/// Decides, without clock, file or network, whether 4096 bytes are the feed's head.
public struct HeadVerifier: Sendable {
    /// The client's state.
    public let cursor: FeedCursor

    /// - Parameter cursor: as it was stored last.
    public init(cursor: FeedCursor) { self.cursor = cursor }

    /// Performs the checks in order; the first that fails names the error. `now`: seconds since
    /// 1970; `hint`: a wake-up's sequence, unsigned: it only makes a client fetch again.
    public func verify(
        _ bytes: Span<UInt8>, now: Int64, hint: UInt64? = nil
    ) throws(FeedError) -> VerifiedHead {
        let (head, signer) = try cursor.head(bytes)
        guard head.sequence >= cursor.sequence else {
            throw .rollback(stored: cursor.sequence, offered: head.sequence)
        }
        // A head signed again for freshness keeps its header hash, so the hash alone decides.
        let known = head.sequence == cursor.sequence ? cursor.headerHash : nil
        guard known ?? head.headerHash == head.headerHash else {
            throw .fork(sequence: head.sequence)
        }
        return advance(to: head, signedBy: signer, now: now, hint: hint)
    }

    private func advance(
        to head: FeedHead, signedBy signer: FeedKey, now: Int64, hint: UInt64?
    ) -> VerifiedHead {
        var warnings: [FeedWarning] = []
        let tolerance = FeedLimits.clockToleranceSeconds
        // Times near the ends of Int64 would overflow. Never an error: matching needs no clock.
        let now = min(max(now, .min + tolerance), .max - tolerance)
        if head.expires < now - tolerance { warnings.append(.stale(expired: head.expires)) }
        if head.issued > now + tolerance { warnings.append(.clockSkew(issued: head.issued)) }
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
            next = next.advanced(to: head.sequence, head.headerHash, signer: signer, isNewest: true)
        }
        let isStale = hint.map { $0 > head.sequence } ?? false
        return VerifiedHead(
            head: head, signer: signer, cursor: next, warnings: warnings,
            freshness: isStale ? .edgeIsStale : .current)
    }
}

/// A verified head and the next steps of the client.
public struct VerifiedHead: Sendable {
    /// A batch to fetch.
    public struct PlannedBatch: Sendable, Equatable {
        /// Its number.
        public let sequence: UInt64
        /// Its file's name under `b/`.
        public let name: String
    }

    /// Whether the server or cache it came from may be behind.
    public enum Freshness: Sendable, Equatable {
        /// No sign of it.
        case current
        /// A wake-up named a newer batch: to be fetched again after `cacheSeconds` plus a random
        /// part of `spreadSeconds`, at most `FeedLimits.staleEdgeAttempts` times.
        case edgeIsStale
    }

    /// The head itself.
    public let head: FeedHead
    let signer: FeedKey
    /// The next cursor: newest settings and keys; only batches no longer retained are passed over.
    public let cursor: FeedCursor
    /// Warnings that stop nothing.
    public let warnings: [FeedWarning]
    /// Whether to fetch the head again soon.
    public let freshness: Freshness

    /// The batches to fetch, in order; empty when up to date.
    public var plan: [PlannedBatch] {
        guard cursor.sequence < head.sequence else { return [] }
        return (cursor.sequence + 1...head.sequence).compactMap { sequence in
            head.batchName(for: sequence).map { PlannedBatch(sequence: sequence, name: $0) }
        }
    }

    /// The batches that can never be checked; nil when none.
    public var missing: ClosedRange<UInt64>? {
        for case .gap(let missing) in warnings { return missing }
        return nil
    }
}
