/// Values to bytes. D-Bus Specification, "Marshaling (Wire Format)".
package struct BusEncoder {
    /// The bytes so far; alignment counts from their begin.
    package private(set) var bytes: [UInt8] = []
    private let order: BusByteOrder

    package init(order: BusByteOrder = .little) { self.order = order }

    /// Appends one value.
    ///
    /// - Throws: `.malformed` for a value that is none: text with NUL, an element of another type
    ///   than its array says, an empty structure, too deep; `.tooLarge` for one beyond
    ///   `BusLimits.messageBytes`.
    package mutating func append(_ value: BusValue) throws(BusError) {
        var type: [UInt8] = []
        value.appendType(to: &type)
        let signature = try BusSignature(type)
        guard signature.isSingle else { throw .malformed(.signature) }
        try append(value, as: signature, depth: 0)
    }

    /// - Parameter signature: of exactly these values.
    mutating func append(_ values: [BusValue], as signature: BusSignature) throws(BusError) {
        var place = 0
        for value in values {
            guard place < signature.bytes.count else { throw .malformed(.type) }
            try append(value, signature.bytes, &place, 0)
        }
        guard place == signature.bytes.count else { throw .malformed(.type) }
    }

    private mutating func append(
        _ value: BusValue, as signature: BusSignature, depth: Int
    ) throws(BusError) {
        var place = 0
        try append(value, signature.bytes, &place, depth)
    }

    /// - Parameter place: where the value's type begins; afterwards where it ends.
    private mutating func append(
        _ value: BusValue, _ signature: [UInt8], _ place: inout Int, _ depth: Int
    ) throws(BusError) {
        guard value.type.rawValue == signature[place] else { throw .malformed(.type) }
        guard bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        switch value {
        case .variant, .array, .bytes, .dictionary, .structure:
            guard depth < BusLimits.totalDepth else { throw .malformed(.depth) }
            try appendContainer(value, signature, &place, depth + 1)
        default:
            try appendBasic(value)
            place += 1
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
        _ value: BusValue, _ signature: [UInt8], _ place: inout Int, _ depth: Int
    ) throws(BusError) {
        let end = BusSignature.skip(signature, at: place)
        switch value {
        case .variant(let inner):
            var type: [UInt8] = []
            inner.appendType(to: &type)
            let single = try BusSignature(type)
            guard single.isSingle else { throw .malformed(.signature) }
            append(signature: single)
            try append(inner, as: single, depth: depth)
        case .bytes(let content):
            guard signature[place + 1] == BusType.byte.rawValue else { throw .malformed(.type) }
            append(integer: UInt32(truncatingIfNeeded: content.count))
            bytes += content
        case .array(let element, let values):
            guard element.isSingle, signature[(place + 1)..<end].elementsEqual(element.bytes) else {
                throw .malformed(.type)
            }
            let start = beginArray(of: element.bytes[0])
            for value in values { try append(value, as: element, depth: depth) }
            endArray(start)
        case .dictionary(_, _, let entries):
            guard signature[place + 1] == BusType.entryOpen.rawValue else {
                throw .malformed(.type)
            }
            let start = beginArray(of: BusType.entryOpen.rawValue)
            for entry in entries {
                align(to: 8)
                var inner = place + 2
                try append(entry.key, signature, &inner, depth + 1)
                try append(entry.value, signature, &inner, depth + 1)
            }
            endArray(start)
        case .structure(let values):
            align(to: 8)
            var inner = place + 1
            for value in values {
                guard inner < end - 1 else { throw .malformed(.type) }
                try append(value, signature, &inner, depth)
            }
            guard inner == end - 1 else { throw .malformed(.type) }
        default: preconditionFailure("a basic value")
        }
        guard bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        place = end
    }

    /// The length, to be filled in, and the padding that does not count in it.
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

    private mutating func append<Number: FixedWidthInteger>(integer: Number) {
        let size = Number.bitWidth / 8
        align(to: size)
        for index in 0..<size {
            let shift = 8 * (order == .little ? index : size - 1 - index)
            bytes.append(UInt8(truncatingIfNeeded: integer >> shift))
        }
    }

    /// Overwrites four bytes that are there.
    mutating func put(_ number: UInt32, at position: Int) {
        for index in 0..<4 {
            let shift = 8 * (order == .little ? index : 3 - index)
            bytes[position + index] = UInt8(truncatingIfNeeded: number >> shift)
        }
    }

    /// Appends what was encoded elsewhere, where alignment began at 0, too.
    mutating func append(body: [UInt8]) {
        align(to: 8)
        bytes += body
    }
}
