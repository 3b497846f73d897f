package import WakeFeed
internal import WakeModel
import WakeSystem

/// The log of all heads that a feed's publisher signed, as files of its directory: an RFC 6962 tree
/// whose entries are the heads, in tiles that are only added (C2SP tlog-tiles).
///
/// A head counts as logged when `.log` has its size, which is durable after the tiles and before
/// any witness sees a checkpoint: what a witness may have cosigned is never replaced. A head that
/// is logged and not served, because the publisher was killed or no quorum came, is *pending*, and
/// the next publisher serves it before anything else.
struct FeedLog: Sendable {
    let directory: FeedDirectory
    private(set) var record: FeedLogRecord

    var size: UInt64 { record.size }
    var origin: NoteKeyName { record.origin }

    /// - Parameter origin: the name of a log that is made with this; the others have theirs.
    init(_ directory: FeedDirectory, new origin: NoteKeyName) throws(FeedDirectoryError) {
        let record = try Self.record(in: directory)
        self.directory = directory
        self.record = record ?? FeedLogRecord(origin: origin, size: 0)
    }

    /// - Returns: nil in a directory without a log.
    fileprivate static func record(
        in directory: FeedDirectory
    ) throws(FeedDirectoryError) -> FeedLogRecord? {
        let file = StateFile<FeedLogRecord>(directory.logPath)
        let stored = try mapError(recordError) { () throws(StateFileError) in
            try file.readIfPresent()
        }
        // A directory that was copied back from its static host has what was served, and so may
        // one with a file of an earlier day: what a checkpoint has is never replaced.
        guard let signed = try directory.checkpoint() else { return stored }
        guard let origin = NoteKeyName(signed.checkpoint.origin),
            stored.map({ $0.origin == origin }) ?? true
        else { throw .log(.damaged) }
        return FeedLogRecord(
            origin: origin, size: max(stored?.size ?? 0, signed.checkpoint.size))
    }

    private static func recordError(_ error: StateFileError) -> FeedDirectoryError {
        if case .file(let error) = error.fault { .file(error) } else { .log(.record) }
    }

    /// The files of the tree with one more head; the full tiles below come before the level above.
    /// - Parameter write: makes a file durable under its name.
    mutating func append(
        _ head: [UInt8], write: (LogTile, [UInt8]) throws(FeedDirectoryError) -> Void
    ) throws(FeedDirectoryError) {
        try checkEnd()
        for tile in LogTile.added(from: size, to: size + 1) {
            var bytes: [UInt8] = []
            if tile.width > 1 {
                bytes = try directory.read(
                    LogTile(tile.content, index: tile.index, width: tile.width - 1))
            }
            switch tile.content {
            case .entries: bytes += EntryBundle.encode([head])
            case .hashes(0): bytes += MerkleTree.leaf(head.span).bytes
            case .hashes(let level):
                let below = LogTile(.hashes(level: level - 1), index: tile.range.upperBound - 1)
                bytes += MerkleTree.root(try directory.hashes(of: below)).bytes
            }
            try write(tile, bytes)
        }
        record = FeedLogRecord(origin: origin, size: size + 1)
        let next = record
        try mapError(Self.recordError) { () throws(StateFileError) in
            try StateFile<FeedLogRecord>(directory.logPath).write(next)
        }
    }

    /// Checks the files that the tree goes on from: those of its end, and that they lead to the
    /// checkpoint that is served. One that is damaged, or of another log, must not become part of a
    /// tree that is signed: that would be another history.
    private func checkEnd() throws(FeedDirectoryError) {
        guard size > 0 else { return }
        let bundle = LogTile(.entries, index: (size - 1) / UInt64(LogTile.width), size: size)
        let leaves = try directory.hashes(
            of: LogTile(.hashes(level: 0), index: bundle.index, width: bundle.width))
        let bytes = try directory.read(bundle)
        guard let entries = EntryBundle.decode(bytes, count: bundle.width),
            entries.map({ MerkleTree.leaf($0.span) }) == leaves
        else { throw .log(.damaged) }
        // Of a full one the level above has the root, and that alone leads to the tree's.
        if bundle.isFull {
            let above = CompleteSubtree(level: 8, index: bundle.index)
            guard try directory.root(of: above, size: size) == MerkleTree.root(leaves) else {
                throw .log(.root)
            }
        }
        guard let served = try directory.checkpoint()?.checkpoint else { return }
        guard try directory.logRoot(of: served.size, in: size) == served.root else {
            throw .log(.root)
        }
    }

    /// The newest entry; nil of an empty log.
    func lastHead() throws(FeedDirectoryError) -> [UInt8]? {
        guard size > 0 else { return nil }
        return try directory.logEntry(size - 1, size: size)
    }

