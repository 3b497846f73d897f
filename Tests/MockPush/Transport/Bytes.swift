import Glibc

/// Comparing, reading and moving bytes as the C library does, with bounds checked first.
enum Bytes {
    /// Whether `range` of `left` and the same range of `right` hold the same.
    static func same(_ left: Span<UInt8>, _ right: [UInt8], _ range: Range<Int>) -> Bool {
        precondition(range.lowerBound >= 0, "a range outside of the bytes")
        guard range.upperBound <= left.count, range.upperBound <= right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return range.isEmpty
                }
                let start = range.lowerBound
                return unsafe memcmp(left + start, right + start, range.count) == 0
            }
        }
    }

    /// Eight bytes in network order.
    static func word(_ bytes: Span<UInt8>, at position: Int) -> UInt64 {
        precondition(position >= 0 && position + 8 <= bytes.count, "a word outside of the bytes")
        return unsafe bytes.withUnsafeBytes {
            unsafe UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Moves what begins at `position` and ends at `end` to the front.
    static func moveToFront(_ bytes: inout [UInt8], _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        if range.isEmpty || range.lowerBound == 0 { return }
        unsafe bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe _ = memmove(base, base + range.lowerBound, range.count)
        }
    }

    /// Overwrites four bytes that are there.
    static func put(_ value: UInt32, into bytes: inout [UInt8], at position: Int) {
        bytes[position] = UInt8(truncatingIfNeeded: value >> 24)
        bytes[position + 1] = UInt8(truncatingIfNeeded: value >> 16)
        bytes[position + 2] = UInt8(truncatingIfNeeded: value >> 8)
        bytes[position + 3] = UInt8(truncatingIfNeeded: value)
    }
}
