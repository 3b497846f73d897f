internal import WakeModel
import WakeSystem

/// BLAKE2b-128 (RFC 7693) of many short messages under one key, whose block is compressed once and
/// not for each, as by libsodium: a salted batch of 65,536 digests and 1,000 secrets takes 13 %
/// less time (`Tests/Bench all --only feed-match-salted-1000`).
struct KeyedHash: Sendable {
    private static let blockBytes = 128

    /// The chaining values after the key's block.
    private let start: Words

    /// The hash under a key of 1 to 64 bytes.
    init(key: Span<UInt8>) {
        precondition((1...64).contains(key.count))
        var chain = Words.initial
        // RFC 7693 §2.5: 0x0101kknn.
        chain.word0 ^= 0x0101_0000 ^ UInt64(key.count) << 8 ^ UInt64(Digest.bytes)
        var block = Block(repeating: 0)
        Self.put(key, at: 0, into: &block)
        chain.compress(block, counter: UInt64(Self.blockBytes), isLast: false)
        start = chain
    }

    /// The hash of `head`, which is not empty, and `tail` of at most 64 bytes, end to end.
    func hash(_ head: Span<UInt8>, _ tail: Span<UInt8>) -> Digest {
        precondition(!head.isEmpty && tail.count <= 64)
        var chain = start
        var counter = UInt64(Self.blockBytes)
        var rest = head
        var block = Block(repeating: 0)
        // A full block that can be followed by more is not the last.
        while rest.count + tail.count > Self.blockBytes, rest.count >= Self.blockBytes {
            block = Block(repeating: 0)
            Self.put(rest.extracting(0..<Self.blockBytes), at: 0, into: &block)
            counter += UInt64(Self.blockBytes)
            chain.compress(block, counter: counter, isLast: false)
            rest = rest.extracting(Self.blockBytes..<rest.count)
        }
        block = Block(repeating: 0)
        Self.put(rest, at: 0, into: &block)
        let fitting = min(tail.count, Self.blockBytes - rest.count)
        Self.put(tail.extracting(0..<fitting), at: rest.count, into: &block)
        counter += UInt64(rest.count + fitting)
        if fitting < tail.count {
            chain.compress(block, counter: counter, isLast: false)
            block = Block(repeating: 0)
            Self.put(tail.extracting(fitting..<tail.count), at: 0, into: &block)
            counter += UInt64(tail.count - fitting)
        }
        chain.compress(block, counter: counter, isLast: true)
        return chain.digest
    }

    /// Sixteen words of a message, little-endian.
    fileprivate typealias Block = InlineArray<16, UInt64>

    @inline(__always)
    private static func put(_ bytes: Span<UInt8>, at offset: Int, into block: inout Block) {
        var index = 0
        // Aligned words at once; bytes for the rest.
        if offset % 8 == 0 {
            while index + 8 <= bytes.count {
                block[(offset + index) / 8] = bytes.littleEndian(at: index)
                index += 8
            }
        }
        while index < bytes.count {
            let position = offset + index
            block[position / 8] |= UInt64(bytes[index]) << UInt64(position % 8 * 8)
            index += 1
        }
    }
}

/// BLAKE2b's eight chaining values.
private struct Words: Sendable {
    var word0, word1, word2, word3, word4, word5, word6, word7: UInt64

    // RFC 7693 §2.6
    static let initial = Words(
        word0: 0x6A09_E667_F3BC_C908, word1: 0xBB67_AE85_84CA_A73B, word2: 0x3C6E_F372_FE94_F82B,
        word3: 0xA54F_F53A_5F1D_36F1, word4: 0x510E_527F_ADE6_82D1, word5: 0x9B05_688C_2B3E_6C1F,
        word6: 0x1F83_D9AB_FB41_BD6B, word7: 0x5BE0_CD19_137E_2179)

    /// The first 16 bytes of the hash.
    var digest: Digest { Digest(high: word0.byteSwapped, low: word1.byteSwapped) }

    /// RFC 7693 §3.2
    mutating func compress(_ m: KeyedHash.Block, counter: UInt64, isLast: Bool) {
        var rounds = Rounds(self, counter: counter, isLast: isLast)
        rounds.run(m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        rounds.run(m, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
        rounds.run(m, 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
        rounds.run(m, 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
        rounds.run(m, 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
        rounds.run(m, 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
        rounds.run(m, 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
        rounds.run(m, 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
        rounds.run(m, 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
        rounds.run(m, 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
        rounds.run(m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        rounds.run(m, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
        word0 ^= rounds.v0 ^ rounds.v8
        word1 ^= rounds.v1 ^ rounds.v9
        word2 ^= rounds.v2 ^ rounds.v10
        word3 ^= rounds.v3 ^ rounds.v11
        word4 ^= rounds.v4 ^ rounds.v12
        word5 ^= rounds.v5 ^ rounds.v13
        word6 ^= rounds.v6 ^ rounds.v14
        word7 ^= rounds.v7 ^ rounds.v15
    }
}

/// The sixteen working words of a compression, each a variable, so that they stay in registers.
private struct Rounds {
    var v0, v1, v2, v3, v4, v5, v6, v7: UInt64
    var v8, v9, v10, v11, v12, v13, v14, v15: UInt64

    @inline(__always)
    init(_ chain: Words, counter: UInt64, isLast: Bool) {
        (v0, v1, v2, v3) = (chain.word0, chain.word1, chain.word2, chain.word3)
        (v4, v5, v6, v7) = (chain.word4, chain.word5, chain.word6, chain.word7)
        let first = Words.initial
        (v8, v9, v10, v11) = (first.word0, first.word1, first.word2, first.word3)
        (v12, v13, v15) = (first.word4 ^ counter, first.word5, first.word7)
        v14 = isLast ? ~first.word6 : first.word6
    }

    /// One round with the indices of its sixteen message words (RFC 7693 §2.7).
    @inline(__always)
    mutating func run(
        _ m: KeyedHash.Block, _ s0: Int, _ s1: Int, _ s2: Int, _ s3: Int, _ s4: Int, _ s5: Int,
        _ s6: Int, _ s7: Int, _ s8: Int, _ s9: Int, _ s10: Int, _ s11: Int, _ s12: Int,
        _ s13: Int, _ s14: Int, _ s15: Int
    ) {
        Self.mix(&v0, &v4, &v8, &v12, m[s0], m[s1])
        Self.mix(&v1, &v5, &v9, &v13, m[s2], m[s3])
        Self.mix(&v2, &v6, &v10, &v14, m[s4], m[s5])
        Self.mix(&v3, &v7, &v11, &v15, m[s6], m[s7])
        Self.mix(&v0, &v5, &v10, &v15, m[s8], m[s9])
        Self.mix(&v1, &v6, &v11, &v12, m[s10], m[s11])
        Self.mix(&v2, &v7, &v8, &v13, m[s12], m[s13])
        Self.mix(&v3, &v4, &v9, &v14, m[s14], m[s15])
    }

    /// RFC 7693 §3.1
    @inline(__always)
    private static func mix(
        _ a: inout UInt64, _ b: inout UInt64, _ c: inout UInt64, _ d: inout UInt64, _ x: UInt64,
        _ y: UInt64
    ) {
        a = a &+ b &+ x
        d = rotated(d ^ a, 32)
        c = c &+ d
        b = rotated(b ^ c, 24)
        a = a &+ b &+ y
        d = rotated(d ^ a, 16)
        c = c &+ d
        b = rotated(b ^ c, 63)
    }

    @inline(__always)
    private static func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word &>> count | word &<< (64 &- count)
    }
}
