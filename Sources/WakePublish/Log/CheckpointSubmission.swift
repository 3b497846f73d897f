package import WakeFeed
import WakeSystem

/// A checkpoint on its way to witnesses, and the proofs that each of them needs.
package struct CheckpointSubmission: Sendable {
    private let directory: FeedDirectory
    package let checkpoint: SignedCheckpoint
    /// The size of the tree that the log's witnesses saw last, as far as it is known: of the
    /// checkpoint that is served.
    package let probableSize: UInt64

    init(
        _ checkpoint: SignedCheckpoint, in directory: FeedDirectory
    ) throws(FeedDirectoryError) {
        self.directory = directory
        self.checkpoint = checkpoint
        probableSize = min(
            try directory.checkpoint()?.checkpoint.size ?? 0, checkpoint.checkpoint.size)
    }

    /// The request to a witness that cosigned a tree of that size last.
    /// - Returns: nil when that tree is larger than the log: the witness saw another one.
    package func request(
        from oldSize: UInt64
    ) throws(FeedDirectoryError) -> AddCheckpointRequest? {
        let size = checkpoint.checkpoint.size
        guard let plan = MerkleProofPlan.consistency(from: oldSize, to: size) else { return nil }
        return AddCheckpointRequest(
            oldSize: oldSize, proof: try directory.hashes(plan), checkpoint: checkpoint)
    }
}

/// An asker of witnesses; blocks until it has a quorum, or throws.
package typealias WitnessCollector =
    @Sendable (CheckpointSubmission) throws(FeedDirectoryError) -> [NoteSignature]

/// A publish that no quorum of witnesses allowed.
package struct WitnessRefusal: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Too few cosignatures: nothing was published, and the next publish asks again.
        case noQuorum
        /// A witness holds a tree that this log does not continue.
        case otherHistory
        /// The policy is none, or nobody can meet it: nothing was signed.
        case policy
    }

    package let kind: Kind
    /// The witnesses that did not cosign, with the reason of each.
    package let reasons: [String]

    package init(_ kind: Kind, reasons: [String]) {
        self.kind = kind
        self.reasons = reasons
    }

    var message: String {
        let what =
            switch kind {
            case .noQuorum:
                "too few witnesses cosigned, nothing was published; publish again later"
            case .otherHistory:
                "a witness holds ANOTHER HISTORY of this log: two publishers use one key, or this "
                    + "directory is an old copy; nothing was published"
            case .policy: "the policy of witnesses cannot be used; nothing was published"
            }
        return ([what] + reasons.map { "  " + $0 }).joined(separator: "\n")
    }
}
