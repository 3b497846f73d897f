/// A message: a call, its reply or error, or a signal.
package struct BusMessage: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        case call = 1
        case reply
        case error
        case signal
    }

    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let noReplyExpected = Flags(rawValue: 1)
        /// No program is started for a name without an owner.
        package static let noAutoStart = Flags(rawValue: 2)
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
    /// The unique name of who sent it, as the bus says; nil until it is sent.
    package var sender: [UInt8]?
    package var body: [BusValue] = []

    package init(_ kind: Kind) { self.kind = kind }

    /// The types of the body; nil when no signature can say them.
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
        var message = BusMessage(.call)
        message.destination = destination
        message.path = Array(path.utf8)
        message.interface = Array(interface.utf8)
        message.member = Array(member.utf8)
        message.body = body
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

    /// - Parameter destination: nil for everybody who asked for such signals.
    package static func signal(
        path: String, interface: String, member: String, _ body: [BusValue] = [],
        to destination: [UInt8]? = nil
    ) -> BusMessage {
        var message = BusMessage(.signal)
        message.destination = destination
        message.path = Array(path.utf8)
        message.interface = Array(interface.utf8)
        message.member = Array(member.utf8)
        message.body = body
        return message
    }

    /// The answer to a call that was received.
    package static func reply(to call: BusMessage, _ body: [BusValue] = []) -> BusMessage {
        var message = BusMessage(.reply)
        message.replySerial = call.serial
        message.destination = call.sender
        message.flags = .noReplyExpected
        message.body = body
        return message
    }

    /// - Parameter name: an error's name, such as `org.freedesktop.DBus.Error.Failed`.
    package static func error(to call: BusMessage, name: [UInt8]) -> BusMessage {
        var message = BusMessage(.error)
        message.replySerial = call.serial
        message.destination = call.sender
        message.flags = .noReplyExpected
        message.errorName = name
        return message
    }

    /// Whether it is this call or signal.
    package func `is`(_ interface: String, _ member: String) -> Bool {
        self.member?.elementsEqual(member.utf8) == true
            && self.interface?.elementsEqual(interface.utf8) == true
    }
}

extension BusMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(bus \(kind))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
