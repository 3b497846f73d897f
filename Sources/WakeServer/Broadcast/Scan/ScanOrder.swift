import WakeModel
import WakeStore
import WakeSystem

/// The order in which a broadcast reads the registrations: those of the previous generation in
/// blocks of neighbouring ids, the blocks in an order that a seed draws, then those of the current
/// generation in the same order. A place in it is a number: 32 bits of an id, with the position of
/// their block in place of its number, and above them whether it is of the current generation.
///
/// Previous first, because a renewal moves a row from previous to current and never back: one that
/// moves before it is read is found again in current, one that moves later had its push, or gets
/// it.
///
/// The order hides who is pushed first: nobody learns from one run about another or about an id,
/// except for neighbours within a block.
struct ScanOrder: Sendable, Equatable {
    /// The place of the first row of the current generation, and the place after the last.
    static let currentStart: UInt64 = 1 << 32
    static let end: UInt64 = 2 << 32

    /// The most neighbours, blocks of ids, that are searched for one page.
    static let blocksAtOnce = 64

    /// Blocks by position, and positions by block.
    private let blocks: [UInt32]
    private let positions: [UInt32]
    /// Bits of an id within a block.
    private let shift: UInt32

    /// - Parameter blockBits: 1 to 16; of the number of blocks.
    init(seed: UInt64, blockBits: UInt8) {
        precondition((1...16).contains(blockBits))
        var state = seed
        // SplitMix64, and Knuth's algorithm P: a run goes on under another version of Swift.
        func draw() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
        var blocks = (0..<UInt32(1) << blockBits).map { $0 }
        for index in blocks.indices.dropFirst().reversed() {
            blocks.swapAt(index, Int(draw() % UInt64(index + 1)))
        }
        var positions = blocks
        for (position, block) in blocks.enumerated() { positions[Int(block)] = UInt32(position) }
        (self.blocks, self.positions) = (blocks, positions)
        shift = 32 - UInt32(blockBits)
    }

    /// Bits of the number of blocks for a store of this number of rows. Each block costs a search;
    /// with 4,096 two runs are uncorrelated.
    static func blockBits(rows: Int) -> UInt8 {
        var bits: UInt8 = 6
        while 1 << bits < min(rows, 4096) { bits += 1 }
        return bits
    }

    static func generation(at place: UInt64) -> Generation {
        place < currentStart ? .previous : .current
    }

    /// - Parameter prefix: the first 32 bits of the id.
    func place(of prefix: UInt32, in generation: Generation) -> UInt64 {
        let position = positions[Int(prefix >> shift)] << shift
        let place = UInt64(position | prefix & mask)
        return generation == .previous ? place : place | Self.currentStart
    }

    /// Places that take as many blocks as are searched at once.
    var widest: UInt64 { UInt64(Self.blocksAtOnce) << UInt64(shift) }

    /// The ids at places of one generation, in their order.
    func ids(at places: Range<UInt64>) -> [IDRange] {
        var ranges: [IDRange] = []
        var next = places.lowerBound
        while next < places.upperBound {
            let offset = UInt32(truncatingIfNeeded: next)
            let end = min(places.upperBound, ((next >> UInt64(shift)) + 1) << UInt64(shift))
            let first = blocks[Int(offset >> shift)] << shift | offset & mask
            let last = first + UInt32(end - next - 1)
            ranges.append(
                IDRange(
                    after: first > 0 ? Self.greatestID(first - 1) : [],
                    through: Self.greatestID(last)))
            next = end
        }
        return ranges
    }

    private var mask: UInt32 { 1 << shift - 1 }

    private static func greatestID(_ prefix: UInt32) -> [UInt8] {
        var id: [UInt8] = []
        id.append(bigEndian: prefix)
        return id + repeatElement(UInt8.max, count: Limits.idBytes - id.count)
    }
}
