package import WakeFeed
package import WakeModel
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
    /// More batches than any feed has: what follows was not read.
    case tooManyBatches(index: UInt64)
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
    /// The quorum is one of cosignatures that are older than a head's life.
    case staleCosignature
    /// The log has another name than the policy's, or the feed's: a publisher could keep two.
    case otherLog

    /// A stable name for scripts.
    package var code: String {
        switch self {
        case .foreignEntry: "foreign-entry"
        case .fork: "fork"
        case .dropped: "dropped-batch"
        case .paused: "paused"
        case .retired: "retired"
        case .timeWentBack: "time-went-back"
        case .tooManyBatches: "too-many-batches"
        case .missingBatch: "missing-batch"
        case .unloggedHead: "unlogged-head"
        case .otherHistory: "other-history"
        case .rollback: "rollback"
        case .wrongTiles: "wrong-tiles"
        case .badSignature: "bad-signature"
        case .noQuorum: "no-quorum"
        case .staleCosignature: "stale-cosignature"
        case .otherLog: "other-log"
        }
    }

    /// The entry it is about.
    package var index: UInt64? {
        switch self {
        case .foreignEntry(let index), .fork(let index, _), .dropped(let index, _),
            .paused(let index), .retired(let index), .timeWentBack(let index),
            .tooManyBatches(let index):
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
        case .tooManyBatches: "more batches than any feed has: what follows was not read"
        case .missingBatch(let sequence): "batch \(sequence) does not come as the head names it"
        case .unloggedHead: "the head that is served is NOT in the log"
        case .otherHistory: "the log does NOT contain what it contained the last time"
        case .rollback: "the log is smaller than it was the last time"
        case .wrongTiles: "the tiles and entries are not those of the checkpoint"
        case .badSignature: "the checkpoint is not signed with a key of the feed"
        case .noQuorum: "too few witnesses have cosigned the newest checkpoint"
        case .staleCosignature:
            "the cosignatures are older than a head's life: the newest checkpoint is an old one, "
                + "or a clock is wrong"
        case .otherLog: "the log has another name than the policy's, or the feed's"
        }
    }
}

