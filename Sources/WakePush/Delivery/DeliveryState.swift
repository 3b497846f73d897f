/// One gateway's part of a broadcast as a value, without clock or connection: wake-ups and events
/// go in, actions and results come out. Times are milliseconds of a clock that never goes back.
package protocol DeliveryState: Sendable {
    /// An order to the transport, such as a batch to send.
    associatedtype Action: Sendable
    /// A report of the transport, such as the outcomes of a batch.
    associatedtype Event: Sendable

    /// Wake-ups that the push service has, or may have.
    var inFlight: Int { get }

    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> DeliveryStep
    /// Completes all that was added so far; final: nothing more will be added.
    mutating func flush(isFinal: Bool)
    mutating func quiesce()
    mutating func tick(now: UInt64) -> DeliveryStep
    /// Makes ready what is due; throws when going on is useless in this round.
    mutating func advance(now: UInt64) throws(GatewayFailure)
    mutating func next(now: UInt64) -> Action?
    mutating func receive(_ event: Event, at moment: DeliveryMoment) -> DeliveryStep

    /// The results of held answers, once a flush has nothing else left. Throws at the end of a
    /// round in which nothing was accepted and an answer shows why.
    mutating func conclude() throws(GatewayFailure) -> [WakeUpResult]

    /// Ends the round after a failure that may pass.
    /// - Returns: the results of what may have arrived: in this round it is not sent again, not
    ///   even by a new session.
    mutating func end() -> DeliveryStep

    /// Why it waits or sends little now, for the operator; nil while all is well.
    var delay: GatewayFailure? { get }
}

extension DeliveryState {
    package mutating func tick(now: UInt64) -> DeliveryStep { DeliveryStep() }
    package mutating func conclude() throws(GatewayFailure) -> [WakeUpResult] { [] }
    package mutating func end() -> DeliveryStep { DeliveryStep() }
    package var delay: GatewayFailure? { nil }
}

/// The result of one input to a ``DeliveryState``.
package struct DeliveryStep: Sendable {
    package var results: [WakeUpResult] = []
    package var retried = 0
    /// Pushes that may have arrived, without an outcome.
    package var uncertain = 0
    /// References of wake-ups that are given back.
    package var deferred: [Int] = []
    package var feedback = CredentialFeedback()
    /// The rest of this answer is not wanted.
    package var isBroken = false
    /// The end of the round, after all of the above.
    package var failure: GatewayFailure?

    package init(results: [WakeUpResult] = [], failure: GatewayFailure? = nil) {
        self.results = results
        self.failure = failure
    }
}

/// The time of an event, and a random number for jitter.
package struct DeliveryMoment: Sendable {
    /// Milliseconds.
    package let now: UInt64
    /// In [0, 1).
    package let jitter: Double

    package init(now: UInt64, jitter: Double) {
        self.now = now
        self.jitter = jitter
    }
}