    /// The checkpoint of the tree as it is.
    ///
    /// It is signed with the feed's newest key, which clients know from the chain of `keys`. Of one
    /// key two kinds of message are signed, and none is ever both: what a head's signature covers
    /// begins with "wake-feed/head/2\n" and "WAKEHD02", and binary fields follow, so that its
    /// second line is no tree size; the other domains of the feed end their first line alike. A
    /// checkpoint has a decimal number there.
    ///
    /// `feed succeed` changes the key and not the origin: for witnesses and monitors the log is its
    /// origin and its tree, which goes on, and a second key for an origin is what C2SP calls the
    /// rotation of a log's key. A key of the log's own would outlive the feed's keys in their
    /// place: who had stolen it could not be shut out by a succession. Witnesses must be told of
    /// the new key; until then they answer 403.
    func checkpoint(signedWith key: SigningKey) throws(FeedDirectoryError) -> SignedCheckpoint {
        try checkEnd()
        return SignedCheckpoint(
            LogCheckpoint(
                origin: origin.bytes, size: size, root: try directory.logRoot(size: size)),
            signedBy: NoteSigner(name: origin, key: key))
    }

    /// The proof of the newest head, with the trees before it that clients may know.
    func proof(for checkpoint: SignedCheckpoint) throws(FeedDirectoryError) -> LogProof {
        let plan = MerkleProofPlan.inclusion(of: size - 1, in: size)
        guard let plan else { throw .log(.damaged) }
        let start = LogHistory.start(of: size)
        var (leaves, roots): ([TreeHash], [TreeHash]) = ([], [])
        for index in start..<size { leaves.append(try directory.leaf(index, size: size)) }
        for subtree in CompleteSubtree.covering(0..<start) {
            roots.append(try directory.root(of: subtree, size: size))
        }
        let history = LogHistory(
            before: MerkleFrontier(size: start, roots: roots), leaves: leaves)
        return LogProof(
            index: size - 1, hashes: try directory.hashes(plan), checkpoint: checkpoint,
            extra: history.bytes)
    }
}

/// A fault of a log's files.
package enum FeedLogFault: Sendable, Equatable {
    /// Not what the publisher wrote.
    case damaged
    /// The same of `.log` alone, which is in no copy of what is served.
    case record
    case missingTile
    /// The checkpoint is not signed with a key of the feed.
    case signature
    /// The checkpoint's root is not that of the tiles.
    case root
    /// No proof of the head follows it.
    case proof
    /// The proof is longer than clients read: the policy has too many witnesses.
    case tooLarge

    var message: String {
        switch self {
        case .damaged: "the log of heads is damaged; restore .log, checkpoint and tile"
        case .record:
            "the file .log of the feed's directory is damaged; remove it: the log continues from "
                + "the checkpoint that is served"
        case .missingTile: "a tile of the log of heads is missing; restore it from the static host"
        case .signature: "the checkpoint of the log is not signed with the feed's key"
        case .root: "the checkpoint is not that of the tiles; restore tile from the static host"
        case .proof: "what follows the head is no proof of it; run feed refresh"
        case .tooLarge: "the proof is longer than clients read; name fewer witnesses"
        }
    }
}

/// The size of the log, which is raised before any witness can see it; `.log`.
struct FeedLogRecord: StateRecord, Equatable {
    static let format: StaticString = "feed-log"
    static let version = 1
    static let byteLimit = 4096

    let origin: NoteKeyName
    let size: UInt64

    init(origin: NoteKeyName, size: UInt64) {
        self.origin = origin
        self.size = size
    }

    func encode(to state: inout JSONText) {
        state.member("origin", string: origin.text)
        state.member("size", number: size)
    }

    init(decoding state: inout StateObject) throws(StateDamage) {
        guard let origin = NoteKeyName(try state.text("origin")) else { throw StateDamage() }
        self.origin = origin
        size = try state.unsigned("size")
    }
}

/// The files of a log that is served: nothing here needs a key.
extension FeedDirectory {
    var checkpointPath: String { path + "/checkpoint" }
    var tilesPath: String { path + "/tile" }
    var logPath: String { path + "/.log" }

    /// Reads the size of the log, as a publisher does before it adds a head.
    package func checkLog() throws(FeedDirectoryError) { _ = try FeedLog.record(in: self) }

    func path(of tile: LogTile) -> String { path + "/" + tile.path }

    /// The checkpoint that is served; nil in a feed without a log.
    package func checkpoint() throws(FeedDirectoryError) -> SignedCheckpoint? {
        guard Files.exists(checkpointPath) else { return nil }
        let bytes = try mapError(FeedDirectoryError.of) { () throws(FileError) in
            try Files.read(checkpointPath, limit: FeedLimits.proofBytes)
        }
        guard let signed = SignedCheckpoint(bytes) else { throw .log(.damaged) }
        return signed
    }

