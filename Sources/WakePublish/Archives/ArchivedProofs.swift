package import WakeFeed
import WakeSystem

/// The proofs of downloaded heads: each with its head, then with the others, then with one another,
/// as a client that met them in the order of their trees. What they prove is more than the newest
/// head: the leaves before it come with every proof, and lead to the same root.
package struct ArchivedProofs {
    /// A proof that holds.
    package struct Proof: Sendable, Equatable {
        /// The entry that it is of, from 0, and the heads in the log.
        package let index: UInt64
        package let size: UInt64
        /// The number of the policy's witnesses that have cosigned; nil without a policy.
        package let cosigners: Int?
        /// Too many of the cosignatures are older than a head's life.
        package let isStale: Bool
    }

    private struct Head {
        let place: Int
        let leaf: TreeHash
        let proof: LogProof?
        let life: Int64
        /// Knows the keys that may have signed a checkpoint with this head in it.
        let cursor: FeedCursor
    }

    private let policy: WitnessPolicy?
    private let known: LogCursor?
    private let now: Int64
    private var heads: [Head] = []

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

    /// Adds a head that was verified, with the proof that follows it in its file; the newest last.
    mutating func add(
        _ head: FeedHead, _ leaf: TreeHash, _ proof: LogProof?, _ cursor: FeedCursor, at place: Int
    ) {
        heads.append(
            Head(place: place, leaf: leaf, proof: proof, life: head.life, cursor: cursor))
    }

    /// - Returns: what became of the proof of each head that has one, and the places of the heads
    ///   that are proven.
    func check() -> (results: [Int: Result<Proof, HeadProofFault>], proven: Set<Int>) {
        var results: [Int: Result<Proof, HeadProofFault>] = [:]
        var proven: Set<Int> = []
        var last: LogCursor?
        let ordered = heads.compactMap { head in head.proof.map { (head, $0) } }
            .sorted { ($0.1.size, $0.0.place) < ($1.1.size, $1.0.place) }
        for (head, proof) in ordered {
            do throws(HeadProofFault) {
                let found = try places(in: proof, of: head)
                let verified = try verify(proof, of: head, after: last)
                last = verified.cursor
                proven.formUnion(found)
                results[head.place] = .success(
                    Proof(
                        index: proof.index, size: proof.size,
                        cosigners: isNeeded ? verified.cosigners : nil,
                        isStale: verified.isStale))
            } catch { results[head.place] = .failure(error) }
        }
        return (results, proven)
    }

    /// The places of the heads that the proof is of, or that its history has: both lead to the
    /// checkpoint's root.
    private func places(
        in proof: LogProof, of head: Head
    ) throws(HeadProofFault) -> [Int] {
        guard proof.includes(head.leaf) else { throw .otherHead }
        let root = proof.checkpoint.checkpoint.root
        let history = proof.extra.map { LogHistory($0, size: proof.size)?.leaves(in: root) }
        guard let leaves = history ?? [] else { throw .malformed }
        let known = Set(leaves + [head.leaf])
        return heads.filter { known.contains($0.leaf) }.map(\.place)
    }

    private func verify(
        _ proof: LogProof, of head: Head, after last: LogCursor?
    ) throws(HeadProofFault) -> HeadProofVerifier.Verified {
        func verify(after cursor: LogCursor?) throws(HeadProofFault) -> HeadProofVerifier.Verified {
            try HeadProofVerifier(policy: policy, cursor: cursor).verify(
                proof, head.cursor, life: head.life, now: now)
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
