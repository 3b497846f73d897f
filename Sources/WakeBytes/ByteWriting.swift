private import CCrypto

/// Bytes built from constants, numbers and spans, without a `String` in between.
extension Array where Element == UInt8 {
    /// The array's bytes, lent. The standard library's own property is missing on iOS before 26,
    /// because arrays of objects may be bridged there; arrays of bytes are none of those.
    @inlinable package var span: Span<UInt8> {
        @_lifetime(borrow self)
        @inline(__always) borrowing get {
            // The bytes stay where they are while the array is borrowed, as the result says.
            let bytes = unsafe withUnsafeBufferPointer { unsafe $0 }
            return unsafe _overrideLifetime(Span(_unsafeElements: bytes), borrowing: self)
        }
    }

    package init(copying span: Span<UInt8>) {
        self.init()
        reserveCapacity(span.count)
        append(span: span)
    }

    package init(text: StaticString) {
        self.init()
        reserveCapacity(text.count)
        append(text: text)
    }

    @inlinable package mutating func append(span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    @inlinable package mutating func append(text: StaticString) {
        unsafe append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable
    package mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger) {
        var shift = value.bitWidth - 8
        while shift >= 0 {
            append(UInt8(truncatingIfNeeded: value >> shift))
            shift -= 8
        }
    }

    @inlinable
    package mutating func append(littleEndian value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Overwrites the bytes of a range with one.
    package mutating func fill(_ range: Range<Int>, with byte: UInt8) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        unsafe withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe wake_fill(base + range.lowerBound, byte, range.count)
        }
    }

    /// Overwrites the bytes at an offset with an integer in network order.
    @inlinable
    package mutating func put(
        bigEndian value: some FixedWidthInteger & UnsignedInteger, at offset: Int
    ) {
        let size = value.bitWidth / 8
        for index in 0..<size {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - index)))
        }
    }

    /// Overwrites the bytes at an offset with an integer, least significant byte first.
    @inlinable
    package mutating func put(
        littleEndian value: some FixedWidthInteger & UnsignedInteger, at offset: Int
    ) {
        for index in 0..<(value.bitWidth / 8) {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }

    package mutating func put(_ bytes: [UInt8], at offset: Int) {
        for index in bytes.indices { self[offset + index] = bytes[index] }
    }

    package mutating func put(_ text: StaticString, at offset: Int) {
        for index in 0..<text.count { self[offset + index] = text[index] }
    }

    /// Appends a number that is not negative in decimal digits.
    package mutating func append(decimal number: Int) {
        precondition(number >= 0, "lengths are not negative")
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends a number that is not negative in lower-case hexadecimal digits.
    package mutating func append(hexadecimal number: Int) {
        precondition(number >= 0, "lengths are not negative")
        var shift = 0
        while number >> shift >= 16 { shift += 4 }
        while shift >= 0 {
            let digit = UInt8(number >> shift & 15)
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
    }
}
