import WakeBytes

/// The plan of a proof: for each of its hashes the complete subtrees that it is made of. It names
/// what has to be read, before anything is.
package struct MerkleProofPlan: Sendable, Hashable {
    /// The tree's leaves.
    package let size: UInt64
    private let ranges: [Range<UInt64>]

    /// PATH of RFC 6962 §2.1.1: from the leaf's sibling to the root's child.
    /// - Returns: nil for a leaf that the tree has not.
    package static func inclusion(of index: UInt64, in size: UInt64) -> MerkleProofPlan? {
        guard index < size else { return nil }
        var (low, high, siblings) = (UInt64(0), size, [Range<UInt64>]())
        while high - low > 1 {
            let middle = low + split(high - low)
            if index < middle {
                siblings.append(middle..<high)
                high = middle
            } else {
                siblings.append(low..<middle)
                low = middle
            }
        }
        return MerkleProofPlan(size: size, ranges: siblings.reversed())
    }

    /// PROOF of RFC 6962 §2.1.2; empty from a tree without leaves, and from the same tree.
    /// - Returns: nil when the former tree is the larger one.
    package static func consistency(from old: UInt64, to size: UInt64) -> MerkleProofPlan? {
        guard old <= size else { return nil }
        guard old > 0 else { return MerkleProofPlan(size: size, ranges: []) }
        var (low, high, siblings) = (UInt64(0), size, [Range<UInt64>]())
        // SUBPROOF: until the rest of the former tree is a whole subtree of the new one.
        while old < high {
            let middle = low + split(high - low)
            if old <= middle {
                siblings.append(middle..<high)
                high = middle
            } else {
                siblings.append(low..<middle)
                low = middle
            }
        }
        // The former tree itself is known to who verifies.
        if low > 0 { siblings.append(low..<high) }
        return MerkleProofPlan(size: size, ranges: siblings.reversed())
    }

    /// The tree's root alone; nothing of a tree without leaves.
    package static func root(of size: UInt64) -> MerkleProofPlan {
        MerkleProofPlan(size: size, ranges: size > 0 ? [0..<size] : [])
    }

    /// The largest power of two below a number above 1.
    private static func split(_ count: UInt64) -> UInt64 {
        1 << UInt64(UInt64.bitWidth - 1 - (count - 1).leadingZeroBitCount)
    }

    /// For each hash of the proof the subtrees it is made of, the largest first; none comes twice.
    package var parts: [[CompleteSubtree]] { ranges.map(CompleteSubtree.covering) }

    /// The proof's hashes.
    package func hashes(_ root: (CompleteSubtree) throws -> TreeHash) rethrows -> [TreeHash] {
        try parts.map { MerkleTree.join(try $0.map(root)) }
    }
}

/// The verification of proofs; each step as in the successor of RFC 6962, which has the same trees.
package enum MerkleProof {
    /// RFC 9162 §2.1.3.2: whether the leaf is at that index of the tree.
    package static func isIncluded(
        _ leaf: TreeHash, at index: UInt64, proof: [TreeHash], root: TreeHash, size: UInt64
    ) -> Bool {
        guard index < size else { return false }
        var (first, last, hash) = (index, size - 1, leaf)
        for sibling in proof {
            guard last > 0 else { return false }
            if first & 1 == 1 || first == last {
                hash = MerkleTree.node(sibling, hash)
                while first & 1 == 0, first != 0 { (first, last) = (first >> 1, last >> 1) }
            } else {
                hash = MerkleTree.node(hash, sibling)
            }
            (first, last) = (first >> 1, last >> 1)
        }
        return last == 0 && hash == root
    }

    /// RFC 9162 §2.1.4.2: whether the tree of `size` leaves begins with the former one. Every tree
    /// begins with the empty one.
    package static func isConsistent(
        old: UInt64, oldRoot: TreeHash, size: UInt64, root: TreeHash, proof: [TreeHash]
    ) -> Bool {
        guard old > 0 else { return oldRoot == MerkleTree.emptyRoot && proof.isEmpty }
        guard old < size else { return old == size && oldRoot == root && proof.isEmpty }
        var path = proof[...]
        var (first, last) = (old - 1, size - 1)
        while first & 1 == 1 { (first, last) = (first >> 1, last >> 1) }
        // A former tree that is one subtree is the first hash itself.
        guard let start = old.nonzeroBitCount == 1 ? oldRoot : path.popFirst() else { return false }
        var (oldHash, hash) = (start, start)
        for sibling in path {
            guard last > 0 else { return false }
            if first & 1 == 1 || first == last {
                oldHash = MerkleTree.node(sibling, oldHash)
                hash = MerkleTree.node(sibling, hash)
                while first & 1 == 0, first != 0 { (first, last) = (first >> 1, last >> 1) }
            } else {
                hash = MerkleTree.node(hash, sibling)
            }
            (first, last) = (first >> 1, last >> 1)
        }
        return last == 0 && oldHash == oldRoot && hash == root
    }
}
