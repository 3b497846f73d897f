import WakeSystem

/// Writes JSON documents of the protocol straight into bytes.
package struct JSONText {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// The document, or the next element of an array.
    package mutating func beginObject() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    package mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    package mutating func beginObject(_ name: StaticString) {
        self.name(name)
        needsComma = false
        beginObject()
    }

    package mutating func beginArray(_ name: StaticString) {
        self.name(name)
        bytes.append(UInt8(ascii: "["))
        needsComma = false
    }

    package mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    package mutating func member(_ name: StaticString, string value: Span<UInt8>) {
        self.name(name)
        self.string(value)
        needsComma = true
    }

    package mutating func member(_ name: StaticString, string value: StaticString) {
        member(name, string: Array(value.description.utf8).span)
    }

    package mutating func member(_ name: StaticString, string value: String) {
        member(name, string: Array(value.utf8).span)
    }

    package mutating func member(_ name: StaticString, bool value: Bool) {
        member(name, raw: value ? "true" : "false")
    }

    package mutating func member(_ name: StaticString, number value: some BinaryInteger) {
        member(name, raw: String(value))
    }

    package mutating func member(_ name: StaticString, numbers: [some BinaryInteger]) {
        member(name, raw: "[\(numbers.map { String($0) }.joined(separator: ","))]")
    }

    package mutating func member(_ name: StaticString, strings: [String]) {
        beginArray(name)
        for (index, string) in strings.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            self.string(Array(string.utf8).span)
        }
        endArray()
    }

    /// Bytes in lower-case hexadecimal digits.
    package mutating func member(_ name: StaticString, hex bytes: [UInt8]) {
        member(name, string: Hex.encode(bytes.span).span)
    }

    /// A name that is put together; not of what came over the wire.
    package mutating func member(named name: String, number value: some BinaryInteger) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        for byte in name.utf8 { append(byte) }
        bytes.append(contentsOf: "\":\(value)".utf8)
        needsComma = true
    }

    /// Adds a value that is JSON already.
    package mutating func member(_ name: StaticString, raw value: String) {
        self.name(name)
        bytes.append(contentsOf: value.utf8)
        needsComma = true
    }

    package mutating func pad(to count: Int) {
        guard bytes.count < count else { return }
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: count - bytes.count))
    }

    private mutating func string(_ value: Span<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var index = 0
        while index < value.count {
            if value[index] >= 0x7F, let (scalar, count) = Self.command(in: value, at: index) {
                let digits = String(scalar.value, radix: 16)
                let zeros = String(repeating: "0", count: 4 - digits.count)
                bytes.append(contentsOf: "\\u\(zeros)\(digits)".utf8)
                index += count
            } else {
                append(value[index])
                index += 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// A scalar beyond ASCII's controls that terminals obey, and its length in UTF-8: documents are
    /// read on terminals as well, whoever wrote what is in them.
    private static func command(
        in text: Span<UInt8>, at index: Int
    ) -> (Unicode.Scalar, Int)? {
        func bits(_ offset: Int) -> UInt32? {
            guard index + offset < text.count, text[index + offset] & 0xC0 == 0x80 else {
                return nil
            }
            return UInt32(text[index + offset] & 0x3F)
        }
        let (first, value, count): (UInt32, UInt32?, Int)
        first = UInt32(text[index])
        switch first {
        case 0x7F: (value, count) = (first, 1)
        case 0xC2, 0xD8: (value, count) = (bits(1).map { (first & 0x1F) << 6 | $0 }, 2)
        case 0xE2:
            value = bits(1).flatMap { high in bits(2).map { 0x2000 | high << 6 | $0 } }
            count = 3
        default: return nil
        }
        guard let scalar = value.flatMap(Unicode.Scalar.init), scalar.isCommand else { return nil }
        return (scalar, count)
    }

    private mutating func name(_ name: StaticString) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name.description.utf8)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// RFC 8259 §7: quotation mark, reverse solidus and controls must be escaped.
    private mutating func append(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(contentsOf: Hex.encode([byte].span))
        default: bytes.append(byte)
        }
    }
}
