private import WakeModel
package import WakeSodium
import WakeSystem

/// The first 256 bytes of a batch: signed, and with the hash of the payload that follows.
public struct BatchHeader: Sendable, Equatable {
    /// The contents of a payload.
    public enum Kind: UInt8, Sendable {
        /// Digests alone.
        case digests = 0
        /// Digests, then one sealed note for each, in the same order.
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
    /// Bytes of a digest: 8, 16 or 32.
    public let width: DigestWidth
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
}

/// The encoding of a header.
extension BatchHeader {
    /// Offsets of its fields, bytes.
    enum Offset {
        static let feedID = 8
        static let sequence = 24
        static let issued = 32
        static let count = 40
        static let width = 44
        static let kind = 45
        static let noteBytes = 46
        static let salt = 48
        static let previous = 64
        static let payloadHash = 96
        static let payloadBytes = 128
        static let reserved = 136..<184
        static let keyID = 184
        static let signature = 192
    }

    static let magic: StaticString = "WAKEBT01"
    static let signing = SignedLayout(
        domain: "wake-feed/batch/1\n", keyID: Offset.keyID, signature: Offset.signature)

    /// - Parameters:
    ///   - bytes: 256 bytes.
    ///   - keys: those that may sign.
    /// - Returns: the key that signed.
    static func signer(
        of bytes: Span<UInt8>, among keys: [FeedKey]
    ) throws(FeedError) -> FeedKey {
        precondition(bytes.count == FeedLimits.headerBytes)
        guard bytes.extracting(0..<8).equals(magic) else { throw .badSignature }
        return try signing.signer(of: bytes, among: keys)
    }

    /// Reads a header whose signature was verified. Its size is checked by `checkSize`.
    init(signed bytes: Span<UInt8>) throws(FeedError) {
        guard bytes.isZero(Offset.reserved) else { throw .corruptBatch(.reservedBytes) }
        feedID = FeedID(bytes.extracting(Offset.feedID..<Offset.feedID + 16))
        sequence = bytes.littleEndian(at: Offset.sequence)
        let issued: UInt64 = bytes.littleEndian(at: Offset.issued)
        let payloadBytes: UInt64 = bytes.littleEndian(at: Offset.payloadBytes)
        guard let issued = Int64(exactly: issued),
            let width = DigestWidth(rawValue: Int(bytes[Offset.width])),
            let kind = Kind(rawValue: bytes[Offset.kind])
        else { throw .corruptBatch(.shape) }
        self.issued = issued
        self.width = width
        self.kind = kind
        count = Int(bytes.littleEndian(at: Offset.count, as: UInt32.self))
        noteBytes = Int(bytes.littleEndian(at: Offset.noteBytes, as: UInt16.self))
        salt = BatchSalt(bytes.extracting(Offset.salt..<Offset.salt + 16).array)
        previous = HeaderHash(bytes.extracting(Offset.previous..<Offset.previous + 32))
        payloadHash = bytes.extracting(Offset.payloadHash..<Offset.payloadHash + 32).array
        self.payloadBytes = Int(clamping: payloadBytes)
        let notesFit =
            kind == .digests ? noteBytes == 0 : noteBytes >= FeedLimits.noteOverheadBytes
        guard count >= FeedLimits.digestMultiple, count % FeedLimits.digestMultiple == 0, notesFit
        else { throw .corruptBatch(.shape) }
    }

    /// Refuses payloads that are too large, and sizes that contradict each other.
    func checkSize() throws(FeedError) {
        guard payloadBytes <= FeedLimits.payloadBytes else { throw .tooLarge }
        guard payloadBytes == count * (width.rawValue + noteBytes) else {
            throw .corruptBatch(.size)
        }
    }

    /// The 256 bytes, signed.
    package func encoded(signedWith key: SigningKey) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: FeedLimits.headerBytes)
        bytes.put(Self.magic, at: 0)
        bytes.put(feedID.bytes, at: Offset.feedID)
        bytes.put(littleEndian: sequence, at: Offset.sequence)
        bytes.put(littleEndian: UInt64(issued), at: Offset.issued)
        bytes.put(littleEndian: UInt32(count), at: Offset.count)
        bytes[Offset.width] = UInt8(width.rawValue)
        bytes[Offset.kind] = kind.rawValue
        bytes.put(littleEndian: UInt16(noteBytes), at: Offset.noteBytes)
        if let salt { bytes.put(salt.bytes, at: Offset.salt) }
        bytes.put(previous.bytes, at: Offset.previous)
        bytes.put(payloadHash, at: Offset.payloadHash)
        bytes.put(littleEndian: UInt64(payloadBytes), at: Offset.payloadBytes)
        Self.signing.sign(&bytes, with: key)
        return bytes
    }
}

/// BLAKE2b-256 of a batch's 256-byte header. Through the payload's hash and the predecessor's
/// header hash it identifies the whole feed up to that batch.
public struct HeaderHash: Sendable, Hashable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// The predecessor of the first batch: 32 zeros.
    public static let none = HeaderHash([UInt8](repeating: 0, count: 32).span)

    /// - Parameter bytes: 32 bytes, the hash itself.
    init(_ bytes: Span<UInt8>) {
        precondition(bytes.count == 32)
        self.bytes = bytes.array
    }

    /// Hashes a header.
    init(ofHeader header: Span<UInt8>) {
        precondition(header.count == FeedLimits.headerBytes)
        bytes = Blake2b.hash(header)
    }

    /// The part in a head's table and in a batch's name.
    var suffix: BatchSuffix { BatchSuffix(bytes.span.extracting(0..<8)) }
}

/// The first 8 bytes of a header hash. They make a batch's address unpredictable before it is
/// published.
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
