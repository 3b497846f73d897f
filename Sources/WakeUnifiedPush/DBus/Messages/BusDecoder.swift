import WakeSystem

/// A decoder of values in either byte order (D-Bus Specification, "Marshaling (Wire Format)").
package struct BusDecoder {
    private let bytes: [UInt8]
    private let order: BusByteOrder
    private let end: Int
    /// Alignment counts from the first byte of `bytes`.
    package private(set) var position: Int
    private var values = 0

    /// - Parameter range: the bytes to read; nil for all.
    package init(_ bytes: [UInt8], order: BusByteOrder, range: Range<Int>? = nil) {
        let range = range ?? 0..<bytes.count
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "out of range")
        self.bytes = bytes
        self.order = order
        position = range.lowerBound
        end = range.upperBound
    }

    /// The values of `signature` and no more; `.malformed`, or `.tooLarge` by `BusLimits.values`.
    package mutating func all(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        let values = try next(signature)
        guard position == end else { throw .malformed(.excess) }
        return values
    }

    package mutating func next(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        var found: [BusValue] = []
        var typeIndex = 0
        while typeIndex < signature.bytes.count {
            found.append(try value(signature.bytes, &typeIndex, 0))
        }
        return found
    }

    /// - Parameter typeIndex: the start of the value's type in the signature; afterwards its end.
    private mutating func value(
        _ signature: [UInt8], _ typeIndex: inout Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        values += 1
        guard values <= BusLimits.values else { throw .tooLarge }
        guard let type = BusType(rawValue: signature[typeIndex])
        else { throw .malformed(.signature) }
        switch type {
        case .variant, .array, .structureOpen:
            // Variants hide their types from the signature's own limits.
            guard depth < BusLimits.totalDepth else { throw .malformed(.depth) }
            return try container(type, signature, &typeIndex, depth + 1)
        default:
            typeIndex += 1
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
            let text = try self.text(Int(try integer(UInt32.self)))
            guard BusGrammar.isText(text) else { throw .malformed(.text) }
            return .string(text)
        case .objectPath:
            let path = try text(Int(try integer(UInt32.self)))
            guard BusGrammar.isObjectPath(path) else { throw .malformed(.objectPath) }
            return .objectPath(path)
        case .signature: return .signature(try signature().bytes)
        default: throw .malformed(.signature)
        }
    }

    private mutating func container(
        _ type: BusType, _ signature: [UInt8], _ typeIndex: inout Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        let end = BusSignature.skip(signature, at: typeIndex)
        defer { typeIndex = end }
        switch type {
        case .variant:
            let inner = try self.signature()
            guard inner.isSingle else { throw .malformed(.signature) }
            var start = 0
            return .variant(try value(inner.bytes, &start, depth))
        case .structureOpen:
            try align(to: 8)
            var inner = typeIndex + 1
            var fields: [BusValue] = []
            while inner < end - 1 { fields.append(try value(signature, &inner, depth)) }
            return .structure(fields)
        default: return try array(signature, typeIndex + 1, depth)
        }
    }

    /// - Parameter start: of the element's type in the signature.
    private mutating func array(
        _ signature: [UInt8], _ start: Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        let count = Int(try integer(UInt32.self))
        guard count <= BusLimits.arrayBytes else { throw .malformed(.arrayLength) }
        // An empty array has the padding, too; it does not count.
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
        var typeIndex = start
        while position < stop {
            typeIndex = start
            elements.append(try value(signature, &typeIndex, depth))
        }
        guard position == stop else { throw .malformed(.arrayLength) }
        let type = signature[start..<BusSignature.skip(signature, at: start)]
        return .array(of: BusSignature(unchecked: Array(type)), elements)
    }

    private mutating func dictionary(
        _ signature: [UInt8], _ start: Int, _ stop: Int, _ depth: Int
    ) throws(BusError) -> BusValue {
        guard depth <= BusLimits.totalDepth else { throw .malformed(.depth) }
        var entries: [BusEntry] = []
        while position < stop {
            try align(to: 8)
            var typeIndex = start + 1
            let key = try value(signature, &typeIndex, depth)
            entries.append(BusEntry(key: key, value: try value(signature, &typeIndex, depth)))
        }
        guard position == stop else { throw .malformed(.arrayLength) }
        let end = BusSignature.skip(signature, at: start + 2)
        return .dictionary(
            key: BusSignature(unchecked: [signature[start + 1]]),
            value: BusSignature(unchecked: Array(signature[(start + 2)..<end])), entries)
    }

    mutating func signature() throws(BusError) -> BusSignature {
        let text = try self.text(Int(try integer(UInt8.self)))
        return try BusSignature(text)
    }

    /// Reads `count` bytes and the NUL after them.
    private mutating func text(_ count: Int) throws(BusError) -> [UInt8] {
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

    mutating func integer<Number: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ type: Number.Type
    ) throws(BusError) -> Number {
        let size = Number.bitWidth / 8
        try align(to: size)
        guard size <= end - position else { throw .malformed(.truncated) }
        defer { position += size }
        return switch order {
        case .little: bytes.span.littleEndian(at: position)
        case .big: bytes.span.bigEndian(at: position)
        }
    }
}
