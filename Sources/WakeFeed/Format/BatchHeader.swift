import WakeBytes
import WakeCrypto

/// The first 256 bytes of a batch: signed, with the hash of the payload that follows.
public struct BatchHeader: Sendable, Equatable {
    /// The contents of a payload.
    public enum Kind: UInt8, Sendable {
        /// The code of digests alone.
        case digests = 0
        /// The code of digests, then one sealed note for each, in the same order.
        case notes = 1
    }

    /// The feed it belongs to.
    public let feedID: FeedID
    /// Its number: one more than its predecessor's.
    public let sequence: UInt64
    /// Time of the signature, rounded down to the minute; seconds since 1970.
    public let issued: Int64
    /// Digests in the payload, decoys included.
    public let count: Int
    /// The chance of a false match, which the digests' code depends on.
    public let budget: FalseMatchBudget
    /// The contents of the payload.
    public let kind: Kind
    /// Bytes of a sealed note; 0 without notes.
    public let noteBytes: Int
    /// The salt of the digests; nil when they are unsalted.
    public let salt: BatchSalt?
    /// Header hash of the batch before; `.none` for the first.
    public let previous: HeaderHash
    /// BLAKE2b-256 of the payload, 32 bytes.
    public let payloadHash: [UInt8]
    /// Bytes of the payload.
    public let payloadBytes: Int

    package init(
        feedID: FeedID, sequence: UInt64, issued: Int64, count: Int, budget: FalseMatchBudget,
        kind: Kind, noteBytes: Int, salt: BatchSalt?, previous: HeaderHash,
        payloadHash: [UInt8], payloadBytes: Int
    ) {
        self.feedID = feedID
        self.sequence = sequence
        self.issued = issued
        self.count = count
        self.budget = budget
        self.kind = kind
        self.noteBytes = noteBytes
        self.salt = salt
        self.previous = previous
        self.payloadHash = payloadHash
        self.payloadBytes = payloadBytes
    }
}

/// The encoding of a header; offsets as in FEED.md.
extension BatchHeader {
    package static let layout = SignedLayout(
        magic: "WAKEBT01", domain: "wake-feed/batch/1\n", count: FeedLimits.headerBytes)

    /// Reads a header whose signature was verified. Its size is checked by `checkSize`.
    package init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(136..<184) else { throw .corruptBatch(.reservedBytes) }
        guard let issued = Int64(exactly: bytes.littleEndian(at: 32, as: UInt64.self)),
            let budget = FalseMatchBudget(bits: Int(bytes[44])),
            let kind = Kind(rawValue: bytes[45])
        else { throw .corruptBatch(.shape) }
        feedID = FeedID(bytes.extracting(8..<24))
        sequence = bytes.littleEndian(at: 24)
        self.issued = issued
        count = Int(bytes.littleEndian(at: 40, as: UInt32.self))
        self.budget = budget
        self.kind = kind
        noteBytes = Int(bytes.littleEndian(at: 46, as: UInt16.self))
        salt = BatchSalt(bytes.extracting(48..<64).array)
        previous = HeaderHash(bytes.extracting(64..<96))
        payloadHash = bytes.extracting(96..<128).array
        payloadBytes = Int(clamping: bytes.littleEndian(at: 128, as: UInt64.self))
        let notesFit = kind == .digests ? noteBytes == 0 : noteBytes >= FeedLimits.noteOverheadBytes
        guard count >= FeedLimits.digestMultiple, count % FeedLimits.digestMultiple == 0,
            count <= budget.mostDigests, notesFit
        else { throw .corruptBatch(.shape) }
    }

    /// The values that the digests have in this batch.
    var range: DigestRange { DigestRange(count: count, budget: budget) }

    /// Bytes of the digests' code; the notes follow.
    var codeBytes: Int { payloadBytes - count * noteBytes }

    /// Refuses payloads that are too large, and sizes that no code of so many digests has.
    func checkSize() throws(FeedError) {
        guard payloadBytes <= FeedLimits.payloadBytes else { throw .tooLarge }
        guard range.codeBytes.contains(codeBytes) else { throw .corruptBatch(.size) }
    }

    /// The record up to the zeros before the signature.
    package var fields: [UInt8] {
        var bytes = Self.layout.magic.bytes + feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: UInt64(issued))
        bytes.append(littleEndian: UInt32(count))
        bytes += [UInt8(budget.bits), kind.rawValue]
        bytes.append(littleEndian: UInt16(noteBytes))
        bytes += salt?.bytes ?? [UInt8](repeating: 0, count: 16)
        bytes += previous.bytes + payloadHash
        bytes.append(littleEndian: UInt64(payloadBytes))
        return bytes
    }
}

/// BLAKE2b-256 of a batch's header, which identifies the whole feed up to that batch.
public struct HeaderHash: Sendable, Hashable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// The predecessor of the first batch: 32 zeros.
    public static let none = HeaderHash([UInt8](repeating: 0, count: 32).span)

    package init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 32)
        self.bytes = bytes.array
    }

    /// - Parameter bytes: 32 bytes, as stored; nil for another length.
    package init?(stored bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    package init(ofHeader header: Span<UInt8>) {
        precondition(header.count == FeedLimits.headerBytes)
        bytes = Blake2b.hash(header)
    }

    /// The part in a head's table and in a batch's name.
    package var suffix: BatchSuffix { BatchSuffix(bytes.span.extracting(0..<8)) }
}

/// The first 8 bytes of a header hash: they make a batch's address unpredictable beforehand.
public struct BatchSuffix: Sendable, Hashable {
    /// 8 bytes.
    public let bytes: [UInt8]

    init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 8)
        self.bytes = bytes.array
    }

    /// 16 lower-case hexadecimal digits.
    var text: String { String(decoding: Hex.encode(bytes.span), as: UTF8.self) }
}
