/// Building wire bytes from constants and numbers without a `String` in between.
extension Array where Element == UInt8 {
    /// An array of exactly these bytes.
    init(copying span: Span<UInt8>) {
        self.init()
        reserveCapacity(span.count)
        append(span: span)
    }

    mutating func append(text: StaticString) {
        for index in 0..<text.count { append(text[index]) }
    }

    mutating func append(span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends `number` in decimal digits.
    mutating func append(decimal number: Int) {
        precondition(number >= 0, "lengths are not negative")
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(0x30 + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends `number` in hexadecimal digits.
    mutating func append(hexadecimal number: Int) {
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
