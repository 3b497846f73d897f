package import WakeModel

/// Adapter to one push service. It knows how to ask for wake-ups and what the answers mean;
/// it never touches the store.
package protocol Gateway: Sendable {
    /// Whose push tokens it wakes.
    var service: PushService { get }

    /// To the push service.
    var connections: Int { get }

    /// Wake-ups on their way on one connection at once.
    var streams: Int { get }

    /// Wake-ups that keep it busy: with fewer unsettled it may wait for more.
    var window: Int { get }

    /// Wake-ups that the push service takes in a minute; nil when it names no number.
    var perMinute: Int? { get }

    /// Whether a push token of `service` may be registered at all: one that would never be sent
    /// anything is refused when it comes, not forgotten later. Quick; asked of Web Push only.
    func admits(_ token: PushToken) -> Bool

    /// Begins a round; costs nothing until something is sent.
    /// - Parameters:
    ///   - lifetime: seconds the push service keeps a wake-up for a device that is off.
    ///   - report: is called from any thread, in order, and must only take note: calling the
    ///     round from within would wait for ever.
    func open(
        lifetime: Int, report: @escaping @Sendable (GatewayReport) -> Void
    ) -> any GatewayRound
}

extension Gateway {
    package var streams: Int { ConnectionLimits().streams }

    package var perMinute: Int? { nil }

    package func admits(_ token: PushToken) -> Bool { true }
}

/// One gateway at work in one round.
package protocol GatewayRound: AnyObject, Sendable {
    /// Takes wake-ups; each gets exactly one settled delivery, unless the gateway fails first.
    /// The caller bounds how many are unsettled.
    func send(_ wakeUps: [WakeUp])

    /// What was sent so far is to be settled before more is sent: nothing is held back for want of
    /// evidence.
    func drain()

    /// Nothing more will be sent: what was held for want of evidence is settled.
    func finish()

    /// Time passes; to be called some times a second.
    func tick()

    /// Lets nothing more leave.
    /// - Returns: wake-ups that are with the push service still.
    func land() -> Int

    /// Ends at once. Nothing more is reported.
    func stop()
}

/// One empty push to one push token.
package struct WakeUp: Sendable {
    /// What the caller knows it by.
    package let reference: Int
    package let token: PushToken

    package init(reference: Int, token: PushToken) {
        self.reference = reference
        self.token = token
    }
}

/// What became of a wake-up in its round: `retry` means that all attempts were in vain.
package struct SettledWakeUp: Sendable, Equatable {
    package let reference: Int
    package let delivery: Delivery

    package init(reference: Int, delivery: Delivery) {
        self.reference = reference
        self.delivery = delivery
    }
}

/// What a gateway's round tells its caller.
package enum GatewayReport: Sendable {
    case settled([SettledWakeUp])
    /// So many wake-ups failed for now and will be tried again.
    case retried(Int)
    /// The gateway has stopped; everything unsettled stays as it is. Nothing is reported after.
    case failed(GatewayFailure)
}
