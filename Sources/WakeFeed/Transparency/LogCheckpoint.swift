import WakeBytes
private import WakeCrypto

/// A checkpoint (C2SP tlog-checkpoint): a log's name, and the size and root of its tree. As the
/// text of a signed note it says what the log holds.
package struct LogCheckpoint: Sendable, Hashable {
    /// The log's name: a line that is not empty.
    package let origin: [UInt8]
    package let size: UInt64
    package let root: TreeHash
    /// Lines that nobody can audit; kept, because signatures cover them.
    package let extensions: [[UInt8]]

    package init(origin: [UInt8], size: UInt64, root: TreeHash, extensions: [[UInt8]] = []) {
        precondition(([origin] + extensions).allSatisfy { !$0.isEmpty && !$0.contains(.newline) })
        self.origin = origin
        self.size = size
        self.root = root
        self.extensions = extensions
    }

    /// - Returns: nil unless the text of a note is a checkpoint.
    package init?(text: [UInt8]) {
        var reader = LineReader(text)
        guard let origin = reader.next(), !origin.isEmpty, let sizeLine = reader.next(),
            let size = UInt64(canonical: sizeLine), let rootLine = reader.next(),
            let root = TreeHash(base64: rootLine)
        else { return nil }
        var extensions: [[UInt8]] = []
        while let line = reader.next() {
            guard !line.isEmpty else { return nil }
            extensions.append(Array(line))
        }
        guard reader.rest.isEmpty else { return nil }
        self.init(origin: Array(origin), size: size, root: root, extensions: extensions)
    }

    package var text: [UInt8] {
        ([origin, size.canonical, root.base64] + extensions)
            .reduce(into: []) { $0 += $1 + [.newline] }
    }
}

/// A signed note whose text is a checkpoint; nothing of it is verified yet.
package struct SignedCheckpoint: Sendable, Hashable {
    package private(set) var note: SignedNote
    package let checkpoint: LogCheckpoint

    /// - Returns: nil unless the bytes are a checkpoint with signatures.
    package init?(_ bytes: [UInt8]) {
        guard let note = SignedNote(bytes), let checkpoint = LogCheckpoint(text: note.text) else {
            return nil
        }
        self.note = note
        self.checkpoint = checkpoint
    }

    /// - Parameter sign: gives the log's signature of the checkpoint's text.
    package init(_ checkpoint: LogCheckpoint, sign: ([UInt8]) -> NoteSignature) {
        self.checkpoint = checkpoint
        let text = checkpoint.text
        note = SignedNote(text: text, signatures: [sign(text)])
    }

    package mutating func append(_ signature: NoteSignature) { note.append(signature) }

    package var bytes: [UInt8] { note.bytes }
}

extension SignedCheckpoint {
    /// Whether a key of the chain signed it under this name.
    package func isSigned(by chain: KeyChain, as origin: NoteKeyName) -> Bool {
        let keys = chain.keys.map { NoteKey(name: origin, algorithm: .ed25519, key: $0.verifying) }
        return ((try? note.verify(keys)) ?? []).contains { $0 != nil }
    }
}

extension FeedID {
    /// The name of a feed's log, where none was chosen: the identifier in base64url.
    package var origin: String { String(decoding: Base64URL.encode(bytes.span), as: UTF8.self) }
}

extension NoteKeyName {
    /// The name of a feed's log, where none was chosen.
    package init(defaultFor feed: FeedID) { self.init(trusted: Array(feed.origin.utf8)) }
}

/// A tlog-proof (C2SP tlog-proof): an entry's index, its inclusion proof, and the checkpoint whose
/// tree includes it. It says nothing about the entry: who verifies has that.
package struct LogProof: Sendable, Hashable {
    private static let firstLine = Array("c2sp.org/tlog-proof@v1".utf8)
    private static let indexMark = Array("index ".utf8)
    private static let extraMark = Array("extra ".utf8)
    /// Inclusion proofs of trees below 2^63 leaves are not longer.
    private static let hashLimit = 63

    package let index: UInt64
    package let hashes: [TreeHash]
    package let checkpoint: SignedCheckpoint
    /// Whatever the log adds; nothing authenticates it. nil for none.
    package let extra: [UInt8]?

    package init(
        index: UInt64, hashes: [TreeHash], checkpoint: SignedCheckpoint, extra: [UInt8]? = nil
    ) {
        self.index = index
        self.hashes = hashes
        self.checkpoint = checkpoint
        self.extra = extra
    }

    /// - Returns: nil unless the bytes are a proof.
    package init?(_ bytes: [UInt8]) {
        var reader = LineReader(bytes)
        guard bytes.count <= SignedNote.byteLimit,
            reader.next()?.elementsEqual(Self.firstLine) ?? false,
            var line = reader.next()
        else { return nil }
        var extra: [UInt8]?
        if line.starts(with: Self.extraMark) {
            extra = Base64.decode(Array(line.dropFirst(Self.extraMark.count)).span)
            guard extra != nil, let next = reader.next() else { return nil }
            line = next
        }
        guard line.starts(with: Self.indexMark),
            let index = UInt64(canonical: line.dropFirst(Self.indexMark.count)),
            let hashes = reader.hashes(limit: Self.hashLimit),
            let checkpoint = SignedCheckpoint(Array(reader.rest))
        else { return nil }
        self.init(index: index, hashes: hashes, checkpoint: checkpoint, extra: extra)
    }

    package var bytes: [UInt8] {
        var bytes = Self.firstLine + [.newline]
        if let extra { bytes += Self.extraMark + Base64.encode(extra.span) + [.newline] }
        bytes += Self.indexMark + index.canonical + [.newline]
        for hash in hashes { bytes += hash.base64 + [.newline] }
        return bytes + [.newline] + checkpoint.bytes
    }

    /// Whether the checkpoint's tree has this leaf at the index. Signatures are another question.
    package func includes(_ leaf: TreeHash) -> Bool {
        let tree = checkpoint.checkpoint
        return MerkleProof.isIncluded(
            leaf, at: index, proof: hashes, root: tree.root, size: tree.size)
    }
}

extension LineReader {
    /// Lines of base64, one hash each, up to an empty line; nil for other lines or too many.
    package mutating func hashes(limit: Int) -> [TreeHash]? {
        var hashes: [TreeHash] = []
        while let line = next() {
            if line.isEmpty { return hashes }
            guard hashes.count < limit, let hash = TreeHash(base64: line) else { return nil }
            hashes.append(hash)
        }
        return nil
    }
}
