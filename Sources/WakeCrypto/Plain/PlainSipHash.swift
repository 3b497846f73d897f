import WakeBytes

/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012, and their reference code).
enum PlainSipHash {
    static func hash(_ bytes: Span<UInt8>, key: SIMD2<UInt64>) -> SIMD2<UInt64> {
        var state = SipState(key)
        let words = bytes.count / 8
        for index in 0..<words { state.add(bytes.littleEndian(at: 8 * index)) }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for index in 8 * words..<bytes.count {
            last |= UInt64(bytes[index]) << UInt64(8 * (index - 8 * words))
        }
        state.add(last)
        return state.finish()
    }
}

private struct SipState {
    private var (a, b, c, d): (UInt64, UInt64, UInt64, UInt64)

    init(_ key: SIMD2<UInt64>) {
        a = key[0] ^ 0x736F_6D65_7073_6575
        b = key[1] ^ 0x646F_7261_6E64_6F6D ^ 0xEE
        c = key[0] ^ 0x6C79_6765_6E65_7261
        d = key[1] ^ 0x7465_6462_7974_6573
    }

    mutating func add(_ word: UInt64) {
        d ^= word
        mix(rounds: 2)
        a ^= word
    }

    mutating func finish() -> SIMD2<UInt64> {
        c ^= 0xEE
        mix(rounds: 4)
        let first = a ^ b ^ c ^ d
        b ^= 0xDD
        mix(rounds: 4)
        return SIMD2(first, a ^ b ^ c ^ d)
    }

    @inline(__always)
    private mutating func mix(rounds: Int) {
        for _ in 0..<rounds {
            a = a &+ b
            b = b.rotated(right: 51) ^ a
            a = a.rotated(right: 32)
            c = c &+ d
            d = d.rotated(right: 48) ^ c
            a = a &+ d
            d = d.rotated(right: 43) ^ a
            c = c &+ b
            b = b.rotated(right: 47) ^ c
            c = c.rotated(right: 32)
        }
    }
}
