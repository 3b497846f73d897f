import WakeSystem

/// A strict reader of the few JSON documents of the protocol (RFC 8259), without a tree. Refused
/// beyond the grammar: byte order marks, duplicate members, lone surrogates, `\u0000`, and nesting
/// deeper than `depthLimit` (RFC 8259 §4, §8.1, §8.2 and §9 leave these to the receiver).
package struct JSONScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private let depthLimit: Int

    /// - Throws: `.malformed` unless the whole document is UTF-8.
    package init(_ bytes: [UInt8], depthLimit: Int = Limits.jsonDepth) throws(JSONError) {
        guard (try? UTF8Span(validating: bytes.span)) != nil else { throw .malformed }
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    /// Reads one value with white space around it and nothing after it.
    package mutating func document<Value>(
        _ value: (inout JSONScanner) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        skipSpace()
        let result = try value(&self)
        skipSpace()
        guard position == bytes.count else { throw .malformed }
        return result
    }

    /// Reads a document that is an object; `member` must read the value that follows each name.
    package static func readObject(
        _ bytes: [UInt8], depthLimit: Int = Limits.jsonDepth,
        _ member: (inout JSONScanner, _ name: [UInt8]) throws(JSONError) -> Void
    ) throws(JSONError) {
        var scanner = try JSONScanner(bytes, depthLimit: depthLimit)
        try scanner.document { scanner throws(JSONError) in try scanner.object(member) }
    }

    /// The text of one member of a document, whose other members may be any JSON; nil when it is no
    /// object, or that member no text.
    package static func text(of member: String, in bytes: [UInt8]) -> [UInt8]? {
        var text: [UInt8]?
        let isRead: Void? = try? readObject(bytes) { scanner, name throws(JSONError) in
            guard name.elementsEqual(member.utf8) else { return try scanner.skip() }
            text = try scanner.string()
        }
        return isRead == nil ? nil : text
    }

    /// Reads an object; `member` must read the value that follows each name.
    package mutating func object(
        _ member: (inout JSONScanner, _ name: [UInt8]) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(UInt8(ascii: "{"))
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else { throw .tooDeep }
        var names: [[UInt8]] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        repeat {
            skipSpace()
            let name = try string()
            guard !names.contains(name) else { throw .duplicateMember }
            skipSpace()
            try expect(UInt8(ascii: ":"))
            skipSpace()
            try member(&self, name)
            names.append(name)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
    }

    /// Reads an array; `element` must read each value, or pass over it.
    package mutating func array(
        _ element: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(UInt8(ascii: "["))
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else { throw .tooDeep }
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        repeat {
            skipSpace()
            try element(&self)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
    }

    /// Reads one value of any kind whose numbers are integers of up to 64 bits.
    package mutating func value() throws(JSONError) -> JSONValue {
        guard position < bytes.count else { throw .malformed }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            var members: [String: JSONValue] = [:]
            try object { scanner, name throws(JSONError) in
                members[String(decoding: name, as: UTF8.self)] = try scanner.value()
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            try array { scanner throws(JSONError) in elements.append(try scanner.value()) }
            return .array(elements)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), 0x30...0x39:
            let start = position
            try skipNumber()
            let isNegative = bytes[start] == UInt8(ascii: "-")
            let digits = bytes[(isNegative ? start + 1 : start)..<position]
            guard let magnitude = UInt64(String(decoding: digits, as: UTF8.self))
            else { throw .malformed }
            return .number(isNegative: isNegative, magnitude: magnitude)
        default: return takeWord("null") ? .null : .bool(try bool())
        }
    }

    /// Passes over one value of any kind that is not needed; what it nests counts as depth.
    package mutating func skip() throws(JSONError) {
        guard position < bytes.count else { throw .malformed }
        switch bytes[position] {
        case UInt8(ascii: "{"): try object { scanner, _ throws(JSONError) in try scanner.skip() }
        case UInt8(ascii: "["): try array { scanner throws(JSONError) in try scanner.skip() }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "-"), 0x30...0x39: try skipNumber()
        default:
            guard takeWord("true") || takeWord("false") || takeWord("null")
            else { throw .malformed }
        }
    }

    /// Passes over a number that is not needed, or null.
    package mutating func skipNumberOrNull() throws(JSONError) {
        if !takeWord("null") { try skipNumber() }
    }

    /// RFC 8259 §6
    private mutating func skipNumber() throws(JSONError) {
        _ = take(UInt8(ascii: "-"))
        let start = position
        guard skipDigits() > 0, bytes[start] != 0x30 || position == start + 1
        else { throw .malformed }
        if take(UInt8(ascii: ".")) {
            guard skipDigits() > 0 else { throw .malformed }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() > 0 else { throw .malformed }
        }
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
        return position - start
    }

    package mutating func bool() throws(JSONError) -> Bool {
        if takeWord("true") { return true }
        if takeWord("false") { return false }
        throw .malformed
    }

    /// Reads an integer of at most 18 digits, without fraction or exponent.
    package mutating func integer() throws(JSONError) -> Int {
        let negative = take(UInt8(ascii: "-"))
        let start = position
        var value = 0
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            guard position - start < 18 else { throw .malformed }
            value = value * 10 + Int(bytes[position] - 0x30)
            position += 1
        }
        let digits = position - start
        guard digits > 0, digits == 1 || bytes[start] != 0x30 else { throw .malformed }
        return negative ? -value : value
    }

    /// Reads a string and resolves its escapes into UTF-8.
    package mutating func string() throws(JSONError) -> [UInt8] {
        try expect(UInt8(ascii: "\""))
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"): try appendEscape(to: &text)
            case 0..<0x20: throw .malformed
            default: text.append(byte)
            }
        }
        throw .malformed
    }

    // MARK: Escapes (RFC 8259 §7)

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONError) {
        guard position < bytes.count else { throw .malformed }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try scalar()).utf8)
        default: throw .malformed
        }
    }

    private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
        let first = try codeUnit()
        guard first != 0 else { throw .malformed }
        if let scalar = Unicode.Scalar(first) { return scalar }
        // A high surrogate must be followed by a low one.
        guard (0xD800..<0xDC00).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u"))
        else { throw .malformed }
        let second = try codeUnit()
        guard (0xDC00..<0xE000).contains(second) else { throw .malformed }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw .malformed }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        guard bytes.count - position >= 4 else { throw .malformed }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Hex.value(bytes[position]) else { throw .malformed }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    // MARK: Tokens

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes.span.extracting(position..<end).equals(word)
        else { return false }
        position = end
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard take(byte) else { throw .malformed }
    }
}