/// A reader of a log's entries in their order, who looks for heads that no honest publisher signs.
package struct LogAudit: Sendable {
    /// Entries that are read again before the first new one, so that what follows can be compared
    /// with them: three weeks of twelve heads.
    package static let memory: UInt64 = 256
    /// More heads than any feed has: one a minute for thirty years.
    package static let sizeLimit: UInt64 = 1 << 24
    /// Findings that are kept, of a publisher's thousands; the others are counted.
    package static let findingsLimit = 100
    /// Batches that are remembered: one in two minutes for a year, in 32 MiB.
    private static let namedLimit = 1 << 18
    /// Seconds by which a batch may be older than the first head that names it.
    private static let tolerance: Int64 = 3600

    private struct Named {
        let suffix: BatchSuffix
        /// The time of the first head that named it; nil when that one was not read.
        let since: Int64?
    }

    private let chain: KeyChain
    private let start: UInt64
    private var frontier: MerkleFrontier
    /// The batches that heads have named, by number.
    private var named: [UInt64: Named] = [:]
    private var last: FeedHead?
    /// The place of the newest key that signed a head: those before it sign none any more.
    private var signer = 0
    package private(set) var findings: [LogFinding] = []
    /// Findings that were not kept.
    package private(set) var omitted = 0
    /// Whether nothing more can be judged.
    package var isFull: Bool { named.count > Self.namedLimit }

    /// - Parameter frontier: the tree of the entries before the first that is read.
    package init(_ chain: KeyChain, after frontier: MerkleFrontier = MerkleFrontier()) {
        self.chain = chain
        self.frontier = frontier
        start = frontier.size
    }

    package var size: UInt64 { frontier.size }
    package var root: TreeHash { frontier.root }

    /// Reads the next entry, which was reviewed before: what follows is compared with it.
    package mutating func resume(with entry: [UInt8]) {
        if let head = head(entry) { remember(head) }
        frontier.append(MerkleTree.leaf(entry.span))
    }

    /// Reads the next entry.
    package mutating func add(_ entry: [UInt8]) {
        defer { frontier.append(MerkleTree.leaf(entry.span)) }
        guard let head = head(entry) else {
            keep(.foreignEntry(index: size))
            return
        }
        for (sequence, suffix) in zip(head.firstSequence..., head.suffixes)
        where named[sequence].map({ $0.suffix != suffix }) ?? false {
            keep(.fork(index: size, sequence: sequence))
        }
        if let last {
            if head.issued < last.issued { keep(.timeWentBack(index: size)) }
            for sequence in last.batches where isDropped(sequence, by: head) {
                keep(.dropped(index: size, sequence: sequence))
            }
            note(head.settings.flags.subtracting(last.settings.flags))
        } else {
            note(head.settings.flags)
        }
        remember(head)
        if isFull { keep(.tooManyBatches(index: size)) }
    }

    private mutating func keep(_ finding: LogFinding) {
        if findings.count < Self.findingsLimit { findings.append(finding) } else { omitted += 1 }
    }

    /// Retention drops batches from the front, when they are old or too many; the end only grows.
    private func isDropped(_ sequence: UInt64, by head: FeedHead) -> Bool {
        if sequence > head.sequence { return true }
        guard sequence < head.firstSequence, head.count < FeedLimits.retainedBatches,
            let since = named[sequence]?.since
        else { return false }
        // No overflow: a head's times are not negative.
        return head.issued - since < FeedLimits.retainedSeconds - Self.tolerance
    }

    private mutating func note(_ flags: FeedFlags) {
        if flags.contains(.paused) { keep(.paused(index: size)) }
        if flags.contains(.retired) { keep(.retired(index: size)) }
    }

    private mutating func remember(_ head: FeedHead) {
        let isFirst = size == start && start > 0
        for (sequence, suffix) in zip(head.firstSequence..., head.suffixes)
        where named[sequence] == nil {
            named[sequence] = Named(suffix: suffix, since: isFirst ? nil : head.issued)
        }
        last = head
    }

    /// - Returns: nil also for a head of a key that another one had followed by then.
    private mutating func head(_ entry: [UInt8]) -> FeedHead? {
        let keys = Array(chain.keys[signer...])
        guard let key = FeedHead.signer(ofEntry: entry, among: keys),
            FeedHead.feedID(in: entry.span) == chain.feedID,
            let head = try? FeedHead(signed: entry.span), let place = chain.index(of: key)
        else { return nil }
        signer = place
        return head
    }
}

extension FeedHead {
    /// The numbers of the batches that it names.
    fileprivate var batches: Range<UInt64> {
        suffixes.isEmpty ? 0..<0 : firstSequence..<sequence + 1
    }

    /// A head that any key of the feed signed: which of them when, is a matter of the batches.
    /// - Returns: nil for any other bytes.
    package init?(_ bytes: [UInt8], signedBy chain: KeyChain) {
        guard Self.signer(ofEntry: bytes, among: chain.keys) != nil,
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
    /// Twice the longest checkpoint, whose newlines are escaped.
    package static let byteLimit = 2 * FeedLimits.proofBytes

    package let origin: NoteKeyName
    package let size: UInt64
    package let root: TreeHash
    /// Entries in which nothing was found, or what was found is known.
    package let reviewed: UInt64
    /// As its log and the witnesses signed it: with another one, the proof of two histories.
    package let checkpoint: [UInt8]

    package init(origin: NoteKeyName, _ signed: SignedCheckpoint, reviewed: UInt64) {
        self.origin = origin
        size = signed.checkpoint.size
        root = signed.checkpoint.root
        checkpoint = signed.bytes
        self.reviewed = reviewed
    }

    package func encode(to state: inout JSONText) {
        state.member("reviewed", number: reviewed)
        state.member("checkpoint", string: checkpoint.span)
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        let reviewed = try state.unsigned("reviewed")
        guard let signed = SignedCheckpoint(try state.text("checkpoint")),
            let origin = NoteKeyName(signed.checkpoint.origin), reviewed <= signed.checkpoint.size
        else { throw StateDamage() }
        self.init(origin: origin, signed, reviewed: reviewed)
    }
}
