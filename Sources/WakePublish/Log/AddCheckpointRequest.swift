package import WakeFeed
import WakeSystem

/// The body of `POST add-checkpoint` (C2SP tlog-witness): the size that the witness cosigned last,
/// a consistency proof from there, and the log's checkpoint.
package struct AddCheckpointRequest: Sendable, Hashable {
    /// Lines of proof that may be sent.
    package static let proofLimit = 63
    /// More than any request that is sent: 63 hashes, and a checkpoint with its own signatures.
    package static let byteLimit = 64 << 10
    private static let oldMark = Array("old ".utf8)

    package let oldSize: UInt64
    package let proof: [TreeHash]
    package let checkpoint: SignedCheckpoint

    package init(oldSize: UInt64, proof: [TreeHash], checkpoint: SignedCheckpoint) {
        precondition(proof.count <= Self.proofLimit)
        self.oldSize = oldSize
        self.proof = proof
        self.checkpoint = checkpoint
    }

    /// - Returns: nil unless the bytes have the form of a request: 400. That the old size is not
    ///   above the new one is left to the witness, which has that to answer after the origin.
    package init?(_ bytes: [UInt8]) {
        var reader = LineReader(bytes)
        guard bytes.count <= Self.byteLimit, let line = reader.next(),
            line.starts(with: Self.oldMark),
            let oldSize = UInt64(canonical: line.dropFirst(Self.oldMark.count)),
            let proof = reader.hashes(limit: Self.proofLimit),
            let checkpoint = SignedCheckpoint(Array(reader.rest))
        else { return nil }
        self.init(oldSize: oldSize, proof: proof, checkpoint: checkpoint)
    }

    package var bytes: [UInt8] {
        var bytes = Self.oldMark + oldSize.canonical + [.newline]
        for hash in proof { bytes += hash.base64 + [.newline] }
        return bytes + [.newline] + checkpoint.bytes
    }

    /// Whether the proof shows that the checkpoint's tree begins with the tree of the old size.
    package func isConsistent(withRoot oldRoot: TreeHash) -> Bool {
        MerkleProof.isConsistent(
            old: oldSize, oldRoot: oldRoot, size: checkpoint.checkpoint.size,
            root: checkpoint.checkpoint.root, proof: proof)
    }
}

/// The body of a 409 response, of type `text/x.tlog.size`: the size that the witness cosigned last.
package struct WitnessedSize: Sendable, Hashable {
    package static let contentType = "text/x.tlog.size"

    package let size: UInt64

    package init(_ size: UInt64) { self.size = size }

    /// - Returns: nil unless the bytes are a number and a newline.
    package init?(_ bytes: [UInt8]) {
        guard bytes.last == .newline, let size = UInt64(canonical: bytes.dropLast()) else {
            return nil
        }
        self.size = size
    }

    package var bytes: [UInt8] { size.canonical + [.newline] }
}
