package import WakeModel
internal import WakeSodium
import WakeSystem

/// Something odd in the log of a feed's heads, which only its publisher can have put there.
package enum LogFinding: Sendable, Equatable {
    /// An entry that is no head signed by a key of the feed.
    case foreignEntry(index: UInt64)
    /// Two heads name two batches under one number: somebody was shown another feed.
    case fork(index: UInt64, sequence: UInt64)
    /// A batch that was named once and is never named again, though it would still be retained.
    case dropped(index: UInt64, sequence: UInt64)
    /// The head tells clients to ignore wake-ups, or to stop.
    case paused(index: UInt64)
    case retired(index: UInt64)
    /// Signed earlier than the head before it, by its own words.
    case timeWentBack(index: UInt64)
    /// A batch that the newest head names, and that does not come or is another one.
    case missingBatch(sequence: UInt64)
    /// The head that is served is not in the log: it was meant for whoever asked.
    case unloggedHead
    /// The log does not contain the one of the last time.
    case otherHistory
    /// The log is smaller than it was the last time.
    case rollback
    /// The tiles and entries are not those of the checkpoint.
    case wrongTiles
    /// The checkpoint is not signed with a key of the feed.
    case badSignature
    /// The newest checkpoint has fewer cosignatures than the policy asks for.
    case noQuorum

    /// A stable name for scripts.
    package var code: String {
        switch self {
        case .foreignEntry: "foreign-entry"
        case .fork: "fork"
        case .dropped: "dropped-batch"
        case .paused: "paused"
        case .retired: "retired"
        case .timeWentBack: "time-went-back"
        case .missingBatch: "missing-batch"
        case .unloggedHead: "unlogged-head"
        case .otherHistory: "other-history"
        case .rollback: "rollback"
        case .wrongTiles: "wrong-tiles"
        case .badSignature: "bad-signature"
        case .noQuorum: "no-quorum"
        }
    }

    /// The entry it is about.
    package var index: UInt64? {
        switch self {
        case .foreignEntry(let index), .fork(let index, _), .dropped(let index, _),
            .paused(let index), .retired(let index), .timeWentBack(let index):
            index
        default: nil
        }
    }

    /// The batch it is about.
    package var sequence: UInt64? {
        switch self {
        case .fork(_, let sequence), .dropped(_, let sequence), .missingBatch(let sequence):
            sequence
        default: nil
        }
    }

    /// A part of a sentence, in English.
    package var message: String {
        switch self {
        case .foreignEntry: "an entry is no head of this feed"
        case .fork(_, let sequence):
            "two batches have the number \(sequence): somebody was shown another feed"
        case .dropped(_, let sequence): "batch \(sequence) was named, and is never named again"
        case .paused: "the head makes clients ignore wake-ups"
        case .retired: "the head makes clients unregister and stop"
        case .timeWentBack: "the head is older than the one before it, by its own time"
        case .missingBatch(let sequence): "batch \(sequence) does not come as the head names it"
        case .unloggedHead: "the head that is served is NOT in the log"
        case .otherHistory: "the log does NOT contain what it contained the last time"
        case .rollback: "the log is smaller than it was the last time"
        case .wrongTiles: "the tiles and entries are not those of the checkpoint"
        case .badSignature: "the checkpoint is not signed with a key of the feed"
        case .noQuorum: "too few witnesses have cosigned the newest checkpoint"
        }
    }
}

