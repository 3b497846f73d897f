internal import WakeModel

/// 8, 16 or 32 bytes that stand for a secret, as numbers that compare as the bytes do; what is
/// missing at 32 is zero.
package struct Digest: Sendable, Hashable {
    let words: InlineWords

    /// Four words, most significant first.
    struct InlineWords: Sendable, Hashable {
        var first: UInt64
        var second: UInt64
        var third: UInt64
        var fourth: UInt64
    }

    /// The first eight bytes: what the table of local secrets is searched by.
    var prefix: UInt64 { words.first }

    /// Reads a digest at an offset.
    init(_ bytes: Span<UInt8>, at offset: Int = 0, width: DigestWidth) {
        let isLong = width == .long
        words = InlineWords(
            first: bytes.bigEndianWord(at: offset),
            second: width == .short ? 0 : bytes.bigEndianWord(at: offset + 8),
            third: isLong ? bytes.bigEndianWord(at: offset + 16) : 0,
            fourth: isLong ? bytes.bigEndianWord(at: offset + 24) : 0)
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
        Self.append(words.first, to: &bytes)
        if width == .short { return }
        Self.append(words.second, to: &bytes)
        if width == .standard { return }
        Self.append(words.third, to: &bytes)
        Self.append(words.fourth, to: &bytes)
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
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
