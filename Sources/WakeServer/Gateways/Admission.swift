import WakeModel
import WakePush

/// Which push tokens may be registered: those that this installation can wake. One that would never
/// be sent anything is refused at the door. A small value, so that registering stays fast.
struct Admission: Sendable {
    /// One bit for each push service that has a gateway, at its raw value.
    private var services: UInt8 = 0
    /// Only this one looks at the push token itself: its endpoints name hosts.
    private var webPush: (any Gateway)?

    init(_ gateways: [any Gateway]) {
        for gateway in gateways {
            services |= 1 << gateway.service.rawValue
            if gateway.service == .webPush { webPush = gateway }
        }
    }

    /// What a push token is refused for; nil when it is taken.
    func problem(with token: PushToken) -> Problem? {
        guard services & 1 << token.service.rawValue != 0 else { return .serviceOff }
        guard token.service == .webPush, let webPush else { return nil }
        return webPush.admits(token) ? nil : .pushHostNotAllowed
    }
}
