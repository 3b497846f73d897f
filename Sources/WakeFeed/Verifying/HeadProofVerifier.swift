import WakeBytes
internal import WakeCrypto

/// A tree of a feed's log that a client accepted: every later one contains it.
package struct LogCursor: Sendable, Hashable {
    let origin: NoteKeyName
    package let size: UInt64
    let root: TreeHash

    /// The cursor as bytes to be stored.
    package func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: size)
        return bytes + root.bytes + origin.bytes
    }

    init(origin: NoteKeyName, size: UInt64, root: TreeHash) {
        self.origin = origin
        self.size = size
        self.root = root
    }

    /// - Returns: nil for bytes that `encode` cannot have given.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count > 40, let root = TreeHash(bytes[8..<40]),
            let origin = NoteKeyName(Array(bytes[40...]))
        else { return nil }
        self.init(origin: origin, size: bytes.span.littleEndian(at: 0), root: root)
    }
}

/// A refusal of a head for its proof. The head before stays in force.
public enum HeadProofFault: Error, Equatable, Sendable {
    /// No proof: absent, cut off, or another file.
    case malformed
    /// The proof of another head.
    case otherHead
    /// Of a log with another name than the feed's: a publisher could keep two.
    case otherLog
    /// The checkpoint is not signed with the feed's key, or a cosignature is false.
    case badSignature
    /// Fewer witnesses than the policy asks for have cosigned.
    case noQuorum
    /// The log is smaller than it was.
    case rollback
    /// The log is not the one that was accepted before: somebody is shown another one.
    case otherHistory
}

/// Decides, without clock, file or network, whether a head that was verified is one that everybody
/// can see: in the feed's log, under a checkpoint that a quorum of witnesses cosigned.
package struct HeadProofVerifier: Sendable {
    private let policy: WitnessPolicy?
    private let cursor: LogCursor?

    /// - Parameters:
    ///   - policy: nil for who looks at files and names no witnesses: then the feed's own signature
    ///     is enough, under any name. No client believes a proof so.
    ///   - cursor: nil for a client that has accepted no proof yet.
    package init(policy: WitnessPolicy?, cursor: LogCursor?) {
        self.policy = policy
        self.cursor = cursor
    }

    package struct Verified: Sendable, Equatable {
        package let cursor: LogCursor
        /// The number of the policy's witnesses that have cosigned.
        package let cosigners: Int
        /// Without the cosignatures that are older than a head's life there is no quorum. One of
        /// the two clocks may be wrong: a warning, as of a head that is stale.
        package let isStale: Bool
    }

    /// Performs the checks in order; the first that fails names the fault.
    /// - Parameters:
    ///   - file: the head that `verified` was read from, and its proof.
    ///   - now: seconds since 1970.
    package func verify(
        _ file: [UInt8], of verified: VerifiedHead, now: Int64
    ) throws(HeadProofFault) -> Verified {
        let head = verified.head
        guard let proof = head.proof(in: file) else { throw .malformed }
        let leaf = MerkleTree.leaf(file.span.extracting(0..<head.byteCount))
        guard proof.includes(leaf) else { throw .otherHead }
        return try verify(proof, verified.cursor, life: head.life, now: now)
    }

    /// The checks that are left when a proof is known to be of the right head.
    /// - Parameters:
    ///   - feed: knows the keys that may have signed the checkpoint.
    ///   - life: of the head, seconds.
    package func verify(
        _ proof: LogProof, _ feed: FeedCursor, life: Int64, now: Int64
    ) throws(HeadProofFault) -> Verified {
        let tree = proof.checkpoint.checkpoint
        guard let origin = NoteKeyName(tree.origin), policy?.allows(origin, of: feed.chain) ?? true
        else { throw .otherLog }
        let times = try cosignatures(of: proof.checkpoint.note, origin, feed)
        guard isQuorum(Set(times.keys)) else { throw .noQuorum }
        try checkHistory(of: tree, proof.extra)
        let fresh = times.filter { now - FeedLimits.clockToleranceSeconds - life <= $0.value }
        return Verified(
            cursor: LogCursor(origin: origin, size: tree.size, root: tree.root),
            cosigners: times.count, isStale: !isQuorum(Set(fresh.keys)))
    }

    private func isQuorum(_ cosigners: Set<Int>) -> Bool { policy?.isQuorum(cosigners) ?? true }

    /// The times of the witnesses that cosigned, by their places in the policy.
    private func cosignatures(
        of note: SignedNote, _ origin: NoteKeyName, _ cursor: FeedCursor
    ) throws(HeadProofFault) -> [Int: Int64] {
        // A key that was succeeded signs no checkpoint, as it signs no head.
        let signers = cursor.liveKeys.map {
            NoteKey(name: origin, algorithm: .ed25519, key: $0.verifying)
        }
        let results: [NoteVerification?]
        do throws(NoteError) {
            results = try note.verify(signers + (policy?.witnesses ?? []).map(\.key))
        } catch { throw .badSignature }
        guard results[..<signers.count].contains(where: { $0 != nil }) else { throw .badSignature }
        var times: [Int: Int64] = [:]
        for (index, result) in results[signers.count...].enumerated() {
            if let result { times[index] = result.time }
        }
        return times
    }

    private func checkHistory(
        of tree: LogCheckpoint, _ extra: [UInt8]?
    ) throws(HeadProofFault) {
        guard let cursor else { return }
        guard cursor.origin.bytes == tree.origin else { throw .otherHistory }
        guard tree.size >= cursor.size else { throw .rollback }
        if tree.size == cursor.size {
            guard tree.root == cursor.root else { throw .otherHistory }
            return
        }
        // Without a history that reaches back so far, witnesses alone vouch that the log went on.
        let history = extra.flatMap { LogHistory($0, size: tree.size) }
        let answer = history?.contains(size: cursor.size, root: cursor.root, newest: tree.root)
        guard answer != .contradicted else { throw .otherHistory }
        // A history that is cut short, or left out, would hide a fork.
        guard answer == .contained || tree.size - cursor.size > UInt64(LogHistory.leaves) else {
            throw .otherHistory
        }
    }
}

extension FeedHead {
    /// The proof that follows this head in its file; nil when that is none.
    package func proof(in file: [UInt8]) -> LogProof? {
        let proof = file[byteCount...]
        return proof.count <= FeedLimits.proofBytes ? LogProof(Array(proof)) : nil
    }
}

extension WitnessPolicy {
    /// Whether a log of this name is the feed's. A feed has one log: of its identifier's name, or
    /// of the one that the policy has for a key of the feed. A second log of the same key is
    /// another history that no witness would notice.
    package func allows(_ origin: NoteKeyName, of chain: KeyChain) -> Bool {
        guard !logs.isEmpty else { return origin == NoteKeyName(defaultFor: chain.feedID) }
        return logs.contains { log in
            log.key.name == origin && chain.keys.contains { $0.bytes == log.key.material }
        }
    }
}
