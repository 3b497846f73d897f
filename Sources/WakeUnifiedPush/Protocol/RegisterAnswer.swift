package import WakeBus
import WakeClient

/// What came of `org.unifiedpush.Distributor2.Register`.
package enum RegisterAnswer: Sendable, Equatable {
    case succeeded
    /// Trying again later may help: INTERNAL_ERROR, NETWORK, or a reason nobody knows.
    case failed
    /// ACTION_REQUIRED, and UNAUTHORIZED of older distributors.
    case actionRequired
    case vapidRequired
    /// The distributor is not there and cannot be started.
    case absent
    /// It does not know the method: version 1 of the protocol, or none.
    case unsupported
    /// No answer in time; the endpoint may come all the same.
    case unanswered

    package init(_ reply: BusMessage) {
        guard reply.body.count == 1, case .string(let success)? = reply.body[0][option: "success"]
        else {
            self = .failed
            return
        }
        if success.elementsEqual("REGISTRATION_SUCCEEDED".utf8) {
            self = .succeeded
            return
        }
        guard case .string(let reason)? = reply.body[0][option: "reason"] else {
            self = .failed
            return
        }
        // Distributor2.Register, "reason".
        switch String(decoding: reason.prefix(32), as: UTF8.self) {
        case "ACTION_REQUIRED", "UNAUTHORIZED": self = .actionRequired
        case "VAPID_REQUIRED": self = .vapidRequired
        default: self = .failed
        }
    }

    package init(_ error: BusError) {
        switch error {
        case .failed(.serviceUnknown), .failed(.nameHasNoOwner), .failed(.notStarted):
            self = .absent
        case .failed(.unknownMethod), .failed(.unknownInterface), .failed(.unknownObject),
            .failed(.invalidArguments):
            self = .unsupported
        case .failed(.noReply), .timedOut: self = .unanswered
        default: self = .failed
        }
    }

    /// The words for a person, when trying again does not help for long.
    package var trouble: DistributorTrouble {
        switch self {
        case .succeeded, .failed: .failing
        case .actionRequired: .actionRequired
        case .vapidRequired: .vapidRequired
        case .absent, .unanswered: .absent
        case .unsupported: .unsupported
        }
    }

    /// Whether nothing will change unless somebody does something.
    package var needsPerson: Bool {
        switch self {
        case .actionRequired, .vapidRequired, .unsupported: true
        case .succeeded, .failed, .absent, .unanswered: false
        }
    }
}
