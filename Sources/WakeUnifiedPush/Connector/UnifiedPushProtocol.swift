import Reveille
private import WakeModel
import WakeSystem

/// The names and bounds of UnifiedPush for D-Bus, version DBUS_0.3.0
/// (unifiedpush.org/developers/spec/dbus/), and the intervals of this client.
enum UnifiedPush {
    static let distributorPrefix = "org.unifiedpush.Distributor."
    static let distributorPath = "/org/unifiedpush/Distributor"
    static let distributorInterface = "org.unifiedpush.Distributor2"
    static let connectorPath = "/org/unifiedpush/Connector"
    static let connectorInterface = "org.unifiedpush.Connector2"
    /// The most bytes of a connection token ("Resources").
    static let tokenBytes = 100
    /// The most bytes of a registration's description ("Resources").
    static let descriptionBytes = 100
    /// Characters of a VAPID key: 65 bytes as base64url ("Resources").
    static let vapidCharacters = 87
    /// The most bytes of a message's id that is sent back; the specification has no bound.
    static let messageIDBytes = 256
    /// The timeout of a distributor's answer: it asks its push server first.
    static let answerTime = Duration.seconds(60)
    /// The timeout of the endpoint after the answer; it is sent at once or not at all.
    static let endpointTime = Duration.seconds(60)
    /// The interval between registrations that only a restart of the distributor causes.
    static let restartSpacing = Duration.seconds(1)
    /// The interval between wakes: a thousand pushes in a second are two.
    static let wakeSpacing = Duration.seconds(1)
    /// Registrations that fail in a row, or are ended within a day, before the person is warned.
    static let warningThreshold = 5
    /// The waits after that, and when only a person can help.
    static let longWait = Duration.seconds(24 * 3600)
    static let personWait = Duration.seconds(3600)
    /// Endpoints in a row that are passed on at once; then one a minute, the newest.
    static let endpointBurst = 5
    static let endpointSpacing = Duration.seconds(60)
}

/// A distributor's call of `org.unifiedpush.Connector2`, parsed from an untrusted message.
package enum ConnectorCall: Sendable, Equatable, Redacted {
    /// A push, whose content is not read. The id is sent back to acknowledge it.
    case message(token: [UInt8], id: [UInt8]?)
    case newEndpoint(token: [UInt8], endpoint: [UInt8])
    case unregistered(token: [UInt8])
    /// A malformed call, which "MUST be ignored".
    case malformed

    /// - Returns: nil for a call of another interface.
    package init?(_ message: BusMessage) {
        guard message.kind == .call,
            message.path?.elementsEqual(UnifiedPush.connectorPath.utf8) == true,
            // D-Bus Specification, "Message Types", METHOD_CALL: the interface is optional.
            message.interface?.elementsEqual(UnifiedPush.connectorInterface.utf8) ?? true,
            let member = message.member
        else { return nil }
        let arguments = Self.arguments(message.body)
        let token = Self.text(arguments, "token", UnifiedPush.tokenBytes)
        switch (String(decoding: member, as: UTF8.self), token) {
        // The message's content does not matter for a wake-up; distributors send `ay` for a string.
        case ("Message", let token?) where arguments?[option: "message"] != nil:
            let id = Self.text(arguments, "id", UnifiedPush.messageIDBytes)
            self = .message(token: token, id: id)
        case ("NewEndpoint", let token?):
            let endpoint = Self.text(arguments, "endpoint", BusLimits.messageBytes)
            self = endpoint.map { .newEndpoint(token: token, endpoint: $0) } ?? .malformed
        case ("Unregistered", let token?): self = .unregistered(token: token)
        case ("Message", _), ("NewEndpoint", _), ("Unregistered", _): self = .malformed
        default: return nil
        }
    }

    package var token: [UInt8]? {
        switch self {
        case .message(let token, _), .newEndpoint(let token, _), .unregistered(let token): token
        case .malformed: nil
        }
    }

    /// One `a{sv}` and nothing else.
    private static func arguments(_ body: [BusValue]) -> BusValue? {
        guard body.count == 1, case .dictionary(key: "s", value: "v", _) = body[0]
        else { return nil }
        return body[0]
    }

    /// Text under a key: 1 to `limit` bytes.
    private static func text(_ arguments: BusValue?, _ key: String, _ limit: Int) -> [UInt8]? {
        guard case .string(let bytes)? = arguments?[option: key],
            (1...limit).contains(bytes.count)
        else { return nil }
        return bytes
    }
}

/// The outcome of `org.unifiedpush.Distributor2.Register`.
package enum RegisterResponse: Sendable, Equatable {
    case succeeded
    /// A later attempt may succeed: INTERNAL_ERROR, NETWORK, or an unknown reason.
    case failed
    /// ACTION_REQUIRED, and UNAUTHORIZED of older distributors.
    case actionRequired
    case vapidRequired
    /// The distributor does not run and cannot be started.
    case absent
    /// It does not know the method: version 1 of the protocol, or none.
    case unsupported
    /// No answer in time; the endpoint may still come.
    case unanswered

    package init(_ reply: BusMessage) {
        func text(_ key: String) -> String? {
            guard reply.body.count == 1, case .string(let text)? = reply.body[0][option: key]
            else { return nil }
            return String(decoding: text.prefix(32), as: UTF8.self)
        }
        // Distributor2.Register, "success" and "reason".
        self =
            switch (text("success"), text("reason")) {
            case ("REGISTRATION_SUCCEEDED", _): .succeeded
            case (_?, "ACTION_REQUIRED"), (_?, "UNAUTHORIZED"): .actionRequired
            case (_?, "VAPID_REQUIRED"): .vapidRequired
            default: .failed
            }
    }

    package init(_ error: BusError) {
        self =
            switch error {
            case .failed(.serviceUnknown), .failed(.nameHasNoOwner), .failed(.notStarted): .absent
            case .failed(.unknownMethod), .failed(.unknownInterface), .failed(.unknownObject),
                .failed(.invalidArguments):
                .unsupported
            case .failed(.noReply), .timedOut: .unanswered
            default: .failed
            }
    }

    /// The warning for a person when attempts keep failing.
    package var trouble: DistributorTrouble {
        switch self {
        case .succeeded, .failed: .failing
        case .actionRequired: .actionRequired
        case .vapidRequired: .vapidRequired
        case .absent, .unanswered: .absent
        case .unsupported: .unsupported
        }
    }

    /// Whether only a person can change the outcome.
    package var needsPerson: Bool {
        [.actionRequired, .vapidRequired, .unsupported].contains(self)
    }
}

/// The service's public VAPID key: a point on P-256 as 87 characters of base64url (UnifiedPush
/// D-Bus 0.3.0, "VAPID public key"; RFC 8292 §3.2).
package struct VAPIDKeyText: Sendable, Equatable {
    package let text: [UInt8]

    package init?(_ text: [UInt8]) {
        // SEC 1 §2.3.3: an uncompressed point begins with 4.
        guard text.count == UnifiedPush.vapidCharacters,
            let point = Base64URL.decode(text.span), point.count == 65, point[0] == 4
        else { return nil }
        self.text = text
    }
}
