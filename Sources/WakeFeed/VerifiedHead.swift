/// A head that was verified, and what to do next.
public struct VerifiedHead: Sendable {
    /// A batch to fetch.
    public struct PlannedBatch: Sendable, Equatable {
        /// Its number.
        public let sequence: UInt64
        /// Its file's name under `b/`.
        public let name: String
    }

    /// Whether the place it came from may be behind.
    public enum Freshness: Sendable, Equatable {
        /// Nothing speaks against it.
        case current
        /// A wake-up spoke of a newer batch: look again after `settings.staleEdgeWait`, at most
        /// `FeedLimits.staleEdgeAttempts` times.
        case edgeIsStale
    }

    /// The head itself.
    public let head: FeedHead
    /// The key that signed it.
    let signer: FeedKey
    /// The cursor with which to go on: it knows the newest wishes and keys. Its sequence moved only
    /// over batches that are not retained any more (a gap, or a new client's beginning).
    public let cursor: FeedCursor
    /// What to tell while going on.
    public let warnings: [FeedWarning]
    /// Whether to look again soon.
    public let freshness: Freshness

    /// The batches to fetch, in the order to fetch them; empty when up to date.
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
