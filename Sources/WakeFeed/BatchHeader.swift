/// The first 256 bytes of a batch: signed, and with the hash of the payload that follows.
public struct BatchHeader: Sendable, Equatable {
    /// What a payload holds.
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
    /// When it was signed, rounded to the minute; seconds since 1970.
    public let issued: Int64
    /// Digests in the payload, decoys included.
    public let count: Int
    /// Bytes of a digest: 8, 16 or 32.
    public let width: DigestWidth
    /// What the payload holds.
    public let kind: Kind
    /// Bytes of a sealed note; 0 without notes.
    public let noteBytes: Int
    /// What digests are salted with; nil when they are not.
    public let salt: BatchSalt?
    /// Header hash of the batch before; `.none` for the first.
    public let previous: HeaderHash
    /// BLAKE2b-256 of the payload, 32 bytes.
    public let payloadHash: [UInt8]
    /// Bytes of the payload.
    public let payloadBytes: Int
}

/// Bytes of a digest.
public enum DigestWidth: Int, Sendable, CaseIterable {
    /// Half the traffic; one false match in 10¹⁰ for a thousand secrets against a million digests.
    case short = 8
    /// The default: no false match in practice.
    case standard = 16
    /// For digests that were derived elsewhere with this length.
    case long = 32
}

/// 16 random bytes, not all zero, that make the same item's digests of two batches unlinkable.
public struct BatchSalt: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// - Parameter bytes: 16 bytes.
    /// - Returns: nil for another length and for zeros, which stand for "unsalted".
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }
}
