internal import WakeModel
private import WakeSodium
import WakeSystem

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

    /// - Parameter bytes: 16 bytes; nil for another length and for zeros, which mean "unsalted".
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }
}

/// 8, 16 or 32 bytes that stand for a secret, as big-endian numbers, zero beyond the width.
package struct Digest: Sendable, Hashable {
    /// The first eight bytes, the key of the table of local secrets.
    let prefix: UInt64
    let second, third, fourth: UInt64
}

extension Digest {
    init(_ bytes: Span<UInt8>, at offset: Int = 0, width: DigestWidth) {
        let isLong = width == .long
        prefix = bytes.bigEndian(at: offset)
        second = width == .short ? 0 : bytes.bigEndian(at: offset + 8)
        third = isLong ? bytes.bigEndian(at: offset + 16) : 0
        fourth = isLong ? bytes.bigEndian(at: offset + 24) : 0
    }

    init(of secret: SecretBytes, salt: BatchSalt?, width: DigestWidth) {
        self = DigestDerivation(width: width, salt: salt).digest(of: secret)
    }

    func append(to bytes: inout [UInt8], width: DigestWidth) {
        bytes.append(bigEndian: prefix)
        if width == .short { return }
        bytes.append(bigEndian: second)
        if width == .standard { return }
        bytes.append(bigEndian: third)
        bytes.append(bigEndian: fourth)
    }
}

extension Digest: Comparable {
    package static func < (left: Digest, right: Digest) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        if left.second != right.second { return left.second < right.second }
        if left.third != right.third { return left.third < right.third }
        return left.fourth < right.fourth
    }
}

/// The derivation of digests of one width and salt: BLAKE2b of `width` bytes over secret and salt,
/// keyed with BLAKE2b-256 of `wake-feed/digest/1`. A short digest is the beginning of the standard
/// one: libsodium has no output below 16 bytes ("crypto_generichash_BYTES_MIN").
struct DigestDerivation: Sendable {
    private let hash: KeyedHash
    private let salt: [UInt8]
    private let width: DigestWidth

    init(width: DigestWidth, salt: BatchSalt?) {
        self.width = width
        self.salt = salt?.bytes ?? []
        hash = width == .long ? Self.longHash : Self.standardHash
    }

    func digest(of secret: SecretBytes) -> Digest {
        secret.withSpan { secret in
            let digest = hash.hash(secret, salt.span)
            guard width == .short else { return digest }
            return Digest(prefix: digest.prefix, second: 0, third: 0, fourth: 0)
        }
    }

    private static let key = Blake2b.hash("wake-feed/digest/1" as StaticString)
    private static let standardHash = KeyedHash(key: key.span, count: 16)
    private static let longHash = KeyedHash(key: key.span, count: 32)
}

extension Blake2b {
    /// BLAKE2b-256 of a constant, the key of a derivation.
    static func hash(_ domain: StaticString) -> [UInt8] { hash(domain.bytes.span) }
}
