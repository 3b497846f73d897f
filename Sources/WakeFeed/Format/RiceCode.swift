import WakeBytes

/// The Golomb-Rice code of a batch's values (Golomb 1966, Rice 1979), each as its distance to the
/// one before, less one: 2ᵇⁱᵗˢ × q + r. Eight values make a group: their eight q, each as q zeros
/// and a one, then the bits of their eight r, so that where a group ends is known before its values
/// are. The first bit of all is the lowest one of the first byte; zeros fill the last byte. A set
/// of values has no other code.
package enum RiceCode {
    /// Values of a group; a batch has whole groups.
    static let group = 8

    /// - Parameter values: ascending, unique, `range.count` of them, in the range.
    package static func append(_ values: [UInt64], of range: DigestRange, to bytes: inout [UInt8]) {
        precondition(values.count == range.count && values.count % group == 0)
        var writer = BitWriter()
        let bits = UInt64(range.budget.bits)
        var next: UInt64 = 0
        for start in stride(from: 0, to: values.count, by: group) {
            let first = next
            for value in values[start..<start + group] {
                precondition(value >= next && value <= range.last)
                writer.putUnary((value - next) &>> bits, to: &bytes)
                // After the largest number of 64 bits comes no other.
                next = value &+ 1
            }
            next = first
            for value in values[start..<start + group] {
                writer.put(
                    (value - next) & range.remainderMask, count: range.budget.bits, to: &bytes)
                next = value &+ 1
            }
        }
        writer.fill(&bytes)
    }
}

private struct BitWriter {
    private var pending: UInt64 = 0
    private var count = 0

    /// - Parameter count: of the bits, at most 57; those above are zeros.
    mutating func put(_ value: UInt64, count added: Int, to bytes: inout [UInt8]) {
        pending |= value << UInt64(count)
        count += added
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            count -= 8
        }
    }

    /// So many zeros, then a one.
    mutating func putUnary(_ number: UInt64, to bytes: inout [UInt8]) {
        var zeros = number
        while zeros >= 32 {
            put(0, count: 32, to: &bytes)
            zeros -= 32
        }
        put(1 << zeros, count: Int(zeros) + 1, to: &bytes)
    }

    mutating func fill(_ bytes: inout [UInt8]) {
        if count > 0 { put(0, count: 8 - count, to: &bytes) }
    }
}

/// A decoder of a ``RiceCode`` in chunks of any size; the result does not depend on them. What is
/// no code ends it: no group from there on is given.
struct RiceDecoder {
    /// Eight values, ascending.
    typealias Group = SIMD8<UInt64>

    private let range: DigestRange
    /// Groups whose values are all smaller are not given.
    private var floor: UInt64
    /// Values read so far: whole groups.
    private(set) var count = 0
    /// The last of them is this far below the largest of the range; meaningless before the first.
    private var room: UInt64 = 0
    private var isMalformed = false
    /// The group that a chunk's end cut: its quotients, of which the first become values.
    private var group = Group(repeating: 0)
    private var quotientCount = 0
    private var valueCount = 0
    /// Zeros since the last one.
    private var zeros: UInt64 = 0
    private var remainder: UInt64 = 0
    private var remainderBits = 0
    /// Bits after the last value.
    private var fillBits = 0

    /// - Parameter floor: the smallest value of interest.
    init(range: DigestRange, floor: UInt64) {
        precondition(range.count % RiceCode.group == 0)
        self.range = range
        self.floor = floor
    }

    /// All values came, and after them nothing but the zeros that fill the last byte.
    var isComplete: Bool { !isMalformed && count == range.count }

    /// - Parameter body: gets each group that reaches the floor, and the index of its first value;
    ///   returns the next floor.
    @inline(__always)
    mutating func decode(_ bytes: Span<UInt8>, _ body: (_ group: Group, _ index: Int) -> UInt64) {
        var position = 0
        while position < bytes.count * 8, !isMalformed {
            if quotientCount == 0, zeros == 0, count > 0 {
                decodeGroups(bytes, &position, body)
                if isMalformed { return }
            }
            let bit = UInt64(bytes[position &>> 3]) &>> UInt64(position & 7) & 1
            position += 1
            if endsGroup(bit), group[7] >= floor { floor = body(group, count - RiceCode.group) }
        }
    }

    /// The bytes that a group's quotients and remainders may be in, read as words: a word, eight
    /// times 54 bits, and to the end of a word.
    private static let groupBytes = 72

