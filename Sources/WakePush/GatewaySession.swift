package import WakeModel

/// One gateway in one broadcast.
package protocol GatewaySession: AnyObject, Sendable {
    /// Takes wake-ups; each gets one settled delivery, unless the gateway fails first.
    func send(_ wakeUps: [WakeUp])
    /// Settles all that was sent so far; final: nothing more will be sent.
    func flush(isFinal: Bool)
    /// To be called some times a second.
    func tick()
    /// Lets nothing more leave; returns the number of wake-ups that the push service still has.
    func quiesce() -> Int
    /// Ends at once. Nothing more is reported.
    func cancel()
}

/// A report of a gateway's session to its caller.
package enum GatewayReport: Sendable {
    case settled([SettledWakeUp])
    /// This number of wake-ups failed for now and will be tried again.
    case retried(Int)
    /// The gateway has stopped; everything unsettled stays as it is. Nothing is reported after.
    case failed(GatewayFailure)
}

/// One empty push to one push token.
package struct WakeUp: Sendable {
    /// The caller's name for it.
    package let reference: Int
    package let token: PushToken

    package init(reference: Int, token: PushToken) {
        self.reference = reference
        self.token = token
    }
}

/// The result of a wake-up in its round: `retry` means that all attempts were in vain.
package struct SettledWakeUp: Sendable, Equatable {
    package let reference: Int
    package let delivery: Delivery

    package init(reference: Int, delivery: Delivery) {
        self.reference = reference
        self.delivery = delivery
    }
}
