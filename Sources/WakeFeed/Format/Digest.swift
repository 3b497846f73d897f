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

    /// - Parameter bytes: 16 bytes.
    /// - Returns: nil for another length and for zeros, which stand for "unsalted".
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }
}

/// 8, 16 or 32 bytes that stand for a secret, as numbers that compare as the bytes do, zero beyond
/// the width.
package struct Digest: Sendable, Hashable {
    let words: InlineWords

    /// Four words, most significant first.
    struct InlineWords: Sendable, Hashable {
        var first: UInt64
        var second: UInt64
        var third: UInt64
        var fourth: UInt64
    }

    /// The first eight bytes, the key of the table of local secrets.
    var prefix: UInt64 { words.first }

    /// Reads a digest at an offset.
    init(_ bytes: Span<UInt8>, at offset: Int = 0, width: DigestWidth) {
        let isLong = width == .long
        words = InlineWords(
            first: bytes.bigEndian(at: offset, as: UInt64.self),
            second: width == .short ? 0 : bytes.bigEndian(at: offset + 8, as: UInt64.self),
            third: isLong ? bytes.bigEndian(at: offset + 16, as: UInt64.self) : 0,
            fourth: isLong ? bytes.bigEndian(at: offset + 24, as: UInt64.self) : 0)
    }

    init(_ words: InlineWords) {
        self.words = words
    }

    /// The digest of a secret.
    init(of secret: SecretBytes, salt: BatchSalt?, width: DigestWidth) {
        self = DigestDerivation(width: width, salt: salt).digest(of: secret)
    }

    /// Appends its bytes.
    func append(to bytes: inout [UInt8], width: DigestWidth) {
        bytes.append(bigEndian: words.first)
        if width == .short { return }
        bytes.append(bigEndian: words.second)
        if width == .standard { return }
        bytes.append(bigEndian: words.third)
        bytes.append(bigEndian: words.fourth)
    }
}

extension Digest: Comparable {
    package static func < (left: Digest, right: Digest) -> Bool {
        if left.words.first != right.words.first { return left.words.first < right.words.first }
        if left.words.second != right.words.second {
            return left.words.second < right.words.second
        }
        if left.words.third != right.words.third { return left.words.third < right.words.third }
        return left.words.fourth < right.words.fourth
    }
}

/// The derivation of digests of one width and salt: BLAKE2b of `width` bytes over secret and salt,
/// keyed with BLAKE2b-256 of `wake-feed/digest/1`.
///
/// BLAKE2b has no output below 16 bytes in libsodium ("crypto_generichash_BYTES_MIN"), so a short
/// digest is the first 8 bytes of the standard one.
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
            var words = hash.hash(secret, salt.span)
            if width == .short { words.second = 0 }
            return Digest(words)
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
