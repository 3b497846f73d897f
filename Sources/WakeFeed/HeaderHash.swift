private import WakeModel
private import WakeSodium

/// BLAKE2b-256 of a batch's 256-byte header: through the payload's hash and the predecessor's
/// header hash it stands for the whole feed up to that batch.
public struct HeaderHash: Sendable, Hashable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// What stands before the first batch: 32 zeros.
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

    /// The first 8 bytes: what a head's table and a batch's name hold of it.
    var suffix: BatchSuffix { BatchSuffix(bytes.span.extracting(0..<8)) }
}

/// The first 8 bytes of a header hash, which make a batch's address one that nobody can guess
/// before it is published.
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
