import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

@testable import WakeServer

/// A log whose leaves are numbers, and which signs whatever a test wants.
struct SampleLog: Sendable {
    let signer: NoteSigner
    private(set) var leaves: [TreeHash] = []

    init(_ name: String = "log.example/a", seed: UInt8 = 1) {
        let bytes = [UInt8](repeating: seed, count: 32)
        guard let name = NoteKeyName(name) else { preconditionFailure("a name of a key") }
        signer = NoteSigner(name: name, key: SigningKey(seed: bytes.span))
    }

    var key: NoteKey { signer.verifier(.ed25519) }
    var origin: [UInt8] { signer.name.bytes }

    /// The same log with so many leaves more; another history has another kind of leaf.
    func grown(to count: Int, history: UInt8 = 0) -> SampleLog {
        var log = self
        while log.leaves.count < count {
            let entry = [history, UInt8(log.leaves.count & 0xFF), UInt8(log.leaves.count >> 8)]
            log.leaves.append(MerkleTree.leaf(entry.span))
        }
        return log
    }

    func checkpoint(_ size: Int? = nil, extensions: [[UInt8]] = []) -> LogCheckpoint {
        let size = size ?? leaves.count
        return LogCheckpoint(
            origin: origin, size: UInt64(size), root: MerkleTree.root(leaves.prefix(size)),
            extensions: extensions)
    }

    /// PROOF of RFC 6962 §2.1.2 by recursion over the leaves.
    func consistency(from old: Int, to size: Int) -> [TreeHash] {
        func proof(_ old: Int, _ part: ArraySlice<TreeHash>, _ isKnown: Bool) -> [TreeHash] {
            if old == part.count { return isKnown ? [] : [MerkleTree.root(part)] }
            var half = 1
            while half * 2 < part.count { half *= 2 }
            let (left, right) = (part.prefix(half), part.dropFirst(half))
            return old <= half
                ? proof(old, left, isKnown) + [MerkleTree.root(right)]
                : proof(old - half, right, false) + [MerkleTree.root(left)]
        }
        return old > 0 && old < size ? proof(old, leaves.prefix(size), true) : []
    }

    /// The body of `add-checkpoint`, right unless a test replaces a part of it.
    func request(
        from old: Int, to size: Int? = nil, proof: [TreeHash]? = nil, signer: NoteSigner? = nil,
        extensions: [[UInt8]] = []
    ) -> [UInt8] {
        let size = size ?? leaves.count
        let signed = SignedCheckpoint(
            checkpoint(size, extensions: extensions), signedBy: signer ?? self.signer)
        return AddCheckpointRequest(
            oldSize: UInt64(old), proof: proof ?? consistency(from: old, to: size),
            checkpoint: signed
        ).bytes
    }
}

/// A witness of a test: its directory, and the store where there is one.
struct SampleWitness {
    let directory: WitnessDirectory
    let key: NoteKey

    init(_ path: String, logs: [SampleLog] = []) throws {
        directory = WitnessDirectory(path)
        guard let name = NoteKeyName("witness.example/w1") else {
            preconditionFailure("a name of a key")
        }
        key = try directory.create(name)
        for log in logs { _ = try directory.addLog(log.key, origin: log.origin) }
    }

    /// Whether a line is this witness's cosignature of a checkpoint; its time.
    func time(_ line: [UInt8], of checkpoint: LogCheckpoint) -> Int64? {
        guard let signatures = NoteSignature.lines(line), signatures.count == 1,
            key.matches(signatures[0])
        else { return nil }
        return key.verify(signatures[0], of: checkpoint.text)?.time
    }
}
