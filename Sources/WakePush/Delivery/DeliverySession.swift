private import Synchronization
package import WakeSystem

/// The session of every gateway: a ``DeliveryState`` behind a lock, and its transport.
package final class DeliverySession<Transport: DeliveryTransport>: GatewaySession {
    private struct Locked {
        var state: Transport.State
        var isOver = false
        /// As it was reported last.
        var delay: GatewayFailure?
    }

    private let transport: Transport
    private let time: TimeSource
    private let report: @Sendable (GatewayReport) -> Void
    private let locked: Mutex<Locked>

    /// - Parameter report: called under the lock, so that reports come in the order of events.
    package init(
        _ state: Transport.State, _ transport: Transport, time: TimeSource = .system,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.transport = transport
        self.time = time
        self.report = report
        locked = Mutex(Locked(state: state))
    }

    deinit { transport.cancel() }

    package func send(_ wakeUps: [WakeUp]) { change { state, now in state.add(wakeUps, now: now) } }

    package func flush(isFinal: Bool) {
        change { state, _ in
            state.flush(isFinal: isFinal)
            return DeliveryStep()
        }
    }

    package func tick() { change { state, now in state.tick(now: now) } }

    package func quiesce() -> Int {
        locked.withLock { locked in
            locked.state.quiesce()
            return locked.isOver ? 0 : locked.state.inFlight
        }
    }

    package var inFlight: Int { locked.withLock { $0.isOver ? 0 : $0.state.inFlight } }

    package func cancel() { locked.withLock { end(&$0) } }

    /// Handles an event, from any thread but not under the transport's lock; false when the rest of
    /// the answer is not wanted.
    @discardableResult
    package func receive(_ event: Transport.State.Event) -> Bool {
        change { state, now in
            state.receive(event, at: DeliveryMoment(now: now, jitter: time.random()))
        }
    }

    /// Asks the transport again if it is ready; for the transport.
    package func resume() { change { _, _ in DeliveryStep() } }

    @discardableResult
    private func change(_ body: (inout Transport.State, UInt64) -> DeliveryStep) -> Bool {
        let (isWanted, actions) = locked.withLock { locked -> (Bool, [Transport.State.Action]) in
            guard !locked.isOver else { return (false, []) }
            let now = time.milliseconds()
            let step = body(&locked.state, now)
            do throws(GatewayFailure) {
                try publish(step)
                let actions = try nextActions(of: &locked.state, now)
                let delay = transport.delay ?? locked.state.delay
                if delay != locked.delay {
                    locked.delay = delay
                    report(.delayed(delay))
                }
                return (!step.isBroken, actions)
            } catch {
                end(&locked)
                if error.mayPass { report(locked.state.end()) }
                report(.failed(error))
                return (false, [])
            }
        }
        // Not under the lock: a refusal may come back at once.
        for action in actions { transport.perform(action, for: self) }
        return isWanted
    }

    private func report(_ step: DeliveryStep) {
        if step.retried > 0 { report(.retried(step.retried)) }
        if step.uncertain > 0 { report(.uncertain(step.uncertain)) }
        if !step.results.isEmpty { report(.completed(step.results)) }
        if !step.deferred.isEmpty { report(.deferred(step.deferred)) }
    }

    private func publish(_ step: DeliveryStep) throws(GatewayFailure) {
        report(step)
        if let failure = step.failure { throw failure }
        if !step.feedback.isEmpty { try transport.learn(step.feedback) }
    }

    private func nextActions(
        of state: inout Transport.State, _ now: UInt64
    ) throws(GatewayFailure) -> [Transport.State.Action] {
        var actions: [Transport.State.Action] = []
        try state.advance(now: now)
        if try transport.prepare(now: now, for: self) {
            while let action = state.next(now: now) { actions.append(action) }
        }
        let rest = try state.conclude()
        if !rest.isEmpty { report(.completed(rest)) }
        return actions
    }

    private func end(_ locked: inout Locked) {
        locked.isOver = true
        transport.cancel()
    }
}

/// The connections of one session, which they must not keep alive.
package protocol DeliveryTransport: AnyObject, Sendable {
    associatedtype State: DeliveryState

    /// False when nothing can be sent now. Under the session's lock: must not call the session.
    func prepare(now: UInt64, for session: DeliverySession<Self>) throws(GatewayFailure) -> Bool
    /// Records the credential's feedback; under the session's lock.
    func learn(_ feedback: CredentialFeedback) throws(GatewayFailure)
    /// Not under the session's lock.
    func perform(_ action: State.Action, for session: DeliverySession<Self>)
    /// Ends everything at once; may be called again.
    func cancel()
    /// Why nothing can be sent now, for the operator; under the session's lock.
    var delay: GatewayFailure? { get }
}

extension DeliveryTransport {
    package func prepare(
        now: UInt64, for session: DeliverySession<Self>
    ) throws(GatewayFailure) -> Bool { true }

    package func learn(_ feedback: CredentialFeedback) throws(GatewayFailure) {}
    package var delay: GatewayFailure? { nil }
}
