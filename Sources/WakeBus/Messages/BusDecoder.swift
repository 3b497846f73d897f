/// Bytes to values, in either byte order. Whatever the bytes are, it ends with values or an error.
/// D-Bus Specification, "Marshaling (Wire Format)".
package struct BusDecoder {
    private let bytes: [UInt8]
    private let order: BusByteOrder
    private let end: Int
    /// Alignment counts from the first byte of `bytes`.
    package private(set) var position: Int
    private var values = 0

    /// - Parameter range: what to read of the bytes; all of them if nil.
    package init(_ bytes: [UInt8], order: BusByteOrder, range: Range<Int>? = nil) {
        let range = range ?? 0..<bytes.count
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "beyond the bytes")
        self.bytes = bytes
        self.order = order
        position = range.lowerBound
        end = range.upperBound
    }

    /// The values of `signature`, and nothing after them.
    ///
    /// - Throws: `.malformed`; `.tooLarge` for more than `BusLimits.values`.
    package mutating func all(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        let values = try next(signature)
        guard position == end else { throw .malformed(.excess) }
        return values
    }

    /// The values of `signature`.
    package mutating func next(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        var found: [BusValue] = []
        var place = 0
        while place < signature.bytes.count {
            found.append(try value(signature.bytes, &place, 0))
        }
        return found
    }

    /// - Parameter place: where the value's type begins; afterwards where it ends.
    private mutating func value(
        _ signature: [UInt8], _ place: inout Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        values += 1
        guard values <= BusLimits.values else { throw .tooLarge }
        guard let type = BusType(rawValue: signature[place]) else { throw .malformed(.signature) }
        switch type {
        case .variant, .array, .structureOpen:
            // Variants hide their types from the signature's own limits.
            guard depth < BusLimits.totalDepth else { throw .malformed(.depth) }
            return try container(type, signature, &place, depth + 1)
        default:
            place += 1
            return try basic(type)
        }
    }

    private mutating func basic(_ type: BusType) throws(BusError) -> BusValue {
        switch type {
        case .byte: return .byte(try integer(UInt8.self))
        case .boolean:
            // "Valid values are 0 and 1": any other is an error.
            let number = try integer(UInt32.self)
            guard number <= 1 else { throw .malformed(.boolean) }
            return .boolean(number == 1)
        case .int16: return .int16(Int16(bitPattern: try integer(UInt16.self)))
        case .uint16: return .uint16(try integer(UInt16.self))
        case .int32: return .int32(Int32(bitPattern: try integer(UInt32.self)))
        case .uint32: return .uint32(try integer(UInt32.self))
        case .int64: return .int64(Int64(bitPattern: try integer(UInt64.self)))
        case .uint64: return .uint64(try integer(UInt64.self))
        case .double: return .double(Double(bitPattern: try integer(UInt64.self)))
        case .unixFD: return .unixFD(try integer(UInt32.self))
        case .string:
            let text = try take(text: Int(try integer(UInt32.self)))
            guard BusGrammar.isText(text) else { throw .malformed(.text) }
            return .string(text)
        case .objectPath:
            let path = try take(text: Int(try integer(UInt32.self)))
            guard BusGrammar.isObjectPath(path) else { throw .malformed(.objectPath) }
            return .objectPath(path)
        case .signature: return .signature(try signature().bytes)
        default: throw .malformed(.signature)
        }
    }

    private mutating func container(
        _ type: BusType, _ signature: [UInt8], _ place: inout Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        let end = BusSignature.skip(signature, at: place)
        defer { place = end }
        switch type {
        case .variant:
            let inner = try self.signature()
            guard inner.isSingle else { throw .malformed(.signature) }
            var start = 0
            return .variant(try value(inner.bytes, &start, depth))
        case .structureOpen:
            try align(to: 8)
            var inner = place + 1
            var fields: [BusValue] = []
            while inner < end - 1 { fields.append(try value(signature, &inner, depth)) }
            return .structure(fields)
        default: return try array(signature, place + 1, depth)
        }
    }

    /// - Parameter start: where the element's type begins.
    private mutating func array(
        _ signature: [UInt8], _ start: Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        let count = Int(try integer(UInt32.self))
        guard count <= BusLimits.arrayBytes else { throw .malformed(.arrayLength) }
        // The padding to the first element is there even when there is none, and does not count.
        try align(to: BusType(rawValue: signature[start])?.alignment ?? 1)
        guard count <= end - position else { throw .malformed(.truncated) }
        let stop = position + count
        if signature[start] == BusType.byte.rawValue {
            defer { position = stop }
            return .bytes(Array(bytes[position..<stop]))
        }
        if signature[start] == BusType.entryOpen.rawValue {
            return try dictionary(signature, start, stop, depth + 1)
        }
        var elements: [BusValue] = []
        var place = start
        while position < stop {
            place = start
            elements.append(try value(signature, &place, depth))
        }
        guard position == stop else { throw .malformed(.arrayLength) }
        let type = signature[start..<BusSignature.skip(signature, at: start)]
        return .array(of: BusSignature(unchecked: Array(type)), elements)
    }

    private mutating func dictionary(
        _ signature: [UInt8], _ start: Int, _ stop: Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        guard depth <= BusLimits.totalDepth else { throw .malformed(.depth) }
        let key = start + 1
        let value = key + 1
        var entries: [BusEntry] = []
        while position < stop {
            try align(to: 8)
            var place = key
            let first = try self.value(signature, &place, depth)
            entries.append(BusEntry(key: first, value: try self.value(signature, &place, depth)))
        }
        guard position == stop else { throw .malformed(.arrayLength) }
        let end = BusSignature.skip(signature, at: value)
        return .dictionary(
            key: BusSignature(unchecked: [signature[key]]),
            value: BusSignature(unchecked: Array(signature[value..<end])), entries)
    }

    mutating func signature() throws(BusError) -> BusSignature {
        let text = try take(text: Int(try integer(UInt8.self)))
        return try BusSignature(text)
    }

    /// So many bytes, and the NUL after them.
    private mutating func take(text count: Int) throws(BusError) -> [UInt8] {
        guard count < end - position else { throw .malformed(.truncated) }
        let stop = position + count
        guard bytes[stop] == 0 else { throw .malformed(.text) }
        defer { position = stop + 1 }
        return Array(bytes[position..<stop])
    }

    /// Skips the padding, which must be zeros.
    mutating func align(to alignment: Int) throws(BusError) {
        let next = (position + alignment - 1) & -alignment
        guard next <= end else { throw .malformed(.truncated) }
        while position < next {
            guard bytes[position] == 0 else { throw .malformed(.padding) }
            position += 1
        }
    }

    mutating func integer<Number: FixedWidthInteger>(
        _ type: Number.Type
    ) throws(BusError) -> Number {
        let size = Number.bitWidth / 8
        try align(to: size)
        guard size <= end - position else { throw .malformed(.truncated) }
        var number: Number = 0
        for index in 0..<size {
            let shift = 8 * (order == .little ? index : size - 1 - index)
            number |= Number(truncatingIfNeeded: bytes[position + index]) << shift
        }
        position += size
        return number
    }
}
