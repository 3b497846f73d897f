package import WakeFeed

package struct PublishOptions: Sendable {
    /// The chance that a secret matches a batch that does not have it.
    package var budget: FalseMatchBudget
    /// Whether digests of secrets are salted, so that those of two batches cannot be linked.
    package var isSalted: Bool
    /// Bytes of a sealed note, also in inputs without notes; 0 for 256 with notes, else none.
    package var noteBytes: Int
    /// The most digests in one batch, a multiple of 1024, within what the format allows; a larger
    /// input becomes several batches.
    package var batchDigests: Int
    /// The fewest digests in a batch, filled with decoys; a multiple of 1024.
    package var minimumDigests: Int
    /// Whether to publish an input again that was published before.
    package var again: Bool

    package init(
        budget: FalseMatchBudget = .standard, isSalted: Bool = true, noteBytes: Int = 0,
        batchDigests: Int = 65_536, minimumDigests: Int = FeedLimits.digestMultiple,
        again: Bool = false
    ) {
        self.budget = budget
        self.isSalted = isSalted
        self.noteBytes = noteBytes
        self.batchDigests = batchDigests
        self.minimumDigests = minimumDigests
        self.again = again
    }
}

/// The result of a publish.
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

/// The simulated result of a publish.
package struct PublishPreview: Sendable, Equatable {
    /// The batches it would add, or that hold the same input already.
    package let outcome: PublishOutcome
    package let items: Int
    /// Decoys beside them.
    package let decoys: Int
    /// The most bytes every client would fetch, headers included; the code of digests takes about
    /// 1 % less, as chance will have it.
    package let bytes: Int
}

/// A durable step of a publish: files are written under temporary names, then named.
package enum PublishStep: Sendable, Equatable {
    /// Leftovers of earlier crashes were removed.
    case pruned
    case batchWritten(UInt64)
    /// A batch has its name; no head names it yet.
    case batchNamed(UInt64)
    case journalWritten
    /// A file of the log's tree, which nothing refers to yet.
    case tileWritten, tileNamed
    /// The head is in the log for good; it is not served yet.
    case logged
    /// The witnesses have cosigned, if there are any.
    case cosigned
    case checkpointWritten, checkpointNamed
    /// The head with its proof.
    case headWritten, headNamed

    // Of a succession.

    /// The new key is in a file.
    case keyMade
    case keysWritten
    case keysNamed
    /// The new key's file has taken the old one's place.
    case keyReplaced
}

/// The outward properties of a batch.
struct BatchShape: Sendable, Equatable {
    let budget: FalseMatchBudget
    /// 0 for a batch without notes.
    let noteBytes: Int
    let isSalted: Bool

    init(of input: FeedInput, _ options: PublishOptions) throws(FeedDirectoryError) {
        let needed = input.hasNotes ? FeedLimits.noteBytes : 0
        noteBytes = options.noteBytes != 0 ? options.noteBytes : needed
        budget = options.budget
        // Digests that were derived elsewhere cannot be salted.
        if case .digests = input { isSalted = false } else { isSalted = options.isSalted }
        let multiple = FeedLimits.digestMultiple
        guard noteBytes == 0 || noteBytes >= FeedLimits.noteOverheadBytes,
            mostBytes(multiple) <= FeedLimits.payloadBytes,
            options.batchDigests >= multiple, options.minimumDigests >= multiple,
            options.minimumDigests % multiple == 0,
            options.minimumDigests <= capacity(limit: options.batchDigests)
        else { throw .options }
    }

    /// The most bytes of a payload with so many digests, a multiple of 1024.
    func mostBytes(_ count: Int) -> Int {
        DigestRange(count: FeedLimits.digestMultiple, budget: budget).codeBytes.upperBound
            * (count / FeedLimits.digestMultiple) + count * noteBytes
    }

    /// The most digests in one batch, by the options and the format.
    func capacity(limit: Int) -> Int {
        let multiple = FeedLimits.digestMultiple
        let fitting = FeedLimits.payloadBytes / mostBytes(multiple) * multiple
        return min(limit / multiple * multiple, fitting, budget.mostDigests)
    }

    /// Digests in a batch with `count` real ones.
    func padded(_ count: Int, _ options: PublishOptions) -> Int {
        let multiple = FeedLimits.digestMultiple
        return max((count + multiple - 1) / multiple * multiple, options.minimumDigests)
    }

    /// - Returns: the first line of the input, from 1, whose note is too long.
    func tooLongNote(in input: FeedInput) -> Int? {
        guard case .secrets(let items) = input, noteBytes > 0 else { return nil }
        let limit = SealedNote.capacity(noteBytes: noteBytes)
        return items.filter { ($0.note?.count ?? 0) > limit }.map(\.line).min()
    }
}
