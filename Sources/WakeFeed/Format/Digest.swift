package import WakeModel
private import WakeSodium
import WakeSystem

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
package struct Digest: Sendable, Hashable {
    static let bytes = 16

    package let high, low: UInt64
}

extension Digest {
    package init(_ bytes: Span<UInt8>, at offset: Int = 0) {
        high = bytes.bigEndian(at: offset)
        low = bytes.bigEndian(at: offset + 8)
    }

    package init(of secret: SecretBytes, salt: BatchSalt?) {
        self = DigestDerivation(salt: salt).digest(of: secret)
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}

extension Digest: Comparable {
    package static func < (left: Digest, right: Digest) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// The derivation of digests with one salt: BLAKE2b-128 over secret and salt, keyed with
/// BLAKE2b-256 of `wake-feed/digest/1`.
struct DigestDerivation: Sendable {
    private let salt: [UInt8]

    init(salt: BatchSalt?) { self.salt = salt?.bytes ?? [] }

    func digest(of secret: SecretBytes) -> Digest {
        secret.withSpan { Self.hash.hash($0, salt.span) }
    }

    private static let key = Blake2b.hash("wake-feed/digest/1" as StaticString)
    private static let hash = KeyedHash(key: key.span)
}

extension Blake2b {
    /// BLAKE2b-256 of a constant, the key of a derivation.
    static func hash(_ domain: StaticString) -> [UInt8] { hash(domain.bytes.span) }
}
