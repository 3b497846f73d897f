package import WakeBus

/// What a distributor calls at us: `org.unifiedpush.Connector2`, read from a message whose every
/// byte may be wrong.
package enum ConnectorCall: Sendable, Equatable {
    /// A push came. What it says is not looked at: any push is a wake-up. The id is sent back to
    /// say that it was taken.
    case message(token: [UInt8], id: [UInt8]?)
    case newEndpoint(token: [UInt8], endpoint: [UInt8])
    case unregistered(token: [UInt8])
    /// Ours, but not as the specification says: "Any call containing a parameter field that do not
    /// follow the specification MUST be ignored."
    case unreadable

    /// - Returns: nil when it is no call of this interface.
    package init?(_ message: BusMessage) {
        guard message.kind == .call,
            message.path?.elementsEqual(UnifiedPush.connectorPath.utf8) == true,
            // D-Bus Specification, "Message Types", METHOD_CALL: the interface is optional.
            message.interface?.elementsEqual(UnifiedPush.connectorInterface.utf8) ?? true,
            let member = message.member
        else { return nil }
        let arguments = Self.arguments(message.body)
        switch String(decoding: member, as: UTF8.self) {
        case "Message": self = Self.message(arguments)
        case "NewEndpoint": self = Self.newEndpoint(arguments)
        case "Unregistered": self = Self.unregistered(arguments)
        default: return nil
        }
    }

    package var token: [UInt8]? {
        switch self {
        case .message(let token, _), .newEndpoint(let token, _), .unregistered(let token): token
        case .unreadable: nil
        }
    }

    /// One `a{sv}` and nothing else.
    private static func arguments(_ body: [BusValue]) -> BusValue? {
        guard body.count == 1, case .dictionary(key: "s", value: "v", _) = body[0] else {
            return nil
        }
        return body[0]
    }

    private static func message(_ arguments: BusValue?) -> ConnectorCall {
        // `message` is 1 to 4096 bytes by the specification, a string in its text and `ay` from
        // every distributor: neither matters to who only wants to be woken.
        guard let token = text(arguments, "token", UnifiedPush.tokenBytes),
            arguments?[option: "message"] != nil
        else { return .unreadable }
        return .message(token: token, id: text(arguments, "id", UnifiedPush.messageIDBytes))
    }

    private static func newEndpoint(_ arguments: BusValue?) -> ConnectorCall {
        guard let token = text(arguments, "token", UnifiedPush.tokenBytes),
            let endpoint = text(arguments, "endpoint", BusLimits.messageBytes)
        else { return .unreadable }
        return .newEndpoint(token: token, endpoint: endpoint)
    }

    private static func unregistered(_ arguments: BusValue?) -> ConnectorCall {
        guard let token = text(arguments, "token", UnifiedPush.tokenBytes) else {
            return .unreadable
        }
        return .unregistered(token: token)
    }

    /// Text under a key: 1 to `limit` bytes.
    private static func text(_ arguments: BusValue?, _ key: String, _ limit: Int) -> [UInt8]? {
        guard case .string(let bytes)? = arguments?[option: key],
            (1...limit).contains(bytes.count)
        else { return nil }
        return bytes
    }
}

extension ConnectorCall: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(connector call)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
