package import WakeModel

/// An adapter to one push service: it asks for wake-ups and never touches the store.
package protocol Gateway: Sendable {
    /// The push tokens it wakes.
    var service: PushService { get }
    /// Connections to the push service.
    var connections: Int { get }
    /// Wake-ups in flight on one connection.
    var streams: Int { get }
    /// Wake-ups that keep it busy: with fewer unsettled it may wait for more.
    var window: Int { get }
    /// The quota of the push service; nil when it names none.
    var perMinute: Int? { get }

    /// Whether a push token of `service` may be registered; quick.
    func admits(_ token: PushToken) -> Bool

    /// Opens a session; costs nothing until something is sent.
    /// - Parameters:
    ///   - lifetime: seconds the push service keeps a wake-up for a device that is off.
    ///   - report: called from any thread, in order; returns soon, never calls the session.
    func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession
}

extension Gateway {
    package var streams: Int { ConnectionLimits().streams }
    package var perMinute: Int? { nil }

    package func admits(_ token: PushToken) -> Bool { true }
}