    /// The hot loop: whole groups, while all that one may read is in the chunk. Their values are
    /// added up, and told apart only where one may be of interest. Stops at a group whose quotients
    /// take more than a word, which even values do not have.
    @inline(__always)
    private mutating func decodeGroups(
        _ bytes: Span<UInt8>, _ position: inout Int, _ body: (Group, Int) -> UInt64
    ) {
        let bits = range.budget.bits
        let (mask, last) = (range.remainderMask, range.last)
        let lastStart = bytes.count - Self.groupBytes
        var (room, index, start, floor) = (room, count, position, floor)
        while index < range.count, start &>> 3 <= lastStart {
            let code = bytes.extracting(start &>> 3..<start &>> 3 &+ Self.groupBytes)
            let ones = code.littleEndian(at: 0, as: UInt64.self) &>> UInt64(start & 7)
            var eighth = ones
            for _ in 0..<7 { eighth &= eighth &- 1 }
            guard eighth != 0 else { break }
            let end = eighth.trailingZeroBitCount
            let place = start & 7 &+ end &+ 1
            // At most 56 zeros, and eight remainders of 54 bits: no overflow.
            let distance =
                UInt64(truncatingIfNeeded: end &- 7) &<< UInt64(bits)
                &+ Self.sumOfRemainders(code, place, bits, mask) &+ 8
            guard distance <= room else {
                isMalformed = true
                break
            }
            let before = last &- room
            if before &+ distance >= floor {
                let values = Self.values(code, ones, place, bits, mask, after: before)
                floor = body(values, index)
            }
            room &-= distance
            start &+= end &+ 1 &+ 8 &* bits
            index &+= 8
        }
        (self.room, count, position, self.floor) = (room, index, start, floor)
    }

    @inline(__always)
    private static func sumOfRemainders(
        _ code: Span<UInt8>, _ place: Int, _ bits: Int, _ mask: UInt64
    ) -> UInt64 {
        var (sum, place) = (UInt64(0), place)
        guard bits & 7 != 0 else {
            // All begin at the same bit of a byte; eight of 48 bits and 7 more have room to add up.
            let (shift, step) = (UInt64(place & 7), bits &>> 3)
            var byte = place &>> 3
            for _ in 0..<8 {
                sum &+= code.littleEndian(at: byte & 63, as: UInt64.self) & mask &<< shift
                byte &+= step
            }
            return sum &>> shift
        }
        for _ in 0..<8 {
            sum &+= word(code, place) & mask
            place &+= bits
        }
        return sum
    }

    @inline(__always)
    private static func values(
        _ code: Span<UInt8>, _ ones: UInt64, _ place: Int, _ bits: Int, _ mask: UInt64,
        after before: UInt64
    ) -> Group {
        var (ones, place, sum) = (ones, place, before)
        var values = Group(repeating: 0)
        for item in 0..<8 {
            // As many zeros came before the one as its place says, without the ones.
            let zeros = UInt64(truncatingIfNeeded: ones.trailingZeroBitCount &- item)
            ones &= ones &- 1
            sum &+= word(code, place) & mask &+ 1
            place &+= bits
            values[item] = sum &+ zeros &<< UInt64(bits)
        }
        return values
    }

    /// 57 bits or more from a bit on. It is within the first 64 bytes.
    @inline(__always)
    private static func word(_ code: Span<UInt8>, _ bit: Int) -> UInt64 {
        code.littleEndian(at: bit &>> 3 & 63, as: UInt64.self) &>> UInt64(bit & 7)
    }

    /// Takes one bit.
    private mutating func endsGroup(_ bit: UInt64) -> Bool {
        guard count < range.count else {
            fillBits += 1
            if bit != 0 || fillBits > 7 { isMalformed = true }
            return false
        }
        guard quotientCount == RiceCode.group else {
            if bit == 1 {
                group[quotientCount] = zeros
                quotientCount += 1
                zeros = 0
            } else {
                zeros += 1
                if zeros >= UInt64(range.count) { isMalformed = true }
            }
            return false
        }
        remainder |= bit << UInt64(remainderBits)
        remainderBits += 1
        guard remainderBits == range.budget.bits else { return false }
        let distance = group[valueCount] << UInt64(range.budget.bits) | remainder
        (remainder, remainderBits) = (0, 0)
        // The largest value is `last`, also for the first, which has none before it.
        let isFirst = count == 0 && valueCount == 0
        guard isFirst ? distance <= range.last : distance < room else {
            isMalformed = true
            return false
        }
        room = (isFirst ? range.last : room - 1) - distance
        group[valueCount] = range.last - room
        valueCount += 1
        guard valueCount == RiceCode.group else { return false }
        (quotientCount, valueCount) = (0, 0)
        count += RiceCode.group
        return true
    }
}
