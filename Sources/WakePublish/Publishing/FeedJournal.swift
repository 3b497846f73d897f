import WakeFeed
internal import WakeModel
import WakeSystem

/// The published inputs and their batches: a publish repeated after a crash changes nothing. A
/// publish writes its *intent* before it renames the head, as both cannot be one step; the next
/// publisher resolves it by the head, which names the intended batch or never will.
struct FeedJournal: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        /// BLAKE2b-256 of the input before padding.
        let input: HeaderHash
        let batches: ClosedRange<UInt64>
        /// Of the last of the batches.
        let headerHash: HeaderHash
        var isIntent: Bool
    }

    static let capacity = FeedLimits.retainedBatches

    private(set) var entries: [Entry] = []

    init() {}

    /// The newest publish of this input.
    func batches(of input: HeaderHash) -> ClosedRange<UInt64>? {
        entries.last { $0.input == input }?.batches
    }

    /// Resolves intents by the present head; false if there was none.
    mutating func resolve(with head: FeedHead) -> Bool {
        guard entries.contains(where: \.isIntent) else { return false }
        entries.removeAll {
            $0.isIntent
                && ($0.batches.upperBound != head.sequence || $0.headerHash != head.headerHash)
        }
        for index in entries.indices { entries[index].isIntent = false }
        return true
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        entries.removeFirst(max(0, entries.count - Self.capacity))
    }
}

extension FeedJournal: StateRecord {
    static let format: StaticString = "feed-journal"
    static let version = 1
    /// More than `capacity` entries of the longest numbers take.
    static let byteLimit = 256 << 10

    func encode(to state: inout JSONText) {
        state.beginArray("publishes")
        for entry in entries {
            state.beginObject()
            state.member("intent", bool: entry.isIntent)
            state.member("first", number: entry.batches.lowerBound)
            state.member("last", number: entry.batches.upperBound)
            state.member("input", hex: entry.input.bytes)
            state.member("header", hex: entry.headerHash.bytes)
            state.endObject()
        }
        state.endArray()
    }

    init(decoding state: inout StateObject) throws(StateDamage) {
        for var entry in try state.objects("publishes") {
            let first = try entry.unsigned("first")
            let last = try entry.unsigned("last")
            let input = try entry.hex("input", count: 32)
            let header = try entry.hex("header", count: 32)
            let isIntent = try entry.bool("intent")
            guard first <= last, entries.count < Self.capacity, entry.isEmpty else {
                throw StateDamage()
            }
            entries.append(
                Entry(
                    input: HeaderHash(input.span), batches: first...last,
                    headerHash: HeaderHash(header.span), isIntent: isIntent))
        }
    }
}

extension FeedDirectory {
    /// Reads the journal; an absent one is empty.
    func readJournal() throws(FeedDirectoryError) -> FeedJournal {
        try mapError(Self.journalError) { () throws(StateFileError) in
            try StateFile<FeedJournal>(journalPath).readIfPresent() ?? FeedJournal()
        }
    }

    func write(_ journal: FeedJournal) throws(FeedDirectoryError) {
        try mapError(Self.journalError) { () throws(StateFileError) in
            try StateFile<FeedJournal>(journalPath).write(journal)
        }
    }

    private static func journalError(_ error: StateFileError) -> FeedDirectoryError {
        if case .file(let error) = error.fault { .file(error) } else { .journal }
    }
}

extension FeedInput {
    /// The hash of kind, false-match bits, note size and the set of items with notes, before salt
    /// and padding.
    func identity(_ shape: BatchShape) -> HeaderHash {
        var bytes: [UInt8]
        switch self {
        case .digests(let digests):
            bytes = [0, UInt8(shape.budget.bits)]
            for digest in digests { digest.append(to: &bytes) }
        case .secrets(let items):
            bytes = [1, UInt8(shape.budget.bits)]
            bytes.append(littleEndian: UInt16(shape.noteBytes))
            bytes.reserveCapacity(bytes.count + items.count * (Digest.bytes + 4))
            for item in items {
                item.digest.append(to: &bytes)
                bytes.append(littleEndian: item.note.map { UInt32($0.count) + 1 } ?? 0)
                if let note = item.note { bytes += note }
            }
        }
        return HeaderHash(Blake2b.hash(bytes.span).span)
    }
}
