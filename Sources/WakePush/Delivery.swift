/// What a gateway says of one wake-up. Never about the gateway itself: that is ``GatewayFailure``.
package enum Delivery: Sendable, Hashable {
    /// The push service took it.
    case accepted
    /// The push service says that the push token is no longer valid: the registration may be
    /// deleted, compared with what was read.
    case gone
    /// Neither: try again later, give up for the round in the end, delete nothing.
    case retry(RetryCause)
}

/// Why a wake-up may be tried again. The cause decides how long to wait and whether the gateway's
/// own credentials need something first.
package enum RetryCause: Sendable, Hashable, CaseIterable {
    /// The push service has too much to do, or too many wake-ups for this push token.
    case throttled
    /// The push service failed or shuts down.
    case serviceFault
    /// The connection broke, was reset, or stalled: nobody knows whether the wake-up arrived.
    case connectionFault
    /// The provider token is too old for the push service: a new one is needed first.
    case providerTokenExpired
    /// The push service has seen too many new provider tokens: none may be minted for a while.
    case providerTokenUpdates
    /// A refusal this program does not know, on a connection that works for others.
    case unknownRefusal
}

/// A gateway as a whole cannot work: stop it, delete nothing, tell the operator.
package enum GatewayFailure: Error, Sendable, Hashable {
    case misconfigured(Misconfiguration)
}

/// What the operator has to put right, by gateway.
package enum Misconfiguration: Sendable, Hashable {
    case apns(APNsFault)

    /// Two lines: what is wrong, and what to do. Holds constants and numbers only.
    package var message: String {
        switch self {
        case .apns(let fault): fault.message
        }
    }
}

/// How to read one answer of a push service: about the wake-up, about the gateway, or either.
package enum Verdict: Sendable, Hashable {
    case delivery(Delivery)
    case failure(GatewayFailure)
    /// Blames the wake-up when the gateway may be what is wrong. It means `then` once the same
    /// connection has accepted another wake-up of the round, and a failure if it never does;
    /// ``ConnectionEvidence`` tells.
    case unproven(then: Delivery, or: Misconfiguration)
}
