import WakeBytes

/// BLAKE2b (RFC 7693) in Swift.
struct PlainBlake2b: Sendable {
    private static let blockBytes = 128
    private static let start = SIMD8<UInt64>(
        0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
        0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179)
    /// The order of the sixteen words in each round (RFC 7693 §2.7), the first in the lowest digit.
    private static let orders: [UInt64] = [
        0xFEDC_BA98_7654_3210, 0x357B_20C1_6DF9_84AE, 0x4917_63EA_DF25_0C8B, 0x8F04_A562_EBCD_1397,
        0xD386_CB1E_FA42_7509, 0x91EF_57D4_38B0_A6C2, 0xB829_3670_A4DE_F15C, 0xA268_4F05_931C_E7BD,
        0x5A41_7D2C_803B_9EF6, 0x0DC3_E9BF_5167_482A, 0xFEDC_BA98_7654_3210, 0x357B_20C1_6DF9_84AE,
    ]

    private let count: Int
    private var state: SIMD8<UInt64>
    /// Bytes in the blocks before `pending`.
    private var compressed: UInt64 = 0
    /// At most a block; the last one waits for the end.
    private var pending: [UInt8] = []

    /// - Parameter count: bytes of the hash, up to 64.
    init(count: Int) { self.init(count: count, key: [UInt8]().span) }

    /// - Parameter key: up to 64 bytes; none for an unkeyed hash.
    init(count: Int, key: Span<UInt8>) {
        precondition((1...64).contains(count) && key.count <= 64)
        self.count = count
        state = Self.start
        state[0] ^= 0x0101_0000 ^ UInt64(key.count) << 8 ^ UInt64(count)
        pending.reserveCapacity(Self.blockBytes)
        guard key.count > 0 else { return }
        pending.append(span: key)
        pending += repeatElement(0, count: Self.blockBytes - key.count)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count {
            if pending.count == Self.blockBytes { compressPending(isLast: false) }
            if pending.isEmpty {
                while bytes.count - start > Self.blockBytes {
                    compressed &+= UInt64(Self.blockBytes)
                    let block = bytes.extracting(start..<start + Self.blockBytes)
                    Self.compress(block, into: &state, end: compressed, isLast: false)
                    start += Self.blockBytes
                }
            }
            let end = min(bytes.count, start + Self.blockBytes - pending.count)
            pending.append(span: bytes.extracting(start..<end))
            start = end
        }
    }

    /// - Returns: `count` bytes.
    mutating func finish() -> [UInt8] {
        end()
        var hash: [UInt8] = []
        hash.reserveCapacity(64)
        for index in 0..<8 { hash.append(littleEndian: state[index]) }
        hash.removeLast(64 - count)
        return hash
    }

    /// The first 32 bytes, as words whose first byte is the lowest.
    mutating func finishWords() -> SIMD4<UInt64> {
        end()
        return state.lowHalf
    }

    private mutating func end() {
        let rest = Self.blockBytes - pending.count
        pending += repeatElement(0, count: rest)
        compressPending(isLast: true, padding: rest)
    }

    private mutating func compressPending(isLast: Bool, padding: Int = 0) {
        compressed &+= UInt64(Self.blockBytes - padding)
        var next = state
        Self.compress(pending.span, into: &next, end: compressed, isLast: isLast)
        state = next
        // Perhaps of a secret.
        pending.wipe()
        pending.removeAll(keepingCapacity: true)
    }

    /// RFC 7693 §3.2.
    /// - Parameter end: bytes up to the end of the block, without padding.
    private static func compress(
        _ block: Span<UInt8>, into state: inout SIMD8<UInt64>, end: UInt64, isLast: Bool
    ) {
        var (a0, a1, a2, a3) = (state[0], state[1], state[2], state[3])
        var (b0, b1, b2, b3) = (state[4], state[5], state[6], state[7])
        var (c0, c1, c2, c3) = (start[0], start[1], start[2], start[3])
        var (d0, d1, d2, d3) = (start[4] ^ end, start[5], start[6], start[7])
        if isLast { d2 = ~d2 }
        for order in orders {
            mix(&a0, &b0, &c0, &d0, word(block, order, 0), word(block, order, 1))
            mix(&a1, &b1, &c1, &d1, word(block, order, 2), word(block, order, 3))
            mix(&a2, &b2, &c2, &d2, word(block, order, 4), word(block, order, 5))
            mix(&a3, &b3, &c3, &d3, word(block, order, 6), word(block, order, 7))
            mix(&a0, &b1, &c2, &d3, word(block, order, 8), word(block, order, 9))
            mix(&a1, &b2, &c3, &d0, word(block, order, 10), word(block, order, 11))
            mix(&a2, &b3, &c0, &d1, word(block, order, 12), word(block, order, 13))
            mix(&a3, &b0, &c1, &d2, word(block, order, 14), word(block, order, 15))
        }
        state ^= SIMD8(
            a0 ^ c0, a1 ^ c1, a2 ^ c2, a3 ^ c3, b0 ^ d0, b1 ^ d1, b2 ^ d2, b3 ^ d3)
    }

    @inline(__always)
    private static func word(_ block: Span<UInt8>, _ order: UInt64, _ place: UInt64) -> UInt64 {
        block.littleEndian(at: Int(truncatingIfNeeded: order &>> (4 &* place) & 15) &* 8)
    }

    @inline(__always)
    private static func mix(
        _ a: inout UInt64, _ b: inout UInt64, _ c: inout UInt64, _ d: inout UInt64,
        _ first: UInt64, _ second: UInt64
    ) {
        a = a &+ b &+ first
        d = (d ^ a).rotated(right: 32)
        c = c &+ d
        b = (b ^ c).rotated(right: 24)
        a = a &+ b &+ second
        d = (d ^ a).rotated(right: 16)
        c = c &+ d
        b = (b ^ c).rotated(right: 63)
    }
}
