import WakeSystem

/// An encoder of values (D-Bus Specification, "Marshaling (Wire Format)").
package struct BusEncoder {
    /// The encoded bytes; alignment counts from the first.
    package private(set) var bytes: [UInt8] = []
    private let order: BusByteOrder

    package init(order: BusByteOrder = .little) { self.order = order }

    /// Appends one value. Throws `.malformed` for text with NUL, an element not of its array's
    /// type, an empty structure or too much depth; `.tooLarge` beyond `BusLimits.messageBytes`.
    package mutating func append(_ value: BusValue) throws(BusError) {
        try append(value, as: Self.single(value), depth: 0)
    }

    private static func single(_ value: BusValue) throws(BusError) -> BusSignature {
        var type: [UInt8] = []
        value.appendType(to: &type)
        let signature = try BusSignature(type)
        guard signature.isSingle else { throw .malformed(.signature) }
        return signature
    }

    /// - Parameter signature: of exactly these values.
    mutating func append(_ values: [BusValue], as signature: BusSignature) throws(BusError) {
        var position = 0
        for value in values {
            guard position < signature.bytes.count else { throw .malformed(.type) }
            try append(value, signature.bytes, &position, 0)
        }
        guard position == signature.bytes.count else { throw .malformed(.type) }
    }

    private mutating func append(
        _ value: BusValue, as signature: BusSignature, depth: Int
    ) throws(BusError) {
        var position = 0
        try append(value, signature.bytes, &position, depth)
    }

    /// - Parameter position: the start of the value's type in the signature; afterwards its end.
    private mutating func append(
        _ value: BusValue, _ signature: [UInt8], _ position: inout Int, _ depth: Int
    ) throws(BusError) {
        guard value.type.rawValue == signature[position] else { throw .malformed(.type) }
        guard bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        switch value {
        case .variant, .array, .bytes, .dictionary, .structure:
            guard depth < BusLimits.totalDepth else { throw .malformed(.depth) }
            try appendContainer(value, signature, &position, depth + 1)
        default:
            try appendBasic(value)
            position += 1
        }
    }

    private mutating func appendBasic(_ value: BusValue) throws(BusError) {
        switch value {
        case .byte(let byte): bytes.append(byte)
        case .boolean(let flag): append(integer: UInt32(flag ? 1 : 0))
        case .int16(let number): append(integer: UInt16(bitPattern: number))
        case .uint16(let number): append(integer: number)
        case .int32(let number): append(integer: UInt32(bitPattern: number))
        case .uint32(let number), .unixFD(let number): append(integer: number)
        case .int64(let number): append(integer: UInt64(bitPattern: number))
        case .uint64(let number): append(integer: number)
        case .double(let number): append(integer: number.bitPattern)
        case .string(let text):
            guard BusGrammar.isText(text) else { throw .malformed(.text) }
            append(text: text)
        case .objectPath(let path):
            guard BusGrammar.isObjectPath(path) else { throw .malformed(.objectPath) }
            append(text: path)
        case .signature(let types): append(signature: try BusSignature(types))
        default: preconditionFailure("a container")
        }
    }

    private mutating func appendContainer(
        _ value: BusValue, _ signature: [UInt8], _ position: inout Int, _ depth: Int
    ) throws(BusError) {
        let end = BusSignature.skip(signature, at: position)
        switch value {
        case .variant(let inner):
            let single = try Self.single(inner)
            append(signature: single)
            try append(inner, as: single, depth: depth)
        case .bytes(let content):
            guard signature[position + 1] == BusType.byte.rawValue else { throw .malformed(.type) }
            append(integer: UInt32(truncatingIfNeeded: content.count))
            bytes += content
        case .array(let element, let values):
            guard element.isSingle, signature[(position + 1)..<end].elementsEqual(element.bytes)
            else { throw .malformed(.type) }
            let start = beginArray(of: element.bytes[0])
            for value in values { try append(value, as: element, depth: depth) }
            endArray(start)
        case .dictionary(_, _, let entries):
            guard signature[position + 1] == BusType.entryOpen.rawValue
            else { throw .malformed(.type) }
            let start = beginArray(of: BusType.entryOpen.rawValue)
            for entry in entries {
                align(to: 8)
                var inner = position + 2
                try append(entry.key, signature, &inner, depth + 1)
                try append(entry.value, signature, &inner, depth + 1)
            }
            endArray(start)
        case .structure(let values):
            align(to: 8)
            var inner = position + 1
            for value in values {
                guard inner < end - 1 else { throw .malformed(.type) }
                try append(value, signature, &inner, depth)
            }
            guard inner == end - 1 else { throw .malformed(.type) }
        default: preconditionFailure("a basic value")
        }
        guard bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        position = end
    }

    /// Appends a length to be filled in, and the padding that does not count in it.
    private mutating func beginArray(of type: UInt8) -> (length: Int, elements: Int) {
        append(integer: UInt32(0))
        let length = bytes.count - 4
        align(to: BusType(rawValue: type)?.alignment ?? 1)
        return (length, bytes.count)
    }

    private mutating func endArray(_ start: (length: Int, elements: Int)) {
        put(UInt32(truncatingIfNeeded: bytes.count - start.elements), at: start.length)
    }

    private mutating func append(text: [UInt8]) {
        append(integer: UInt32(truncatingIfNeeded: text.count))
        bytes += text
        bytes.append(0)
    }

    private mutating func append(signature: BusSignature) {
        bytes.append(UInt8(signature.bytes.count))
        bytes += signature.bytes
        bytes.append(0)
    }

    mutating func align(to alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    private mutating func append(integer: some FixedWidthInteger & UnsignedInteger) {
        align(to: integer.bitWidth / 8)
        switch order {
        case .little: bytes.append(littleEndian: integer)
        case .big: bytes.append(bigEndian: integer)
        }
    }

    mutating func put(_ number: UInt32, at position: Int) {
        switch order {
        case .little: bytes.put(littleEndian: number, at: position)
        case .big: bytes.put(bigEndian: number, at: position)
        }
    }

    /// Appends a body that was encoded by itself.
    mutating func append(body: [UInt8]) {
        align(to: 8)
        bytes += body
    }
}
