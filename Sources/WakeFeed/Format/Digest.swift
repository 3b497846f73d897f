import WakeBytes
package import WakeCrypto

/// 16 random bytes, not all zero, that make the same item's digests of two batches unlinkable.
public struct BatchSalt: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// - Parameter bytes: 16 bytes; nil for another length and for zeros, which mean "unsalted".
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }
}

/// 16 bytes that stand for a secret, as a big-endian number. A batch has a part of them, see
/// ``DigestRange``.
@usableFromInline
package struct Digest: Sendable {
    package static let bytes = 16

    @usableFromInline package let high, low: UInt64
}

/// Inlinable: publishing, in another module, makes sets of millions.
extension Digest: Hashable {
    @inlinable package static func == (left: Digest, right: Digest) -> Bool {
        left.high == right.high && left.low == right.low
    }

    @inlinable package func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }
}

extension Digest {
    package init(_ bytes: Span<UInt8>, at offset: Int = 0) {
        high = bytes.bigEndian(at: offset)
        low = bytes.bigEndian(at: offset + 8)
    }

    /// - Parameter words: a hash, as words whose first byte is the lowest.
    fileprivate init(_ words: SIMD2<UInt64>) {
        self.init(high: words[0].byteSwapped, low: words[1].byteSwapped)
    }

    package init(of secret: SecretBytes, salt: BatchSalt?) {
        self = SecretHash(of: secret).digest(salt: salt)
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}

extension Digest: Comparable {
    @inlinable package static func < (left: Digest, right: Digest) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// What the digests of a secret are derived from: BLAKE2b-256 over `wake-feed/digest/1` and the
/// secret. Its first half is the digest in batches without a salt; the other half is a key, and the
/// digest in a salted batch is SipHash-2-4-128 of the salt with it. So a device with many secrets
/// hashes each of them once and not for every batch.
package struct SecretHash: Sendable {
    /// Of batches without a salt.
    package let unsalted: Digest
    private let key: SIMD2<UInt64>

    package init(of secret: SecretBytes) {
        let domain: StaticString = "wake-feed/digest/1"
        let words = secret.withSpan { Blake2b.words(domain.bytes.span, $0) }
        unsalted = Digest(words.lowHalf)
        key = words.highHalf
    }

    package func digest(salt: BatchSalt?) -> Digest {
        guard let salt else { return unsalted }
        return Digest(SipHash128.hash(salt.bytes.span, key: key))
    }
}
