import WakeBytes

/// Decides, without clock, file or network, whether bytes are the feed's head, perhaps with a proof
/// after it, which it does not look at.
public struct HeadVerifier: Sendable {
    /// The client's state.
    public let cursor: FeedCursor
    private let key: FeedKey

    /// - Parameters:
    ///   - cursor: as it was stored last.
    ///   - key: the configured key; nil for the one that the cursor began with.
    public init(cursor: FeedCursor, key: FeedKey? = nil) {
        self.cursor = cursor
        self.key = key ?? cursor.chain.keys[0]
    }

    /// Whether the feed's file `keys` is to be fetched before this head is verified: by a client's
    /// first head, and by the first one of every other signer. It does not depend on which of the
    /// keys was configured, so the request says no more than those for the batches that follow.
    public func needsKeys(for head: Span<UInt8>) -> Bool {
        guard let layout = try? FeedHead.layout(of: head) else { return false }
        return cursor.newestIssued == nil || !cursor.chain.contains(key)
            || head.littleEndian(at: layout.keyID) != cursor.newestSigner.keyID
    }

    /// Performs the checks in order; the first that fails names the error. `keys`: the feed's file,
    /// which counts as absent when it does not verify; `accepted`: the newest head that was
    /// accepted, which the last check needs; `now`: seconds since 1970; `hint`: a wake-up's
    /// sequence, unsigned: it only makes a client fetch again.
    public func verify(
        _ bytes: Span<UInt8>, keys: [UInt8]? = nil, accepted: FeedHead? = nil, now: Int64,
        hint: UInt64? = nil
    ) throws(FeedError) -> VerifiedHead {
        let offered = keys.flatMap { try? KeyChain($0.span) }
        let cursor = offered.map { self.cursor.extended(by: $0, for: key) } ?? self.cursor
        _ = try FeedHead.layout(of: bytes)
        guard offered == nil || cursor.chain.contains(key) else { throw .wrongFeed }
        let (head, signer): (FeedHead, Int)
        do throws(FeedError) { (head, signer) = try cursor.head(bytes, since: key) } catch {
            // The keys are a feed's, and the configured one is not among them.
            guard error == .badSignature, let offered, !offered.contains(key) else { throw error }
            throw .wrongFeed
        }
        let contradiction = accepted?.contradiction(to: head)
        guard head.sequence >= cursor.sequence else {
            // Signed, and older: of another history it is more than a rollback.
            if let contradiction { throw .fork(sequence: contradiction) }
            throw .rollback(stored: cursor.sequence, offered: head.sequence)
        }
        // A head signed again for freshness keeps its header hash, so the hash alone decides.
        let known = head.sequence == cursor.sequence ? cursor.headerHash : nil
        guard known ?? head.headerHash == head.headerHash else {
            throw .fork(sequence: head.sequence)
        }
        if let known = cursor.headerHash, let suffix = head.suffix(of: cursor.sequence),
            known.suffix != suffix
        {
            throw .fork(sequence: cursor.sequence)
        }
        if let contradiction { throw .fork(sequence: contradiction) }
        return Self.advance(cursor, to: head, signedBy: signer, now: now, hint: hint)
    }

    private static func advance(
        _ cursor: FeedCursor, to head: FeedHead, signedBy signer: Int, now: Int64, hint: UInt64?
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
            next = next.advanced(to: head.sequence, head.headerHash)
        }
        let isStale = hint.map { $0 > head.sequence } ?? false
        return VerifiedHead(
            head: head, cursor: next, warnings: warnings,
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
    /// The next cursor: newest settings and keys; only batches no longer retained are passed over.
    public let cursor: FeedCursor
    /// Warnings that stop nothing.
    public let warnings: [FeedWarning]
    /// Whether to fetch the head again soon.
    public let freshness: Freshness

    /// The batches to fetch, in order; empty when up to date.
    public var plan: [PlannedBatch] {
        guard cursor.sequence < head.sequence else { return [] }
        return (cursor.sequence + 1...head.sequence).compactMap(batch)
    }

    /// A batch that the head names; nil for any other.
    package func batch(_ sequence: UInt64) -> PlannedBatch? { head.batch(sequence) }

    /// The batches that can never be checked; nil when none.
    public var missing: ClosedRange<UInt64>? {
        for case .gap(let missing) in warnings { return missing }
        return nil
    }
}

extension FeedHead {
    /// A batch that this head names; nil for any other.
    package func batch(_ sequence: UInt64) -> VerifiedHead.PlannedBatch? {
        batchName(for: sequence).map { .init(sequence: sequence, name: $0) }
    }

    /// Within what clocks may differ; seconds since 1970.
    package func isInForce(at time: Int64) -> Bool {
        let tolerance = FeedLimits.clockToleranceSeconds
        return issued - tolerance <= time && time <= expires + tolerance
    }
}
