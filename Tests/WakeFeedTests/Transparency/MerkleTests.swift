import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Merkle trees (RFC 6962)")
struct MerkleTests {
    /// The test data of the reference implementation of Certificate Transparency.
    private static let entries = [
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
    private static let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]

    static func hex(_ hash: TreeHash) -> String {
        String(decoding: Hex.encode(hash.bytes.span), as: UTF8.self)
    }

    static func hash(_ hex: some StringProtocol) throws -> TreeHash {
        let bytes = Hex.decode(Array(hex.utf8).span)
        return try #require(bytes.flatMap { TreeHash($0) })
    }

    static func leaves(_ count: Int, of tree: Int = 0) -> [TreeHash] {
        (0..<count).map { MerkleTree.leaf(Array("\(tree)/\($0)".utf8).span) }
    }

    /// The root of a complete subtree, from all leaves.
    static func root(of subtree: CompleteSubtree, in leaves: [TreeHash]) -> TreeHash {
        let first = Int(subtree.index) << subtree.level
        return MerkleTree.root(leaves[first..<first + 1 << subtree.level])
    }

    @Test("the empty tree, and one to eight leaves")
    func vectors() throws {
        #expect(
            Self.hex(MerkleTree.emptyRoot)
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(MerkleTree.root([]) == MerkleTree.emptyRoot)
        let leaves = Self.entries.map { entry in
            let bytes = Hex.decode(Array(entry.utf8).span) ?? []
            return MerkleTree.leaf(bytes.span)
        }
        for (index, root) in Self.roots.enumerated() {
            #expect(Self.hex(MerkleTree.root(leaves[...index])) == root)
        }
    }