/// A reader of a log's entries in their order, who looks for heads that no honest publisher signs.
package struct LogAudit: Sendable {
    private let chain: KeyChain
    private var index: UInt64
    private var frontier: MerkleFrontier
    /// The suffixes that heads have named, by number.
    private var named: [UInt64: BatchSuffix] = [:]
    private var last: FeedHead?
    package private(set) var findings: [LogFinding] = []

    /// - Parameter frontier: the tree of the entries before, whose last one is read again.
    package init(_ chain: KeyChain, after frontier: MerkleFrontier = MerkleFrontier()) {
        self.chain = chain
        self.frontier = frontier
        index = frontier.size
    }

    package var size: UInt64 { frontier.size }
    package var root: TreeHash { frontier.root }

    /// Reads the entry before the first new one: what follows is compared with it.
    package mutating func resume(with entry: [UInt8]) {
        guard let head = head(entry) else { return }
        remember(head)
    }

    /// Reads the next entry.
    package mutating func add(_ entry: [UInt8]) {
        frontier.append(MerkleTree.leaf(entry.span))
        defer { index += 1 }
        guard let head = head(entry) else {
            findings.append(.foreignEntry(index: index))
            return
        }
        for (sequence, suffix) in zip(head.firstSequence..., head.suffixes)
        where named[sequence].map({ $0 != suffix }) ?? false {
            findings.append(.fork(index: index, sequence: sequence))
        }
        if let last {
            if head.issued < last.issued { findings.append(.timeWentBack(index: index)) }
            // Retention drops batches from the front; the end only grows.
            if head.sequence < last.sequence {
                findings += (max(head.sequence + 1, last.firstSequence)...last.sequence).map {
                    .dropped(index: index, sequence: $0)
                }
            }
            let new = head.settings.flags.subtracting(last.settings.flags)
            note(new)
        } else {
            note(head.settings.flags)
        }
        remember(head)
    }

    private mutating func note(_ flags: FeedFlags) {
        if flags.contains(.paused) { findings.append(.paused(index: index)) }
        if flags.contains(.retired) { findings.append(.retired(index: index)) }
    }

    private mutating func remember(_ head: FeedHead) {
        for (sequence, suffix) in zip(head.firstSequence..., head.suffixes) {
            named[sequence] = named[sequence] ?? suffix
        }
        last = head
    }

    private func head(_ entry: [UInt8]) -> FeedHead? { FeedHead(entry, signedBy: chain) }
}

extension FeedHead {
    /// A head that any key of the feed signed: which of them when, is a matter of the batches.
    /// - Returns: nil for any other bytes.
    package init?(_ bytes: [UInt8], signedBy chain: KeyChain) {
        guard (try? Self.layout.signer(of: bytes.span, among: chain.keys)) != nil,
            Self.feedID(in: bytes.span) == chain.feedID,
            let head = try? FeedHead(signed: bytes.span)
        else { return nil }
        self = head
    }

    /// Whether these bytes are the batch of that number: header and payload as the head names them.
    package func names(_ batch: [UInt8], as sequence: UInt64) -> Bool {
        guard batch.count > FeedLimits.headerBytes else { return false }
        let bytes = batch.span.extracting(0..<FeedLimits.headerBytes)
        let payload = Blake2b.hash(batch.span.extracting(FeedLimits.headerBytes..<batch.count))
        guard let header = try? BatchHeader(signed: bytes) else { return false }
        return HeaderHash(ofHeader: bytes).suffix == suffix(of: sequence)
            && header.sequence == sequence && header.payloadHash == payload
    }
}

/// The tree that a monitor saw last, in a file of its own.
package struct MonitoredLog: StateRecord, Equatable {
    package static let format: StaticString = "feed-monitor"
    package static let version = 1
    package static let byteLimit = 4096

    package let origin: NoteKeyName
    package let size: UInt64
    package let root: TreeHash

    package init(origin: NoteKeyName, size: UInt64, root: TreeHash) {
        self.origin = origin
        self.size = size
        self.root = root
    }

    package func encode(to state: inout JSONText) {
        state.member("origin", string: origin.text)
        state.member("size", number: size)
        state.member("root", hex: root.bytes)
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        let name = try state.text("origin")
        size = try state.unsigned("size")
        guard let origin = NoteKeyName(name),
            let root = TreeHash(try state.hex("root", count: TreeHash.count))
        else { throw StateDamage() }
        (self.origin, self.root) = (origin, root)
    }
}
