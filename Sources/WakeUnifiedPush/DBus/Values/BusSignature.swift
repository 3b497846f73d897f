import WakeSystem

/// A valid sequence of complete types, such as `sa{sv}` (D-Bus Specification, "Valid Signatures").
package struct BusSignature: Sendable, Hashable {
    package let bytes: [UInt8]

    package static let empty = BusSignature(unchecked: [])

    /// - Throws: `.malformed`, with `.signature` or `.depth`.
    package init(_ bytes: [UInt8]) throws(BusError) {
        guard bytes.count <= BusLimits.signatureBytes else { throw .malformed(.signature) }
        var position = 0
        while position < bytes.count { position = try Self.end(of: bytes, at: position, Depth()) }
        self.bytes = bytes
    }

    /// - Parameter bytes: a part of a valid signature that is one itself.
    init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Whether it is exactly one complete type.
    package var isSingle: Bool { !bytes.isEmpty && Self.skip(bytes, at: 0) == bytes.count }

    private struct Depth {
        var arrays = 0
        var structures = 0
        var total = 0
    }

    /// The end of the complete type that begins at `start`.
    private static func end(
        of bytes: [UInt8], at start: Int, _ depth: Depth
    ) throws(BusError) -> Int {
        guard start < bytes.count, let container = BusType(rawValue: bytes[start])
        else { throw .malformed(.signature) }
        var inner = depth
        inner.total += 1
        switch container {
        case .array:
            inner.arrays += 1
            guard inner.arrays <= BusLimits.arrayDepth, inner.total <= BusLimits.totalDepth
            else { throw .malformed(.depth) }
            guard start + 1 < bytes.count else { throw .malformed(.signature) }
            if bytes[start + 1] == BusType.entryOpen.rawValue {
                return try endOfEntry(bytes, at: start + 1, inner)
            }
            return try end(of: bytes, at: start + 1, inner)
        case .structureOpen:
            inner.structures += 1
            guard inner.structures <= BusLimits.structureDepth,
                inner.total <= BusLimits.totalDepth
            else { throw .malformed(.depth) }
            var position = try end(of: bytes, at: start + 1, inner)
            while position < bytes.count, bytes[position] != BusType.structureClose.rawValue {
                position = try end(of: bytes, at: position, inner)
            }
            guard position < bytes.count else { throw .malformed(.signature) }
            return position + 1
        case .structureClose, .entryOpen, .entryClose: throw .malformed(.signature)
        default: return start + 1
        }
    }

    /// The end of a dictionary entry: `{`, a basic type, one complete type, `}`, in an array only.
    private static func endOfEntry(
        _ bytes: [UInt8], at start: Int, _ depth: Depth
    ) throws(BusError) -> Int {
        var inner = depth
        inner.total += 1
        guard inner.total <= BusLimits.totalDepth else { throw .malformed(.depth) }
        guard start + 1 < bytes.count, let key = BusType(rawValue: bytes[start + 1]), key.isBasic
        else { throw .malformed(.signature) }
        let position = try end(of: bytes, at: start + 2, inner)
        guard position < bytes.count, bytes[position] == BusType.entryClose.rawValue
        else { throw .malformed(.signature) }
        return position + 1
    }

    /// The end of the complete type that begins at `start` of a valid signature.
    static func skip(_ bytes: [UInt8], at start: Int) -> Int {
        var position = start
        while bytes[position] == BusType.array.rawValue { position += 1 }
        var open = 0
        repeat {
            switch bytes[position] {
            case BusType.structureOpen.rawValue, BusType.entryOpen.rawValue: open += 1
            case BusType.structureClose.rawValue, BusType.entryClose.rawValue: open -= 1
            default: break
            }
            position += 1
        } while open > 0
        return position
    }
}

extension BusSignature: ExpressibleByStringLiteral {
    /// - Precondition: the literal is a valid signature.
    package init(stringLiteral text: String) {
        guard let signature = try? BusSignature(Array(text.utf8))
        else { preconditionFailure("no signature") }
        self = signature
    }
}

enum BusType: UInt8 {
    case byte = 0x79
    case boolean = 0x62
    case int16 = 0x6E
    case uint16 = 0x71
    case int32 = 0x69
    case uint32 = 0x75
    case int64 = 0x78
    case uint64 = 0x74
    case double = 0x64
    case string = 0x73
    case objectPath = 0x6F
    case signature = 0x67
    case unixFD = 0x68
    case variant = 0x76
    case array = 0x61
    case structureOpen = 0x28
    case structureClose = 0x29
    case entryOpen = 0x7B
    case entryClose = 0x7D

    /// Usable as the key of a dictionary.
    var isBasic: Bool {
        switch self {
        case .variant, .array, .structureOpen, .structureClose, .entryOpen, .entryClose: false
        default: true
        }
    }

    /// D-Bus Specification, "Marshaling": the table of alignments.
    var alignment: Int {
        switch self {
        case .byte, .signature, .variant: 1
        case .int16, .uint16: 2
        case .boolean, .int32, .uint32, .string, .objectPath, .array, .unixFD: 4
        case .int64, .uint64, .double, .structureOpen, .entryOpen, .structureClose, .entryClose: 8
        }
    }
}