    @Test("all inclusion proofs of all trees up to 64, and no other index or leaf")
    func inclusion() throws {
        let leaves = Self.leaves(64)
        for size in UInt64(1)...64 {
            let root = MerkleTree.root(leaves[..<Int(size)])
            #expect(MerkleProofPlan.inclusion(of: size, in: size) == nil)
            for index in 0..<size {
                let plan = try #require(MerkleProofPlan.inclusion(of: index, in: size))
                let proof = plan.hashes { Self.root(of: $0, in: leaves) }
                for claimed in 0...size {
                    let isIncluded = MerkleProof.isIncluded(
                        leaves[Int(index)], at: claimed, proof: proof, root: root, size: size)
                    #expect(isIncluded == (claimed == index))
                }
                let other = leaves[Int(index + 1) % 64]
                #expect(
                    !MerkleProof.isIncluded(other, at: index, proof: proof, root: root, size: size))
                #expect(
                    !MerkleProof.isIncluded(
                        leaves[Int(index)], at: index, proof: proof + [root], root: root,
                        size: size))
                if let first = proof.indices.randomElement() {
                    var broken = proof
                    broken[first] = root
                    #expect(
                        !MerkleProof.isIncluded(
                            leaves[Int(index)], at: index, proof: broken, root: root, size: size))
                }
            }
        }
    }

    @Test("all consistency proofs of all pairs up to 64, and of no other history")
    func consistency() throws {
        let leaves = Self.leaves(64)
        let others = Self.leaves(64, of: 1)
        let roots = (0...64).map { MerkleTree.root(leaves[..<$0]) }
        for size in 0...64 {
            #expect(MerkleProofPlan.consistency(from: UInt64(size + 1), to: UInt64(size)) == nil)
            for old in 0...size {
                let plan = try #require(
                    MerkleProofPlan.consistency(from: UInt64(old), to: UInt64(size)))
                let proof = plan.hashes { Self.root(of: $0, in: leaves) }
                func holds(
                    _ old: Int, _ oldRoot: TreeHash, _ root: TreeHash, _ proof: [TreeHash]
                ) -> Bool {
                    MerkleProof.isConsistent(
                        old: UInt64(old), oldRoot: oldRoot, size: UInt64(size), root: root,
                        proof: proof)
                }
                #expect(holds(old, roots[old], roots[size], proof))
                if old > 0 {
                    let fork = MerkleTree.root(leaves[..<(old - 1)] + [others[0]])
                    #expect(!holds(old, fork, roots[size], proof))
                    #expect(!holds(old, roots[old], MerkleTree.root(others[..<size]), proof))
                    #expect(!holds(old, roots[old], roots[size], proof + [roots[old]]))
                    if !proof.isEmpty {
                        #expect(!holds(old, roots[old], roots[size], Array(proof.dropLast())))
                    }
                }
                #expect(!holds(size + 1, roots[0], roots[size], proof))
            }
        }
    }

    @Test("a frontier grows as the tree does, and continues from what was stored")
    func frontier() throws {
        let leaves = Self.leaves(300)
        var frontier = MerkleFrontier()
        for size in 0...300 {
            #expect(frontier.root == MerkleTree.root(leaves[..<size]))
            let stored = CompleteSubtree.covering(0..<UInt64(size)).map {
                Self.root(of: $0, in: leaves)
            }
            #expect(frontier == MerkleFrontier(size: UInt64(size), roots: stored))
            if size < 300 { frontier.append(leaves[size]) }
        }
    }

    @Test(
        "10,000 random trees of an implementation in Python",
        .enabled(if: PythonScript.has("hashlib"), "needs python3"))
    func python() async throws {
        let script =
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
            + "/Vectors/merkle.py"
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env", ["python3", "-B", script, "0", "10000"])
        #expect(status == 0)
        let lines = output.split(separator: "\n")
        #expect(lines.count == 10_000)
        for line in lines {
            let fields = line.split(separator: " ")
            let numbers = fields[..<4].compactMap { Int($0) }
            let (number, size, index, old) = (numbers[0], numbers[1], numbers[2], numbers[3])
            let (root, oldRoot) = (try Self.hash(fields[4]), try Self.hash(fields[5]))
            let path = try Self.hashes(fields[6])
            let proof = try Self.hashes(fields[7])
            let leaves = Self.leaves(size, of: number)
            #expect(MerkleTree.root(leaves) == root && MerkleTree.root(leaves[..<old]) == oldRoot)
            var tiles = MemoryTiles(leaves)
            let inclusion = try #require(
                MerkleProofPlan.inclusion(of: UInt64(index), in: UInt64(size)))
            #expect(try tiles.hashes(inclusion) == path, "tree \(number)")
            let consistency = try #require(
                MerkleProofPlan.consistency(from: UInt64(old), to: UInt64(size)))
            #expect(try tiles.hashes(consistency) == proof, "tree \(number)")
            #expect(
                MerkleProof.isIncluded(
                    leaves[index], at: UInt64(index), proof: path, root: root, size: UInt64(size)))
            #expect(
                MerkleProof.isConsistent(
                    old: UInt64(old), oldRoot: oldRoot, size: UInt64(size), root: root,
                    proof: proof))
        }
    }

    private static func hashes(_ field: Substring) throws -> [TreeHash] {
        field == "-" ? [] : try field.split(separator: ",").map { try hash($0) }
    }
}

/// The tiles of a tree, made one size after the other as a log makes them.
struct MemoryTiles {
    let size: UInt64
    private var files: [LogTile: [TreeHash]] = [:]

    init(_ leaves: [TreeHash]) {
        size = UInt64(leaves.count)
        for tile in LogTile.added(from: 0, to: size) {
            guard case .hashes(let level) = tile.content else { continue }
            files[tile] = tile.range.map { index in
                MerkleTests.root(of: CompleteSubtree(level: level * 8, index: index), in: leaves)
            }
        }
    }

    mutating func hashes(_ plan: MerkleProofPlan) throws -> [TreeHash] {
        try plan.hashes { subtree in
            let tile = LogTile(holding: subtree, size: size)
            return LogTile.root(of: subtree, in: try #require(files[tile]))
        }
    }
}
