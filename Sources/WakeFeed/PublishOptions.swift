/// How an input becomes batches.
package struct PublishOptions: Sendable {
    /// Bytes of a digest; an input of ready digests brings its own.
    package var width: DigestWidth
    /// Whether digests of secrets are salted, so that an item's digests of two batches cannot be
    /// linked.
    package var isSalted: Bool
    /// Bytes of a sealed note in every batch, with notes or not; 0 for 256 in inputs with notes and
    /// none in others.
    package var noteBytes: Int
    /// Digests in one batch at most; a multiple of 1024. A larger input becomes several batches.
    package var batchDigests: Int
    /// Decoys fill every batch up to at least this many digests; a multiple of 1024.
    package var minimumDigests: Int
    /// Whether to publish an input again that was published before.
    package var again: Bool

    package init(
        width: DigestWidth = .standard, isSalted: Bool = true, noteBytes: Int = 0,
        batchDigests: Int = 65_536, minimumDigests: Int = FeedLimits.digestMultiple,
        again: Bool = false
    ) {
        self.width = width
        self.isSalted = isSalted
        self.noteBytes = noteBytes
        self.batchDigests = batchDigests
        self.minimumDigests = minimumDigests
        self.again = again
    }
}

/// What a publish came to.
package enum PublishOutcome: Sendable, Equatable {
    /// These batches are in the feed now.
    case published(ClosedRange<UInt64>)
    /// These batches hold the same input already; nothing was changed.
    case alreadyPublished(ClosedRange<UInt64>)

    /// The newest of the batches.
    package var sequence: UInt64 {
        switch self {
        case .published(let batches), .alreadyPublished(let batches): batches.upperBound
        }
    }
}

/// What has just been done for good. A crash between any two of them leaves a feed that verifies,
/// and a publish that can be repeated.
package enum PublishStep: Sendable, Equatable {
    /// Leftovers of earlier crashes were removed.
    case pruned
    /// A batch's bytes are on disk, under a temporary name.
    case batchWritten(UInt64)
    /// A batch has its name; no head speaks of it yet.
    case batchNamed(UInt64)
    /// The intent is noted.
    case journalWritten
    /// The new head's bytes are on disk, under a temporary name.
    case headWritten
    /// The new head is the head.
    case headNamed
}
