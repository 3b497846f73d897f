import WakeBytes

/// The trees that a log's newest one grew from: the extra data of a feed's proof. From the roots of
/// an earlier tree and the hashes of the leaves since, each tree in between can be computed, and so
/// can the newest: that is how they authenticate themselves.
///
/// A client that knows a tree no older than the first of them finds it here, or not: then its
/// history is another one. This takes no request of its own, and is the same for all clients.
package struct LogHistory: Sendable, Hashable {
    /// Leaves that a proof has at most: those of 64 hours with a head every two.
    static let leaves = 32
    private let frontiers: MerkleFrontier
    private let leaves: [TreeHash]

    /// The tree that a proof in a tree of `size` leaves begins with.
    package static func start(of size: UInt64) -> UInt64 { size - min(size, UInt64(leaves)) }

    package init(before frontier: MerkleFrontier, leaves: [TreeHash]) {
        frontiers = frontier
        self.leaves = leaves
    }

    /// The number of leaves in two bytes, the roots, the leaves.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt16(leaves.count))
        for hash in frontiers.roots + leaves { bytes += hash.bytes }
        return bytes
    }

    /// - Parameter size: of the newest tree.
    /// - Returns: nil unless the bytes are a history of as many leaves.
    package init?(_ bytes: [UInt8], size: UInt64) {
        guard bytes.count >= 2 else { return nil }
        let count = UInt64(bytes.span.bigEndian(at: 0, as: UInt16.self))
        guard count <= size, count <= UInt64(Self.leaves) else { return nil }
        let roots = (size - count).nonzeroBitCount
        guard bytes.count == 2 + (roots + Int(count)) * TreeHash.count else { return nil }
        let hashes = stride(from: 2, to: bytes.count, by: TreeHash.count).compactMap {
            TreeHash(bytes[$0..<$0 + TreeHash.count])
        }
        frontiers = MerkleFrontier(size: size - count, roots: Array(hashes[..<roots]))
        leaves = Array(hashes[roots...])
    }

    /// The leaves that it has one by one.
    /// - Parameter newest: the root that it must lead to.
    /// - Returns: nil of a history that leads elsewhere.
    package func leaves(in newest: TreeHash) -> [TreeHash]? {
        contains(size: frontiers.size, root: frontiers.root, newest: newest) == .contained
            ? leaves : nil
    }

    /// A former tree's place in this history.
    package enum Answer: Sendable, Hashable {
        case contained
        /// The history leads to another newest tree, or has another one at that size.
        case contradicted
        /// Older than the first tree here.
        case unknown
    }

    package func contains(size: UInt64, root: TreeHash, newest: TreeHash) -> Answer {
        var frontier = frontiers
        var found: TreeHash? = size == frontier.size ? frontier.root : nil
        for leaf in leaves {
            frontier.append(leaf)
            if frontier.size == size { found = frontier.root }
        }
        guard frontier.root == newest else { return .contradicted }
        guard size >= frontiers.size else { return .unknown }
        return found == root ? .contained : .contradicted
    }
}
