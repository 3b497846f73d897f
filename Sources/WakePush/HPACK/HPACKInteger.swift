/// Integers with a prefix of 1 to 8 bits (RFC 7541 §5.1).
enum HPACKInteger {
    /// Reads one and moves `position` past it.
    static func read(
        _ bytes: Span<UInt8>, at position: inout Int, prefix: Int
    ) throws(HPACKError) -> Int {
        guard position < bytes.count else { throw .truncated }
        let mask = (1 << prefix) - 1
        var value = Int(bytes[position]) & mask
        position += 1
        if value < mask { return value }
        var shift = 0
        while true {
            guard position < bytes.count else { throw .truncated }
            let byte = bytes[position]
            position += 1
            value += Int(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
            // 4 bytes hold more than any length we accept.
            guard shift <= 21 else { throw .integerTooLarge }
        }
    }

    /// Appends `value`; `pattern` holds the bits above the prefix.
    static func write(
        _ value: Int, prefix: Int, pattern: UInt8 = 0, into bytes: inout [UInt8]
    ) {
        precondition(value >= 0, "lengths and indices are not negative")
        let mask = (1 << prefix) - 1
        guard value >= mask else {
            bytes.append(pattern | UInt8(value))
            return
        }
        bytes.append(pattern | UInt8(mask))
        var rest = value - mask
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
