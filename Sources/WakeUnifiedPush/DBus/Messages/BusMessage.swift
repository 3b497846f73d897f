import WakeSystem

/// A message: a call, its reply or error, or a signal.
package struct BusMessage: Sendable, Equatable, Redacted {
    package enum Kind: UInt8, Sendable {
        case call = 1
        case reply, error, signal
    }

    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let noReplyExpected = Flags(rawValue: 1)
    }

    package var kind: Kind
    package var flags: Flags = []
    /// 0 until it is sent.
    package var serial: UInt32 = 0
    /// Of replies and errors: the call's serial.
    package var replySerial: UInt32?
    package var path: [UInt8]?
    package var interface: [UInt8]?
    package var member: [UInt8]?
    package var errorName: [UInt8]?
    package var destination: [UInt8]?
    /// The sender's unique name, as the bus says; nil until it is sent.
    package var sender: [UInt8]?
    package var body: [BusValue] = []

    package init(_ kind: Kind) { self.kind = kind }

    /// The types of the body; nil when no signature can express them.
    package var signature: BusSignature? {
        var bytes: [UInt8] = []
        for value in body {
            value.appendType(to: &bytes)
            if bytes.count > BusLimits.signatureBytes { return nil }
        }
        return try? BusSignature(bytes)
    }

    /// - Parameter destination: a unique or well-known name.
    package static func call(
        _ destination: [UInt8], path: String, interface: String, member: String,
        _ body: [BusValue] = [], flags: Flags = []
    ) -> BusMessage {
        var message = signal(path: path, interface: interface, member: member, body)
        message.kind = .call
        message.destination = destination
        message.flags = flags
        return message
    }

    package static func call(
        _ destination: String, path: String, interface: String, member: String,
        _ body: [BusValue] = [], flags: Flags = []
    ) -> BusMessage {
        call(
            Array(destination.utf8), path: path, interface: interface, member: member, body,
            flags: flags)
    }

    package static func signal(
        path: String, interface: String, member: String, _ body: [BusValue] = []
    ) -> BusMessage {
        var message = BusMessage(.signal)
        message.path = Array(path.utf8)
        message.interface = Array(interface.utf8)
        message.member = Array(member.utf8)
        message.body = body
        return message
    }

    package static func reply(to call: BusMessage, _ body: [BusValue] = []) -> BusMessage {
        var message = BusMessage(.reply, to: call)
        message.body = body
        return message
    }

    /// - Parameter name: an error's name, such as `org.freedesktop.DBus.Error.Failed`.
    package static func error(to call: BusMessage, name: [UInt8]) -> BusMessage {
        var message = BusMessage(.error, to: call)
        message.errorName = name
        return message
    }

    private init(_ kind: Kind, to call: BusMessage) {
        self.init(kind)
        replySerial = call.serial
        destination = call.sender
        flags = .noReplyExpected
    }

    package func `is`(_ interface: String, _ member: String) -> Bool {
        self.member?.elementsEqual(member.utf8) == true
            && self.interface?.elementsEqual(interface.utf8) == true
    }

    package var description: String { "(bus \(kind))" }
}

extension BusMessage {
    /// The message as bytes; `serial` is not 0. Throws `.malformed` for an invalid message,
    /// `.tooLarge` beyond `BusLimits.messageBytes`.
    package func encoded(
        serial: UInt32, order: BusByteOrder = .little
    ) throws(BusError) -> [UInt8] {
        guard serial != 0 else { throw .malformed(.serial) }
        guard let signature else { throw .malformed(.signature) }
        var values = BusEncoder(order: order)
        try values.append(body, as: signature)
        var head = BusEncoder(order: order)
        for byte in [order.rawValue, kind.rawValue, flags.rawValue, 1] {
            try head.append(.byte(byte))
        }
        try head.append(.uint32(UInt32(truncatingIfNeeded: values.bytes.count)))
        try head.append(.uint32(serial))
        try head.append(.array(of: "(yv)", try fields(signature)))
        head.append(body: values.bytes)
        guard head.bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        return head.bytes
    }

    private func fields(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        var fields: [BusValue] = []
        func add(_ field: BusField, _ value: BusValue) {
            fields.append(.structure([.byte(field.rawValue), .variant(value)]))
        }
        func add(
            _ field: BusField, _ name: [UInt8]?, _ isName: ([UInt8]) -> Bool
        ) throws(BusError) {
            guard let name else { return }
            guard isName(name) else { throw .malformed(.name) }
            add(field, .string(name))
        }
        if let path { add(.path, .objectPath(path)) }
        try add(.interface, interface, BusGrammar.isInterface)
        try add(.member, member, BusGrammar.isMember)
        try add(.errorName, errorName, BusGrammar.isInterface)
        if let replySerial { add(.replySerial, .uint32(replySerial)) }
        try add(.destination, destination, BusGrammar.isBusName)
        try add(.sender, sender, BusGrammar.isBusName)
        if !signature.bytes.isEmpty { add(.signature, .signature(signature.bytes)) }
        return fields
    }

    /// Decodes exactly one message; nil for an unknown kind.
    package static func decoded(_ bytes: [UInt8]) throws(BusError) -> BusMessage? {
        guard bytes.count >= BusPreamble.bytes else { throw .malformed(.truncated) }
        let preamble = try BusPreamble(bytes, at: 0)
        guard bytes.count >= preamble.messageBytes else { throw .malformed(.truncated) }
        guard bytes.count == preamble.messageBytes else { throw .malformed(.excess) }
        guard let kind = preamble.kind else { return nil }
        let header = try BusHeader(preamble, kind, bytes)
        var message = header.message
        var decoder = BusDecoder(
            bytes, order: preamble.order, range: preamble.headBytes..<bytes.count)
        message.body = try decoder.all(header.signature)
        return message
    }
}
