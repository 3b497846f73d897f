import WakeSystem

/// The proofs among downloaded files: each by itself, then with the heads beside it, then with one
/// another, as a client that met them in the order of their trees. What they prove is more than the
/// newest head: the leaves before it come with every proof, and lead to the same root.
package struct ArchivedProofs {
    /// A proof that holds.
    package struct Proof: Sendable, Equatable {
        /// The entry that it is of, from 0, and the heads in the log.
        package let index: UInt64
        package let size: UInt64
        /// The number of the policy's witnesses that have cosigned; nil without a policy.
        package fileprivate(set) var cosigners: Int?
        /// Too many of the cosignatures are older than a head's life.
        package fileprivate(set) var isStale = false
    }

    private struct Head {
        let place: Int
        let leaf: TreeHash
        let life: Int64
        /// Knows the keys that may have signed a checkpoint with this head in it.
        let cursor: FeedCursor
    }

    private let policy: WitnessPolicy?
    private let known: LogCursor?
    private let now: Int64
    private var heads: [Head] = []
    private var proofs: [(place: Int, proof: LogProof)] = []

    /// - Parameters:
    ///   - policy: nil: proofs are held against the heads and the feed's signature alone, and heads
    ///     need none.
    ///   - known: a tree that was accepted before, which larger ones have to contain.
    ///   - now: seconds since 1970.
    package init(policy: WitnessPolicy? = nil, known: LogCursor? = nil, now: Int64 = 0) {
        self.policy = policy
        self.known = known
        self.now = now
    }

    /// Whether a head without a proof is refused.
    var isNeeded: Bool { policy != nil }

    mutating func add(_ proof: LogProof, at place: Int) -> Proof {
        proofs.append((place, proof))
        return Proof(index: proof.index, size: proof.checkpoint.checkpoint.size)
    }

    /// Adds a head that was verified; the newest last.
    mutating func add(_ head: FeedHead, _ leaf: TreeHash, _ cursor: FeedCursor, at place: Int) {
        heads.append(Head(place: place, leaf: leaf, life: head.life, cursor: cursor))
    }

    /// - Parameter chain: the feed's keys.
    /// - Returns: what became of each proof, and the places of the heads that are proven.
    func check(
        _ chain: KeyChain
    ) -> (results: [Int: Result<Proof, HeadProofFault>], proven: Set<Int>) {
        var results: [Int: Result<Proof, HeadProofFault>] = [:]
        var proven: Set<Int> = []
        var last: LogCursor?
        let ordered = proofs.sorted { one, other in
            let (size, otherSize) = (one.proof.size, other.proof.size)
            return (size, one.place) < (otherSize, other.place)
        }
        for (place, proof) in ordered {
            do throws(HeadProofFault) {
                let found = try heads(of: proof)
                let verified = try verify(proof, found.last, chain, after: last)
                last = verified.cursor
                proven.formUnion(found.map(\.place))
                var result = Proof(index: proof.index, size: proof.size)
                result.cosigners = isNeeded ? verified.cosigners : nil
                result.isStale = verified.isStale
                results[place] = .success(result)
            } catch { results[place] = .failure(error) }
        }
        return (results, proven)
    }

    /// The heads that the proof is of, or that its history has: both lead to the checkpoint's root.
    private func heads(of proof: LogProof) throws(HeadProofFault) -> [Head] {
        let root = proof.checkpoint.checkpoint.root
        let history = proof.extra.map { LogHistory($0, size: proof.size)?.leaves(in: root) }
        guard let leaves = history ?? [] else { throw .malformed }
        let start = proof.size - UInt64(leaves.count)
        if (start..<proof.size).contains(proof.index),
            !proof.includes(leaves[Int(proof.index - start)])
        {
            throw .malformed
        }
        let known = Set(leaves)
        let found = heads.filter { known.contains($0.leaf) || proof.includes($0.leaf) }
        guard heads.isEmpty || !found.isEmpty else { throw .otherHead }
        return found
    }

    /// - Parameter newest: of the heads that it proves; nil when there is none among the files.
    private func verify(
        _ proof: LogProof, _ newest: Head?, _ chain: KeyChain, after last: LogCursor?
    ) throws(HeadProofFault) -> HeadProofVerifier.Verified {
        func verify(after cursor: LogCursor?) throws(HeadProofFault) -> HeadProofVerifier.Verified {
            try HeadProofVerifier(policy: policy, cursor: cursor).verify(
                proof, newest?.cursor ?? FeedCursor(chain: chain),
                life: newest?.life ?? FeedLimits.lifetimeSeconds, now: now)
        }
        // An older tree than the accepted one is no rollback: files may be of any age.
        if let known, known.size <= proof.size { _ = try verify(after: known) }
        return try verify(after: last)
    }
}

extension LogProof {
    /// Leaves of the tree that the proof is in.
    fileprivate var size: UInt64 { checkpoint.checkpoint.size }
}
