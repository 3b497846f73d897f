/// A set of ASCII bytes as two machine words: membership is a shift and a mask.
struct ByteClass: Sendable {
    private let low: UInt64
    private let high: UInt64

    init(_ members: StaticString, alphanumeric: Bool = true) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        func insert(_ byte: UInt8) {
            precondition(byte < 128, "classes are of ASCII bytes")
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        for index in 0..<members.count { insert(members[index]) }
        if alphanumeric {
            for byte in UInt8(0x30)...0x39 { insert(byte) }
            for byte in UInt8(0x41)...0x5A { insert(byte) }
            for byte in UInt8(0x61)...0x7A { insert(byte) }
        }
        self.low = low
        self.high = high
    }

    func contains(_ byte: UInt8) -> Bool {
        if byte < 64 { return low >> UInt64(byte) & 1 == 1 }
        if byte < 128 { return high >> UInt64(byte - 64) & 1 == 1 }
        return false
    }

    /// RFC 9110 §5.6.2: tchar.
    static let token = ByteClass("!#$%&'*+-.^_`|~")
    /// RFC 3986 §3.3: pchar and "/", without "%", which is checked with its digits.
    static let path = ByteClass("-._~!$&'()*+,;=:@/")
    /// RFC 3986 §3.4: query, likewise.
    static let query = ByteClass("-._~!$&'()*+,;=:@/?")
    /// RFC 3986 §3.2.2: reg-name, likewise.
    static let registeredName = ByteClass("-._~!$&'()*+,;=")
    /// RFC 3986 §3.2.2: what stands between the brackets of an IP literal.
    static let addressLiteral = ByteClass("-._~!$&'()*+,;=:")
}

extension UInt8 {
    var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// RFC 3986 §2.1: HEXDIG of either case.
    var isHexDigit: Bool { isDigit || (lowercased >= 0x61 && lowercased <= 0x66) }
}

extension Span where Element == UInt8 {
    /// Whether every byte is of `members` or part of a percent-encoded byte other than NUL.
    func consists(of members: ByteClass) -> Bool {
        var index = 0
        while index < count {
            let byte = self[index]
            if byte == 0x25 {
                // RFC 3986 §2.1: "%" HEXDIG HEXDIG, nothing else. %00 has no use but to cut strings
                // short.
                guard index + 2 < count, self[index + 1].isHexDigit, self[index + 2].isHexDigit,
                    !(self[index + 1] == 0x30 && self[index + 2] == 0x30)
                else { return false }
                index += 3
            } else {
                guard members.contains(byte) else { return false }
                index += 1
            }
        }
        return true
    }
}
