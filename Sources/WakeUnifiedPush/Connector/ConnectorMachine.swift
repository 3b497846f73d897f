import Reveille
import WakeSystem

/// The state machine of a connector. It registers with one distributor under one token, passes each
/// endpoint on once, and trusts only the owner of the distributor's name.
package struct ConnectorMachine: Sendable, Redacted {
    package enum Input: Sendable {
        /// This process owns its name; `owner` is the distributor's unique name, if it runs.
        case connected(owner: [UInt8]?)
        case disconnected
        case ownerChanged([UInt8]?)
        case answered(RegisterResponse)
        case called(ConnectorCall, by: [UInt8]?)
        /// The endpoint could not be stored now.
        case notAdopted(EndpointToken)
        case timePassed
    }

    /// An action; several are performed in order.
    package enum Output: Sendable, Equatable {
        case register
        /// Register this endpoint at the service.
        case adopt(EndpointToken)
        /// Withdraw an endpoint that is dead for good.
        case withdraw(EndpointToken)
        case acknowledge
        case wake
        /// Warn the person; nil ends the warning.
        case warn(DistributorTrouble?)
    }

    package enum Phase: Sendable, Equatable {
        case offline
        /// `Register` is called at this time.
        case due(Duration)
        /// `Register` is not answered yet.
        case calling
        /// It succeeded; the endpoint is expected until this time.
        case awaiting(Duration)
        /// The distributor has sent the endpoint.
        case registered
    }

    package private(set) var phase = Phase.offline
    /// The warning that was given.
    package private(set) var trouble: DistributorTrouble?
    private let token: [UInt8]
    private var owner: [UInt8]?
    private var wasConnected = false
    private var failures = 0
    /// Endings within a day, the last one at `ended`.
    private var endings = 0
    private var ended = Duration.zero
    private var lastCall: Duration?
    /// While calling: the endpoint came before the answer; the distributor was replaced.
    private var hasEndpoint = false
    private var isReplaced = false
    private var endpoints: EndpointLimiter
    private var wakes = WakeLimiter()

    /// - Parameter endpoint: the one that the service has, or is about to have.
    package init(token: [UInt8], endpoint: EndpointToken?) {
        self.token = token
        endpoints = EndpointLimiter(endpoint)
    }

    /// The time of the next `timePassed`; nil for never.
    package var next: Duration? {
        let own: Duration? =
            switch phase {
            case .due(let time), .awaiting(let time): time
            case .offline, .calling, .registered: nil
            }
        return [own, endpoints.next, wakes.next].compactMap { $0 }.min()
    }

    /// - Parameter random: in [0, 1).
    package mutating func update(_ input: Input, at now: Duration, random: Double) -> [Output] {
        var outputs: [Output] = []
        switch input {
        case .connected(let owner):
            self.owner = owner
            // Pushes may have been missed.
            if wasConnected { wakes.request() }
            wasConnected = true
            // "On Application Startup": the newest endpoint is asked for, with the same token.
            phase = .due(now)
        case .disconnected:
            owner = nil
            phase = .offline
        case .ownerChanged(let new): change(to: new, at: now, random)
        case .answered(let answer): outputs += answered(answer, at: now, random)
        case .called(let call, let sender):
            guard isTrusted(call, by: sender) else { break }
            outputs += handle(call, at: now, random)
        case .notAdopted(let endpoint):
            endpoints.putBack(endpoint)
            return []
        case .timePassed: break
        }
        return outputs + dueOutputs(at: now, random)
    }

    // MARK: Life of the distributor

    private mutating func change(to new: [UInt8]?, at now: Duration, _ random: Double) {
        guard new != owner, phase != .offline else { return }
        let old = owner
        owner = new
        guard phase != .calling else {
            // The call may have activated it; a second owner does not know of the call.
            isReplaced = isReplaced || (old != nil && new != nil)
            return
        }
        if new != nil {
            phase = .due(max(now, (lastCall ?? now) + UnifiedPush.restartSpacing))
        } else if phase == .registered || isAwaiting {
            // It may have been stopped on purpose: a call would activate it again at once.
            phase = .due(now + Backoff.distributor.delay(failures: failures + 1, random: random))
        }
    }

    private var isAwaiting: Bool { if case .awaiting = phase { true } else { false } }

    private mutating func answered(
        _ answer: RegisterResponse, at now: Duration, _ random: Double
    ) -> [Output] {
        guard phase == .calling else { return [] }
        if isReplaced {
            phase = .due(now + UnifiedPush.restartSpacing)
            return []
        }
        if hasEndpoint, answer == .succeeded || answer == .unanswered { return register() }
        guard answer == .succeeded else { return fail(answer, at: now, random) }
        phase = .awaiting(now + UnifiedPush.endpointTime)
        return []
    }

    private mutating func fail(
        _ answer: RegisterResponse, at now: Duration, _ random: Double
    ) -> [Output] {
        failures += 1
        let delay =
            answer.needsPerson
            ? UnifiedPush.personWait * (0.5 + random)
            : Backoff.distributor.delay(failures: failures, random: random)
        phase = .due(now + delay)
        guard answer.needsPerson || failures >= UnifiedPush.warningThreshold else { return [] }
        return warn(answer.trouble)
    }

    private mutating func register() -> [Output] {
        guard phase != .registered else { return [] }
        phase = .registered
        failures = 0
        // After repeated endings the warning stays for a day, also with a new endpoint.
        return endings < UnifiedPush.warningThreshold ? warn(nil) : []
    }

    private mutating func warn(_ trouble: DistributorTrouble?) -> [Output] {
        // The client decides whether a warning is new.
        defer { self.trouble = trouble }
        return self.trouble == trouble && trouble != nil ? [] : [.warn(trouble)]
    }

    // MARK: Calls of the distributor

    /// Unknown tokens are ignored, and calls of others than the owner of the distributor's name.
    private func isTrusted(_ call: ConnectorCall, by sender: [UInt8]?) -> Bool {
        guard let owner, sender == owner else { return false }
        return call.token == token
    }

    private mutating func handle(
        _ call: ConnectorCall, at now: Duration, _ random: Double
    ) -> [Output] {
        switch call {
        case .message:
            wakes.request()
            return [.acknowledge]
        case .newEndpoint(_, let text):
            // Not https, too long, odd bytes: ignored.
            guard let endpoint = EndpointToken(unifiedPush: text) else { return [] }
            endpoints.offer(endpoint)
            guard phase != .calling else {
                hasEndpoint = true
                return []
            }
            return register()
        case .unregistered: return end(at: now, random)
        case .malformed: return []
        }
    }

    /// "If the app wants to remain registered, it MUST register again."
    private mutating func end(at now: Duration, _ random: Double) -> [Output] {
        if now - ended > UnifiedPush.longWait { endings = 0 }
        endings += 1
        ended = now
        hasEndpoint = false
        guard endings >= UnifiedPush.warningThreshold else {
            let delay = Backoff.distributor.delay(failures: endings, random: random)
            if phase != .calling { phase = .due(now + delay) }
            return []
        }
        if phase != .calling { phase = .due(now + UnifiedPush.longWait * (0.5 + random)) }
        let dead = endpoints.forget().map { [Output.withdraw($0)] } ?? []
        return dead + warn(.unregistered)
    }

    // MARK: Time

    private mutating func dueOutputs(at now: Duration, _ random: Double) -> [Output] {
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
        case .awaiting(let time) where time <= now: outputs += fail(.unanswered, at: now, random)
        case .offline, .due, .calling, .awaiting, .registered: break
        }
        return outputs
    }

    package var description: String { "(connector, \(phase))" }
}
