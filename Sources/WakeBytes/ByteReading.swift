private import CCrypto

/// Numbers at fixed offsets, and comparisons with constants, without a `String` in between.
extension Span where Element == UInt8 {
    package var array: [UInt8] {
        // Without a check of the capacity for each byte, so that several are copied at once.
        [UInt8](capacity: count) { bytes in
            for index in indices { bytes.append(self[index]) }
        }
    }

    @inlinable
    package func littleEndian<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        at offset: Int, as type: Value.Type = Value.self
    ) -> Value {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Value>.size)
        // Checked above; any bytes are an integer.
        return unsafe Value(
            littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    @inlinable
    package func bigEndian<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        at offset: Int, as type: Value.Type = Value.self
    ) -> Value {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Value>.size)
        // Checked above; any bytes are an integer.
        return unsafe Value(
            bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    package func isZero(_ range: Range<Int>) -> Bool {
        // Many at once: rows are mostly padding.
        range.isEmpty
            || self[range.lowerBound] == 0
                && runLength(at: range.lowerBound, most: range.count) == range.count
    }

    package var isZero: Bool { isZero(0..<count) }

    /// The number of equal bytes that begin at an offset.
    /// - Parameter most: 1 or more.
    package func runLength(at start: Int, most: Int) -> Int {
        precondition(start >= 0 && start < count && most > 0)
        let end = Swift.min(count - start, most)
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            let first = unsafe base + start
            var length = 1
            var step = 16
            var isGrowing = true
            // Steps are compared with the same bytes, moved by one: all of them are equal, or not.
            while length < end {
                step = Swift.min(step, end - length)
                if unsafe wake_compare(first + length - 1, first + length, step) == 0 {
                    length += step
                    if isGrowing { step *= 4 }
                } else {
                    guard step > 1 else { break }
                    isGrowing = false
                    step /= 2
                }
            }
            return length
        }
    }

    @inlinable package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    package func equals(_ other: [UInt8]) -> Bool { equals(other.span) }

    @inlinable package func equals(_ text: StaticString) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index] != text[index] { return false }
        return true
    }

    /// Whether these bytes are `text`, ASCII letters of either case being equal.
    @inlinable package func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index].lowercased != text[index].lowercased {
            return false
        }
        return true
    }

    @inlinable package func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index].lowercased != other[index].lowercased {
            return false
        }
        return true
    }
}

/// A constant's UTF-8 bytes, bounds-checked, in the program's read-only memory.
extension StaticString {
    @inlinable package var count: Int { utf8CodeUnitCount }
    package var bytes: [UInt8] { [UInt8](text: self) }

    @inlinable package subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < utf8CodeUnitCount, "index out of range")
        return unsafe utf8Start[index]
    }
}

/// ASCII (RFC 20), which is all that our formats are made of.
extension UInt8 {
    /// The byte, an ASCII capital made small.
    @inlinable package var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
    @inlinable package var isDigit: Bool { self >= 0x30 && self <= 0x39 }
    @inlinable package var isCapital: Bool { self >= 0x41 && self <= 0x5A }
    @inlinable package var isAlphanumeric: Bool {
        isDigit || (lowercased >= 0x61 && lowercased <= 0x7A)
    }

    /// RFC 3986 §2.1: HEXDIG of either case.
    @inlinable package var isHexDigit: Bool {
        isDigit || (lowercased >= 0x61 && lowercased <= 0x66)
    }
}

extension String {
    /// The text whose UTF-8 these bytes are; nil when they are none: decoding replaces what is not.
    package init?(utf8 bytes: some Collection<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        guard utf8.elementsEqual(bytes) else { return nil }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys it instead of showing it, or shows what follows in another order:
    /// C0 and C1 controls, DEL, separators of lines, and marks of direction (UAX #9, table 1).
    package var isCommand: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
