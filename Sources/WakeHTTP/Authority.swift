/// RFC 3986 §3.2 without user information: what Host and an absolute-form target may name.
enum Authority {
    /// Whether `bytes` is a non-empty host, optionally with a port.
    static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > 0 else { return false }
        let hostEnd: Int
        if bytes[0] == 0x5B {
            guard let close = addressLiteralEnd(bytes) else { return false }
            hostEnd = close
        } else {
            var end = 0
            while end < bytes.count, bytes[end] != 0x3A { end += 1 }
            // RFC 9110 §4.2.1: an http URI with an empty host is invalid. "@" is of no class: RFC
            // 9110 §4.2.4.
            guard end > 0, bytes.extracting(0..<end).consists(of: .registeredName) else {
                return false
            }
            hostEnd = end
        }
        if hostEnd == bytes.count { return true }
        guard bytes[hostEnd] == 0x3A else { return false }
        return isPort(bytes.extracting((hostEnd + 1)..<bytes.count))
    }

    /// The index after the closing bracket.
    private static func addressLiteralEnd(_ bytes: Span<UInt8>) -> Int? {
        var index = 1
        while index < bytes.count, bytes[index] != 0x5D {
            guard ByteClass.addressLiteral.contains(bytes[index]) else { return nil }
            index += 1
        }
        return index < bytes.count && index > 1 ? index + 1 : nil
    }

    /// RFC 3986 §3.2.3: digits, possibly none; more than 65535 is no port.
    private static func isPort(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count <= 5 else { return false }
        var value = 0
        for index in 0..<bytes.count {
            guard bytes[index].isDigit else { return false }
            value = value * 10 + Int(bytes[index] - 0x30)
        }
        return value <= 65_535
    }
}