package enum JSONError: Error, Equatable {
    case malformed
    case tooDeep
    case duplicateMember
    /// A member that the protocol does not name.
    case unknownMember
    /// A member that the protocol asks for is absent.
    case missingMember
}

/// A parsed JSON value, for documents with few members. Numbers are integers of up to 64 bits.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(isNegative: Bool, magnitude: UInt64)
    /// UTF-8 with every escape resolved.
    case string([UInt8])
    case array([JSONValue])
    case object([String: JSONValue])

    package init(
        parsing bytes: [UInt8], depthLimit: Int = Limits.jsonDepth
    ) throws(JSONError) {
        var scanner = try JSONScanner(bytes, depthLimit: depthLimit)
        self = try scanner.document { scanner throws(JSONError) in try scanner.value() }
    }

    /// A member of an object; `null` when absent.
    package subscript(name: String) -> JSONValue {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    /// The elements of an array; none for another kind of value.
    package var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The characters of a string; none for another kind of value.
    package var text: String {
        guard case .string(let bytes) = self else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The number as an `Int`; nil for another kind of value and for larger numbers.
    package var integer: Int? {
        guard case .number(let isNegative, let magnitude) = self,
            let value = Int(exactly: magnitude)
        else { return nil }
        return isNegative ? -value : value
    }
}
