import WakeClient

/// What a connector does about what happens on the bus: a value, with time and randomness given.
///
/// It registers with one distributor under one token, hands an endpoint on once, wakes the client
/// for every message, and believes nobody but the owner of the distributor's name. A distributor
/// that goes away changes nothing at the service: it may come back.
package struct ConnectorMachine: Sendable {
    /// What happened.
    package enum Input: Sendable {
        /// The bus knows us by our name; `owner` is the distributor's unique name, if it runs.
        case connected(owner: [UInt8]?)
        case disconnected
        /// The distributor's name has this owner now.
        case ownerChanged([UInt8]?)
        /// `Register` was answered, or was not.
        case answered(RegisterAnswer)
        case called(ConnectorCall, by: [UInt8]?)
        /// It could not be handed on now.
        case notAdopted(EndpointToken)
        /// The time of `next` may have come.
        case timePassed
    }

    /// What is to be done about it, in this order.
    package enum Output: Sendable, Equatable {
        /// Call `Register` with our token.
        case register
        /// Have the service hold this endpoint.
        case adopt(EndpointToken)
        /// The endpoint is dead for good.
        case withdraw(EndpointToken)
        /// The message was taken: say so to the distributor.
        case acknowledge
        /// Look at the feed.
        case wake
        /// Tell the person; nil when it is over.
        case note(DistributorTrouble?)
    }

    /// How far it is.
    package enum Phase: Sendable, Equatable {
        /// No bus.
        case offline
        /// Nothing until then, then `Register`.
        case due(Duration)
        /// `Register` is not answered yet.
        case calling
        /// It succeeded; the endpoint comes, until then.
        case awaiting(Duration)
        /// The distributor has told the endpoint.
        case standing
    }

    package private(set) var phase = Phase.offline
    /// Why it does not stand, when that was told.
    package private(set) var trouble: DistributorTrouble?
    private let token: [UInt8]
    private var owner: [UInt8]?
    private var wasConnected = false
    /// Registrations in a row that failed.
    private var failures = 0
    /// Endings within a day, the last one at `ended`.
    private var endings = 0
    private var ended = Duration.zero
    private var lastCall: Duration?
    /// While calling: the endpoint came before the answer; the distributor was replaced meanwhile.
    private var hasEndpoint = false
    private var isReplaced = false
    private var endpoints: EndpointGate
    private var wakes = WakeGate()

    /// - Parameters:
    ///   - token: the connection token.
    ///   - endpoint: what the service holds already, or is about to.
    package init(token: [UInt8], endpoint: EndpointToken?) {
        self.token = token
        endpoints = EndpointGate(endpoint)
    }

    /// When `timePassed` is to be told at the latest; nil for never.
    package var next: Duration? {
        let own: Duration? =
            switch phase {
            case .due(let time), .awaiting(let time): time
            case .offline, .calling, .standing: nil
            }
        return [own, endpoints.next, wakes.next].compactMap { $0 }.min()
    }

    /// Whether the distributor runs.
    package var hasOwner: Bool { owner != nil }

    /// - Parameters:
    ///   - now: a time that only grows.
    ///   - random: in [0, 1).
    package mutating func take(_ input: Input, at now: Duration, random: Double) -> [Output] {
        var outputs: [Output] = []
        switch input {
        case .connected(let owner):
            self.owner = owner
            // Pushes may have been missed.
            if wasConnected { wakes.ask() }
            wasConnected = true
            // "On Application Startup": the newest endpoint is asked for, with the same token.
            phase = .due(now)
        case .disconnected:
            owner = nil
            phase = .offline
        case .ownerChanged(let new): change(to: new, at: now, random)
        case .answered(let answer): outputs += answered(answer, at: now, random)
        case .called(let call, let sender):
            guard isOurs(call, by: sender) else { break }
            outputs += obey(call, at: now, random)
        case .notAdopted(let endpoint):
            endpoints.takeBack(endpoint)
            return []
        case .timePassed: break
        }
        return outputs + whatIsDue(at: now, random)
    }

    // MARK: The distributor's life

    private mutating func change(to new: [UInt8]?, at now: Duration, _ random: Double) {
        guard new != owner, phase != .offline else { return }
        let old = owner
        owner = new
        guard phase != .calling else {
            // Our own call may have started it; a second owner does not know of the call.
            isReplaced = isReplaced || (old != nil && new != nil)
            return
        }
        if new != nil {
            phase = .due(max(now, (lastCall ?? now) + UnifiedPush.restartSpacing))
        } else if phase == .standing || isAwaiting {
            // It may have been stopped on purpose: calling it would start it again at once.
            phase = .due(now + Backoff.distributor.delay(failures: failures + 1, random: random))
        }
    }

    private var isAwaiting: Bool { if case .awaiting = phase { true } else { false } }

    private mutating func answered(
        _ answer: RegisterAnswer, at now: Duration, _ random: Double
    ) -> [Output] {
        guard phase == .calling else { return [] }
        if isReplaced {
            phase = .due(now + UnifiedPush.restartSpacing)
            return []
        }
        if hasEndpoint, answer == .succeeded || answer == .unanswered {
            return stand()
        }
        if answer == .succeeded {
            phase = .awaiting(now + UnifiedPush.endpointTime)
            return []
        }
        return fail(answer, at: now, random)
    }

    private mutating func fail(
        _ answer: RegisterAnswer, at now: Duration, _ random: Double
    ) -> [Output] {
        failures += 1
        let delay =
            answer.needsPerson
            ? UnifiedPush.personWait * (0.5 + random)
            : Backoff.distributor.delay(failures: failures, random: random)
        phase = .due(now + delay)
        guard answer.needsPerson || failures >= UnifiedPush.patience else { return [] }
        return note(answer.trouble)
    }

    private mutating func stand() -> [Output] {
        guard phase != .standing else { return [] }
        phase = .standing
        failures = 0
        // Whoever was ended again and again is believed after a day, not after an endpoint.
        return endings < UnifiedPush.patience ? note(nil) : []
    }

    private mutating func note(_ trouble: DistributorTrouble?) -> [Output] {
        // Said again after a restart of the client too: who is told decides what is new.
        defer { self.trouble = trouble }
        return self.trouble == trouble && trouble != nil ? [] : [.note(trouble)]
    }

    // MARK: What it calls

    /// "If the connector doesn't know this token, the request is ignored"; and nobody but the owner
    /// of the distributor's name has anything to say, token or not.
    private func isOurs(_ call: ConnectorCall, by sender: [UInt8]?) -> Bool {
        guard let owner, sender == owner else { return false }
        return call.token == token
    }

    private mutating func obey(
        _ call: ConnectorCall, at now: Duration, _ random: Double
    ) -> [Output] {
        switch call {
        case .message:
            wakes.ask()
            return [.acknowledge]
        case .newEndpoint(_, let text):
            // Not https, too long, odd bytes: ignored, as if it had not been said.
            guard let endpoint = try? EndpointToken(.webPush, text: text) else { return [] }
            endpoints.offer(endpoint)
            guard phase != .calling else {
                hasEndpoint = true
                return []
            }
            return stand()
        case .unregistered: return end(at: now, random)
        case .unreadable: return []
        }
    }

    /// "If the app wants to remain registered, it MUST register again."
    private mutating func end(at now: Duration, _ random: Double) -> [Output] {
        if now - ended > UnifiedPush.longWait { endings = 0 }
        endings += 1
        ended = now
        hasEndpoint = false
        guard endings >= UnifiedPush.patience else {
            let delay = Backoff.distributor.delay(failures: endings, random: random)
            if phase != .calling { phase = .due(now + delay) }
            return []
        }
        if phase != .calling { phase = .due(now + UnifiedPush.longWait * (0.5 + random)) }
        let dead = endpoints.forget().map { [Output.withdraw($0)] } ?? []
        return dead + note(.unregistered)
    }

    // MARK: Time

    private mutating func whatIsDue(at now: Duration, _ random: Double) -> [Output] {
        var outputs: [Output] = []
        if wakes.take(at: now) { outputs.append(.wake) }
        if let endpoint = endpoints.take(at: now) { outputs.append(.adopt(endpoint)) }
        switch phase {
        case .due(let time) where time <= now:
            phase = .calling
            lastCall = now
            hasEndpoint = false
            isReplaced = false
            outputs.append(.register)
        case .awaiting(let time) where time <= now:
            outputs += fail(.unanswered, at: now, random)
        case .offline, .due, .calling, .awaiting, .standing: break
        }
        return outputs
    }
}

extension ConnectorMachine: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package var description: String { "(connector, \(phase))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
