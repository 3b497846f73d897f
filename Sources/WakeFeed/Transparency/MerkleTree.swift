import WakeBytes
internal import WakeCrypto

/// A hash of a Merkle tree: SHA-256.
package struct TreeHash: Sendable, Hashable {
    package static let count = 32
    /// 32 bytes.
    package let bytes: [UInt8]

    /// - Returns: nil unless 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = Array(bytes)
    }

    fileprivate init(hash bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameter text: base64 of 32 bytes; nil for any other text.
    package init?(base64 text: ArraySlice<UInt8>) {
        guard let bytes = Base64.decode(Array(text).span) else { return nil }
        self.init(bytes)
    }

    package var base64: [UInt8] { Base64.encode(bytes.span) }
}

/// The hashing of RFC 6962 §2.1: leaves and nodes are told apart by their first byte.
package enum MerkleTree {
    /// The root of a tree without leaves: the hash of nothing.
    package static let emptyRoot = TreeHash(hash: SHA256.hash([UInt8]().span))

    package static func leaf(_ entry: Span<UInt8>) -> TreeHash {
        var bytes: [UInt8] = [0]
        bytes.append(span: entry)
        return TreeHash(hash: SHA256.hash(bytes.span))
    }

    package static func node(_ left: TreeHash, _ right: TreeHash) -> TreeHash {
        TreeHash(hash: SHA256.hash(([1] + left.bytes + right.bytes).span))
    }

    /// The hash over complete subtrees beside each other, the largest first.
    package static func join(_ roots: [TreeHash]) -> TreeHash {
        guard var hash = roots.last else { return emptyRoot }
        for left in roots.dropLast().reversed() { hash = node(left, hash) }
        return hash
    }

    /// The root of a tree from the hashes of its leaves.
    package static func root(_ leaves: some Sequence<TreeHash>) -> TreeHash {
        var frontier = MerkleFrontier()
        for leaf in leaves { frontier.append(leaf) }
        return frontier.root
    }
}

/// The roots of the complete subtrees a tree is made of, the largest first: all that growing needs.
package struct MerkleFrontier: Sendable, Hashable {
    package private(set) var size: UInt64 = 0
    /// One for each bit that is set in `size`.
    private(set) var roots: [TreeHash] = []

    package init() {}

    /// A tree that was stored.
    /// - Parameter roots: of its complete subtrees, the largest first.
    package init(size: UInt64, roots: [TreeHash]) {
        precondition(roots.count == size.nonzeroBitCount)
        self.size = size
        self.roots = roots
    }

    package mutating func append(_ leaf: TreeHash) {
        var hash = leaf
        var bits = size
        while bits & 1 == 1 {
            hash = MerkleTree.node(roots.removeLast(), hash)
            bits >>= 1
        }
        roots.append(hash)
        size += 1
    }

    package var root: TreeHash { MerkleTree.join(roots) }
}

/// A subtree whose leaves are all there: 2^`level` of them, from `index` << `level` on.
package struct CompleteSubtree: Sendable, Hashable {
    package let level: Int
    package let index: UInt64

    package init(level: Int, index: UInt64) {
        self.level = level
        self.index = index
    }

    /// The complete subtrees of a tree of `size` leaves, or of the rest of one from a leaf on that
    /// the tree is split at; the largest first.
    package static func covering(_ leaves: Range<UInt64>) -> [CompleteSubtree] {
        var (start, parts) = (leaves.lowerBound, [CompleteSubtree]())
        while start < leaves.upperBound {
            let rest = leaves.upperBound - start
            let level = UInt64.bitWidth - 1 - rest.leadingZeroBitCount
            parts.append(CompleteSubtree(level: level, index: start >> UInt64(level)))
            start += 1 << UInt64(level)
        }
        return parts
    }
}
