import WakeSystem

/// A set of ASCII bytes as two machine words: membership is a shift and a mask.
struct ByteClass: Sendable {
    private let low: UInt64
    private let high: UInt64

    /// Letters, digits and `others`.
    init(_ others: StaticString) {
        var words: (low: UInt64, high: UInt64) = (0, 0)
        func insert(_ byte: UInt8) {
            precondition(byte < 128, "classes are of ASCII bytes")
            if byte < 64 { words.low |= 1 << byte } else { words.high |= 1 << (byte - 64) }
        }
        for index in 0..<others.count { insert(others[index]) }
        for byte in UInt8(0x30)...0x7A where byte.isDigit || byte >= 0x41 && byte <= 0x5A {
            insert(byte)
            if !byte.isDigit { insert(byte.lowercased) }
        }
        (low, high) = words
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
    /// RFC 3986 §3.2.2: reg-name, likewise, and without ",": where several lines of one field are
    /// joined it stands between two hosts (RFC 9110 §5.3), and Host has one (RFC 9110 §7.2).
    static let registeredName = ByteClass("-._~!$&'()*+;=")
    /// RFC 3986 §3.2.2: the inside of an IP literal.
    static let addressLiteral = ByteClass("-._~!$&'()*+,;=:")
}

extension Span where Element == UInt8 {
    /// Whether every byte is of `members` or part of a percent-encoded byte other than NUL.
    func consists(of members: ByteClass) -> Bool {
        var index = 0
        while index < count {
            let byte = self[index]
            if byte == 0x25 {
                // RFC 3986 §2.1: "%" HEXDIG HEXDIG; %00 is of use only to cut strings short.
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

/// RFC 3986 §3.2 without user information: the value of Host, and part of an absolute-form target.
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
            // RFC 9110 §4.2.1: an empty host is invalid; §4.2.4: so is "@", of no class here.
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
