// Integers at fixed offsets, as heads, batches and cursors hold them.

extension Span where Element == UInt8 {
    /// The little-endian integer at an offset.
    func littleEndian<Value: FixedWidthInteger & UnsignedInteger>(
        at offset: Int, as type: Value.Type = Value.self
    ) -> Value {
        var value: Value = 0
        for index in 0..<MemoryLayout<Value>.size {
            value |= Value(truncatingIfNeeded: self[offset + index]) << Value(index * 8)
        }
        return value
    }

    /// The eight bytes at an offset as a number that compares as they do, byte by byte.
    @inline(__always)
    func bigEndianWord(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count - 8)
        // Checked above; any eight bytes are a UInt64.
        return unsafe UInt64(
            bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Whether every byte of a range is zero.
    func isZero(_ range: Range<Int>) -> Bool {
        for index in range where self[index] != 0 { return false }
        return true
    }

    func isEqual(to other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}

extension Array where Element == UInt8 {
    /// Writes an integer at an offset, little-endian.
    mutating func put(_ value: some FixedWidthInteger & UnsignedInteger, at offset: Int) {
        var rest = value
        for index in 0..<(value.bitWidth / 8) {
            self[offset + index] = UInt8(truncatingIfNeeded: rest)
            rest >>= 8
        }
    }

    /// Writes bytes at an offset.
    mutating func put(_ bytes: [UInt8], at offset: Int) {
        for index in bytes.indices { self[offset + index] = bytes[index] }
    }

    /// Writes the characters of a word at an offset.
    mutating func put(_ word: StaticString, at offset: Int) {
        put(word.bytes, at: offset)
    }

    /// Appends an integer, little-endian.
    mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
        var rest = value
        for _ in 0..<(value.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    mutating func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices { append(bytes[index]) }
    }
}

extension StaticString {
    var bytes: [UInt8] { Array(description.utf8) }
}