    func read(_ tile: LogTile) throws(FeedDirectoryError) -> [UInt8] {
        try mapError({ $0.isMissing ? FeedDirectoryError.log(.missingTile) : .file($0) }) {
            () throws(FileError) in
            // One byte more than any tile has: what is longer is no tile.
            try Files.read(
                path(of: tile), limit: LogTile.width * (FeedLimits.headBytes + 2) + 1)
        }
    }

    func hashes(of tile: LogTile) throws(FeedDirectoryError) -> [TreeHash] {
        let bytes = try read(tile)
        guard let hashes = tile.hashes(bytes) else { throw .log(.damaged) }
        return hashes
    }

    func root(
        of subtree: CompleteSubtree, size: UInt64
    ) throws(FeedDirectoryError) -> TreeHash {
        let tile = LogTile(holding: subtree, size: size)
        return LogTile.root(of: subtree, in: try hashes(of: tile))
    }

    /// The hash of a leaf in a tree of `size`.
    func leaf(_ index: UInt64, size: UInt64) throws(FeedDirectoryError) -> TreeHash {
        try root(of: CompleteSubtree(level: 0, index: index), size: size)
    }

    package func hashes(_ plan: MerkleProofPlan) throws(FeedDirectoryError) -> [TreeHash] {
        var hashes: [TreeHash] = []
        for parts in plan.parts { hashes.append(try joined(parts, size: plan.size)) }
        return hashes
    }

    package func logRoot(size: UInt64) throws(FeedDirectoryError) -> TreeHash {
        try logRoot(of: size, in: size)
    }

    private func joined(
        _ parts: [CompleteSubtree], size: UInt64
    ) throws(FeedDirectoryError) -> TreeHash {
        var roots: [TreeHash] = []
        for subtree in parts { roots.append(try root(of: subtree, size: size)) }
        return MerkleTree.join(roots)
    }

    /// The root of a former tree, from the tiles of a later one.
    func logRoot(of former: UInt64, in size: UInt64) throws(FeedDirectoryError) -> TreeHash {
        try joined(CompleteSubtree.covering(0..<former), size: size)
    }

    /// A head of the log's, by its index in a tree of `size`.
    package func logEntry(
        _ index: UInt64, size: UInt64
    ) throws(FeedDirectoryError) -> [UInt8] {
        let tile = LogTile(.entries, index: index / UInt64(LogTile.width), size: size)
        let bytes = try read(tile)
        guard let entries = EntryBundle.decode(bytes, count: tile.width) else {
            throw .log(.damaged)
        }
        return entries[Int(index % UInt64(LogTile.width))]
    }

    /// Checks what is served of the log: the checkpoint, every tile and entry, and the proof.
    /// - Returns: the checkpoint; nil of a feed without a log.
    package func verifyLog(_ chain: KeyChain) throws(FeedDirectoryError) -> SignedCheckpoint? {
        guard let signed = try checkpoint() else { return nil }
        let tree = signed.checkpoint
        guard let origin = NoteKeyName(tree.origin), signed.isSigned(by: chain, as: origin) else {
            throw .log(.signature)
        }
        var frontier = MerkleFrontier()
        for tile in LogTile.added(from: 0, to: tree.size) {
            guard case .entries = tile.content else { continue }
            let leaves = try hashes(
                of: LogTile(.hashes(level: 0), index: tile.index, width: tile.width))
            let bytes = try read(tile)
            guard let entries = EntryBundle.decode(bytes, count: tile.width),
                entries.map({ MerkleTree.leaf($0.span) }) == leaves
            else { throw .log(.damaged) }
            for leaf in leaves { frontier.append(leaf) }
        }
        let root = try logRoot(size: tree.size)
        guard frontier.root == tree.root, root == tree.root else { throw .log(.root) }
        try verifyProof(in: tree)
        return signed
    }

    /// The proof is of the head, in a former tree of the log: killed before it replaced the head,
    /// the publisher left the checkpoint of the next one.
    private func verifyProof(in tree: LogCheckpoint) throws(FeedDirectoryError) {
        let (head, bytes) = try servedHead()
        guard let proof = LogProof(bytes), proof.includes(MerkleTree.leaf(head.span)) else {
            throw .log(.proof)
        }
        let former = proof.checkpoint.checkpoint
        guard former.origin == tree.origin, former.size <= tree.size,
            try former.root == logRoot(of: former.size, in: tree.size)
        else { throw .log(.proof) }
    }
}
