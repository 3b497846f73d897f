/// SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash nobody without the key can invert or
/// collide. Swift's `Hasher` is not used because its key can be switched off from the environment.
struct SipHash: Sendable {
    private let key0: UInt64
    private let key1: UInt64

    init(key key0: UInt64, _ key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// The hash of the eight bytes of `word`, little-endian.
    func hash(of word: UInt64) -> UInt64 {
        var state = State(key0: key0, key1: key1)
        state.absorb(word)
        // The last block holds the length in its top byte, here 8, and no further bytes.
        state.absorb(8 << 56)
        return state.finish()
    }

    private struct State {
        var v0, v1, v2, v3: UInt64

        init(key0: UInt64, key1: UInt64) {
            v0 = key0 ^ 0x736F_6D65_7073_6575
            v1 = key1 ^ 0x646F_7261_6E64_6F6D
            v2 = key0 ^ 0x6C79_6765_6E65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        mutating func absorb(_ block: UInt64) {
            v3 ^= block
            round()
            round()
            v0 ^= block
        }

        mutating func finish() -> UInt64 {
            v2 ^= 0xFF
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        private mutating func round() {
            v0 &+= v1
            v2 &+= v3
            v1 = v0 ^ rotate(v1, 13)
            v3 = v2 ^ rotate(v3, 16)
            v0 = rotate(v0, 32)
            v2 &+= v1
            v0 &+= v3
            v1 = v2 ^ rotate(v1, 17)
            v3 = v0 ^ rotate(v3, 21)
            v2 = rotate(v2, 32)
        }

        private func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
            value << bits | value >> (64 - bits)
        }
    }
}
