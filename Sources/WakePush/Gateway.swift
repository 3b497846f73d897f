package import WakeModel

/// An adapter to one push service: it asks for wake-ups and never touches the store.
package protocol Gateway: Sendable {
    /// The push tokens it wakes.
    var service: PushService { get }
    /// Wake-ups that keep it busy: with fewer it may wait for more.
    var window: Int { get }
    /// The quota of the push service, if it has one.
    var perMinute: Int? { get }

    /// Whether push tokens are registered for it, and woken one by one.
    var wakesTokens: Bool { get }
    /// Messages that wake every app that subscribed itself.
    var topics: FCMTopics? { get }

    /// The reason why a push token of `service` may not be registered; quick.
    func refusal(of token: PushToken) -> EndpointRefusal?

    /// Whether a push token is woken by heartbeats, and not only when there is something new.
    func takesHeartbeats(_ token: PushToken) -> Bool

    /// Opens a session; costs nothing until something is sent.
    /// - Parameters:
    ///   - lifetime: seconds the push service keeps a wake-up for a device that is off.
    ///   - report: called from any thread, in order; returns soon, never calls the session.
    func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewaySession
}

extension Gateway {
    package var perMinute: Int? { nil }
    package var wakesTokens: Bool { true }
    package var topics: FCMTopics? { nil }

    package func refusal(of token: PushToken) -> EndpointRefusal? { nil }
    package func takesHeartbeats(_ token: PushToken) -> Bool { true }
}

/// One gateway in one broadcast.
package protocol GatewaySession: AnyObject, Sendable {
    /// Each wake-up gets one result, unless the gateway fails first.
    func send(_ wakeUps: [WakeUp])
    /// Completes all that was sent so far; final: nothing more will be sent.
    func flush(isFinal: Bool)
    /// To be called some times a second.
    func tick()
    /// Stops sending; returns the number of wake-ups that the push service still has.
    func quiesce() -> Int
    /// Wake-ups that the push service has, or may have; the others wait here.
    var inFlight: Int { get }
    /// Ends at once. Nothing more is reported.
    func cancel()
}

/// A report of a gateway's session to its caller.
package enum GatewayReport: Sendable {
    case completed([WakeUpResult])
    /// This number of wake-ups failed for now and will be tried again.
    case retried(Int)
    /// This number of pushes may have arrived, although nobody knows.
    case uncertain(Int)
    /// Wake-ups, by reference, that are given back unsent, as their host is behind the others: for
    /// another pass.
    case deferred([Int])
    /// Why the gateway waits or sends little from now on; nil: it goes on as usual.
    case delayed(GatewayFailure?)
    /// The last report: wake-ups without a result stay as they are.
    case failed(GatewayFailure)
}

/// One empty push to one push token.
package struct WakeUp: Sendable {
    /// The caller's number for it.
    package let reference: Int
    package let token: PushToken
    /// Whether it may be sent once more when its outcome is unknown.
    package let mayRepeat: Bool

    package init(reference: Int, token: PushToken, mayRepeat: Bool = true) {
        self.reference = reference
        self.token = token
        self.mayRepeat = mayRepeat
    }
}

/// The result of a wake-up in its round: `retry` means that all attempts failed.
package struct WakeUpResult: Sendable, Equatable {
    package let reference: Int
    package let delivery: Delivery
    /// Whether the push token may have had two pushes.
    package let isRepeated: Bool

    package init(reference: Int, delivery: Delivery, isRepeated: Bool = false) {
        self.reference = reference
        self.delivery = delivery
        self.isRepeated = isRepeated
    }
}
