import WakeSystem

/// One value of a message. Text is bytes, not `String`: values may be tokens and endpoints.
package enum BusValue: Sendable, Equatable, Redacted {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    /// UTF-8 without NUL.
    case string([UInt8])
    case objectPath([UInt8])
    case signature([UInt8])
    /// `ay`: every array of bytes is decoded as this.
    case bytes([UInt8])
    indirect case variant(BusValue)
    /// Elements of one complete type, when decoded neither `y` nor dictionary entries.
    case array(of: BusSignature, [BusValue])
    /// `a{kv}`: in the order of the wire, repeated keys included.
    case dictionary(key: BusSignature, value: BusSignature, [BusEntry])
    /// At least one value.
    case structure([BusValue])
    /// An index into the descriptors of the message, of which there are none.
    case unixFD(UInt32)

    package static func string(_ text: String) -> BusValue { .string(Array(text.utf8)) }

    /// `as`
    package static func strings(_ texts: [String]) -> BusValue {
        .array(of: "s", texts.map { .string($0) })
    }

    /// `a{sv}`, the usual dictionary of options.
    package static func options(_ entries: [(String, BusValue)]) -> BusValue {
        let entries = entries.map { BusEntry(key: .string($0.0), value: .variant($0.1)) }
        return .dictionary(key: "s", value: "v", entries)
    }

    /// The value of a text key of an `a{sv}`, out of its variant; the first of several.
    package subscript(option key: String) -> BusValue? {
        guard case .dictionary(_, _, let entries) = self,
            case .variant(let value)? = entries.first(where: { $0.key == .string(key) })?.value
        else { return nil }
        return value
    }
}

package struct BusEntry: Sendable, Equatable, Redacted {
    package let key: BusValue
    package let value: BusValue

    package init(key: BusValue, value: BusValue) {
        self.key = key
        self.value = value
    }
}

extension BusValue {
    func appendType(to signature: inout [UInt8]) {
        switch self {
        case .array(let element, _): signature += [BusType.array.rawValue] + element.bytes
        case .bytes: signature += [BusType.array.rawValue, BusType.byte.rawValue]
        case .dictionary(let key, let value, _):
            signature += [BusType.array.rawValue, BusType.entryOpen.rawValue] + key.bytes
            signature += value.bytes + [BusType.entryClose.rawValue]
        case .structure(let values):
            signature.append(BusType.structureOpen.rawValue)
            for value in values {
                value.appendType(to: &signature)
                // Too long already; the caller checks that.
                if signature.count > BusLimits.signatureBytes { return }
            }
            signature.append(BusType.structureClose.rawValue)
        default: signature.append(type.rawValue)
        }
    }

    /// The first code of its type.
    var type: BusType {
        switch self {
        case .byte: .byte
        case .boolean: .boolean
        case .int16: .int16
        case .uint16: .uint16
        case .int32: .int32
        case .uint32: .uint32
        case .int64: .int64
        case .uint64: .uint64
        case .double: .double
        case .string: .string
        case .objectPath: .objectPath
        case .signature: .signature
        case .variant: .variant
        case .unixFD: .unixFD
        case .bytes, .array, .dictionary: .array
        case .structure: .structureOpen
        }
    }
}
