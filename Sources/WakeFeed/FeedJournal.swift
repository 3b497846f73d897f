private import WakeModel
private import WakeSodium

/// Which inputs were published as which batches, so that a publish repeated after a crash does not
/// publish twice.
///
/// A publish notes its *intent* before it renames the head: rename and note cannot be one step, and
/// this order loses nothing. The next publisher settles an intent by the head it finds, which
/// nobody else can have changed in between: the head names the intended batch, or it never will.
struct FeedJournal: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        /// BLAKE2b-256 of the input before padding.
        let input: HeaderHash
        let batches: ClosedRange<UInt64>
        /// Of the last of the batches.
        let headerHash: HeaderHash
        var isIntent: Bool
    }

    /// Entries kept: as many as batches are retained.
    static let capacity = FeedLimits.retainedBatches
    /// More than `capacity` lines can take.
    static let byteLimit = 256 << 10

    private static let title = "wake-feed-journal 1"
    private(set) var entries: [Entry] = []

    /// The newest publish of this input.
    func batches(of input: HeaderHash) -> ClosedRange<UInt64>? {
        entries.last { $0.input == input }?.batches
    }

    /// Decides about intents by the head as it stands.
    /// - Returns: whether there was one.
    mutating func settle(with head: FeedHead) -> Bool {
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

    /// One line for each entry: state, batches, input, header hash.
    func encoded() -> [UInt8] {
        var text = Array((Self.title + "\n").utf8)
        for entry in entries {
            let state = entry.isIntent ? "intent" : "published"
            text += "\(state) \(entry.batches.lowerBound) \(entry.batches.upperBound) ".utf8
            text += Hex.encode(entry.input.bytes.span) + [UInt8(ascii: " ")]
            text += Hex.encode(entry.headerHash.bytes.span) + [UInt8(ascii: "\n")]
        }
        return text
    }

    init() {}

    /// - Returns: nil for anything `encoded` does not make.
    init?(_ bytes: [UInt8]) {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 2, lines.removeLast().isEmpty,
            lines.removeFirst().elementsEqual(Self.title.utf8)
        else { return nil }
        for line in lines {
            guard let entry = Self.entry(line) else { return nil }
            entries.append(entry)
        }
    }

    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 5,
            let first = UInt64(String(decoding: words[1], as: UTF8.self)),
            let last = UInt64(String(decoding: words[2], as: UTF8.self)), first <= last,
            let input = hash(words[3]), let headerHash = hash(words[4])
        else { return nil }
        let state = String(decoding: words[0], as: UTF8.self)
        guard state == "intent" || state == "published" else { return nil }
        return Entry(
            input: input, batches: first...last, headerHash: headerHash,
            isIntent: state == "intent")
    }

    private static func hash(_ word: ArraySlice<UInt8>) -> HeaderHash? {
        let text = Array(word)
        guard let bytes = Hex.decode(text.span), bytes.count == 32 else { return nil }
        return HeaderHash(bytes.span)
    }
}

extension FeedInput {
    /// What makes two inputs the same: kind, width, note size, and the set of items with their
    /// notes. Neither order nor repetition, salt nor padding.
    func identity(_ shape: BatchShape) -> HeaderHash {
        let hash = Blake2b()
        switch self {
        case .digests(let digests, let width):
            var bytes = [UInt8(0), UInt8(width.rawValue)]
            for digest in digests { digest.append(to: &bytes, width: width) }
            hash.update(bytes.span)
        case .secrets(let items):
            var bytes = [UInt8(1), UInt8(shape.width.rawValue)]
            bytes.append(littleEndian: UInt16(shape.noteBytes))
            let named = items.indices.map { index in
                (Digest(of: items[index].secret, salt: nil, width: .long), index)
            }
            for (digest, index) in named.sorted(by: { $0 < $1 }) {
                digest.append(to: &bytes, width: .long)
                if let note = items[index].note {
                    bytes.append(littleEndian: UInt32(note.count) + 1)
                    bytes += note
                } else {
                    bytes.append(littleEndian: UInt32(0))
                }
            }
            hash.update(bytes.span)
        }
        let bytes = hash.finish()
        return HeaderHash(bytes.span)
    }
}
