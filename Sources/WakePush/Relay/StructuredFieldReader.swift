import WakeModel
import WakeSystem

/// A reader of the items of a structured field (RFC 8941 §4.2); base64 must be canonical.
struct StructuredFieldReader {
    /// The next item is not of the kind asked for.
    struct Malformed: Error, Equatable {}

    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    /// Skips `byte` if it comes next.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func expect(_ byte: UInt8) throws(Malformed) {
        guard skip(byte) else { throw Malformed() }
    }

    mutating func expect(_ constant: StaticString) throws(Malformed) {
        let end = position + constant.utf8CodeUnitCount
        guard end <= text.count, text.span.extracting(position..<end).equals(constant)
        else { throw Malformed() }
        position = end
    }

    /// - Returns: false when there was none.
    @discardableResult
    mutating func skipSpaces() -> Bool {
        let start = position
        while skip(UInt8(ascii: " ")) {}
        return position > start
    }

    /// RFC 8941 §4.2.3.3
    mutating func key() throws(Malformed) -> [UInt8] {
        let start = position
        while position < text.count, Self.isKey(text[position], isFirst: position == start) {
            position += 1
        }
        guard position > start else { throw Malformed() }
        return Array(text[start..<position])
    }

    /// RFC 8941 §4.2.4, without fraction; canonical (§4.1.4): no zeros in front, no `-0`.
    mutating func integer() throws(Malformed) -> Int {
        let isNegative = skip(UInt8(ascii: "-"))
        let start = position
        var value = 0
        while position < text.count, text[position].isDigit {
            guard position - start < 15 else { throw Malformed() }
            value = value * 10 + Int(text[position] - 0x30)
            position += 1
        }
        guard position > start, text[start] != 0x30 || position == start + 1 && !isNegative
        else { throw Malformed() }
        return isNegative ? -value : value
    }

    /// RFC 8941 §4.2.5
    mutating func string() throws(Malformed) -> [UInt8] {
        try expect(UInt8(ascii: "\""))
        var value: [UInt8] = []
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return value
            case UInt8(ascii: "\\"):
                guard position < text.count,
                    [UInt8(ascii: "\""), UInt8(ascii: "\\")].contains(text[position])
                else { throw Malformed() }
                value.append(text[position])
                position += 1
            case 0x20...0x7E: value.append(byte)
            default: throw Malformed()
            }
        }
        throw Malformed()
    }

    /// RFC 8941 §4.2.7
    mutating func bytes() throws(Malformed) -> [UInt8] {
        try expect(UInt8(ascii: ":"))
        guard let end = text[position...].firstIndex(of: UInt8(ascii: ":")),
            let value = StructuredBytes.decode(text[position..<end])
        else { throw Malformed() }
        position = end + 1
        return value
    }

    private static func isKey(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "*"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            !isFirst
        default: false
        }
    }
}

/// The base64 between the colons of a byte sequence (RFC 8941 §3.3.5), with padding (RFC 4648 §4).
enum StructuredBytes {
    /// With the colons.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(ascii: ":")] + Base64.encode(bytes.span) + [UInt8(ascii: ":")]
    }

    /// Without the colons.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { Base64.decode(Array(text).span) }
}
