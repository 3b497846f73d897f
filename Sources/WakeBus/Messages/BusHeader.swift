/// The beginning of a message: sixteen bytes that say how long it is.
/// D-Bus Specification, "Message Format".
struct BusPreamble {
    static let bytes = 16

    let order: BusByteOrder
    /// Nil for a kind that is not known: such messages are ignored.
    let kind: BusMessage.Kind?
    let flags: BusMessage.Flags
    let serial: UInt32
    let fieldBytes: Int
    let bodyBytes: Int

    /// Bytes up to the body: the fields are padded to 8.
    var headBytes: Int { (Self.bytes + fieldBytes + 7) & -8 }
    var messageBytes: Int { headBytes + bodyBytes }

    /// - Parameter bytes: sixteen or more.
    init(_ bytes: [UInt8], at start: Int) throws(BusError) {
        guard let order = BusByteOrder(rawValue: bytes[start]) else {
            throw .malformed(.byteOrder)
        }
        let first = Array(bytes[start..<(start + Self.bytes)])
        guard first[1] != 0 else { throw .malformed(.header) }
        guard first[3] == 1 else { throw .malformed(.version) }
        self.order = order
        kind = BusMessage.Kind(rawValue: first[1])
        flags = BusMessage.Flags(rawValue: first[2])
        var decoder = BusDecoder(first, order: order, range: 4..<Self.bytes)
        bodyBytes = Int(try decoder.integer(UInt32.self))
        serial = try decoder.integer(UInt32.self)
        fieldBytes = Int(try decoder.integer(UInt32.self))
        // "This must not be zero."
        guard serial != 0 else { throw .malformed(.serial) }
        guard fieldBytes <= BusLimits.arrayBytes else { throw .malformed(.arrayLength) }
        guard messageBytes <= BusLimits.protocolMessageBytes else {
            throw .malformed(.messageLength)
        }
    }
}

/// The codes of the header's fields.
enum BusField: UInt8 {
    case path = 1
    case interface
    case member
    case errorName
    case replySerial
    case destination
    case sender
    case signature
    case unixFDs
}

/// The fields of a header, read and checked.
struct BusHeader {
    private(set) var message: BusMessage
    private(set) var signature = BusSignature.empty
    private var seen: Set<BusField> = []

    private static let entries: BusSignature = "a(yv)"

    /// - Parameters:
    ///   - kind: which fields there must be.
    ///   - bytes: from the message's first byte to its body at least.
    init(
        _ preamble: BusPreamble, _ kind: BusMessage.Kind, _ bytes: [UInt8]
    ) throws(BusError) {
        message = BusMessage(kind)
        message.flags = preamble.flags
        message.serial = preamble.serial
        // From the array's own length on.
        var decoder = BusDecoder(
            bytes, order: preamble.order, range: (BusPreamble.bytes - 4)..<preamble.headBytes)
        let fields = try decoder.next(Self.entries)
        try decoder.align(to: 8)
        guard case .array(_, let entries)? = fields.first else { throw .malformed(.header) }
        for entry in entries {
            guard case .structure(let pair) = entry, pair.count == 2,
                case .byte(let code) = pair[0], case .variant(let value) = pair[1], code != 0
            else { throw .malformed(.header) }
            // "If an implementation sees a header field code that it does not expect, it must
            // accept and ignore that field."
            if let field = BusField(rawValue: code) { try take(field, value) }
        }
        guard Self.required(kind).isSubset(of: seen) else { throw .malformed(.header) }
        guard preamble.bodyBytes == 0 || !signature.bytes.isEmpty else {
            throw .malformed(.header)
        }
    }

    private static func required(_ kind: BusMessage.Kind) -> Set<BusField> {
        switch kind {
        case .call: [.path, .member]
        case .reply: [.replySerial]
        case .error: [.errorName, .replySerial]
        case .signal: [.path, .interface, .member]
        }
    }

    private mutating func take(_ field: BusField, _ value: BusValue) throws(BusError) {
        guard seen.insert(field).inserted else { throw .malformed(.header) }
        switch (field, value) {
        case (.path, .objectPath(let path)):
            // "This path is reserved": a message with it never comes from a bus.
            guard !path.elementsEqual("/org/freedesktop/DBus/Local".utf8) else {
                throw .malformed(.header)
            }
            message.path = path
        case (.interface, .string(let name)):
            guard !name.elementsEqual("org.freedesktop.DBus.Local".utf8) else {
                throw .malformed(.header)
            }
            message.interface = try Self.checked(name, BusGrammar.isInterface)
        case (.member, .string(let name)):
            message.member = try Self.checked(name, BusGrammar.isMember)
        case (.errorName, .string(let name)):
            message.errorName = try Self.checked(name, BusGrammar.isInterface)
        case (.destination, .string(let name)):
            message.destination = try Self.checked(name, BusGrammar.isBusName)
        case (.sender, .string(let name)):
            message.sender = try Self.checked(name, BusGrammar.isBusName)
        case (.replySerial, .uint32(let serial)):
            guard serial != 0 else { throw .malformed(.serial) }
            message.replySerial = serial
        case (.signature, .signature(let types)): signature = try BusSignature(types)
        case (.unixFDs, .uint32(let count)):
            guard count == 0 else { throw .malformed(.descriptors) }
        default: throw .malformed(.header)
        }
    }

    private static func checked(
        _ name: [UInt8], _ isName: ([UInt8]) -> Bool
    ) throws(BusError) -> [UInt8] {
        guard isName(name) else { throw .malformed(.name) }
        return name
    }
}
