private import Synchronization
private import WakeModel

/// A gateway's round on the push engine: the thin shell around ``WakeUpFlow``.
final class EngineRound<Service: EngineService>: GatewayRound {
    private struct State {
        var flow: WakeUpFlow<Service>
        /// Made with the first credential.
        var engine: PushEngine?
        var serial = 0
        /// When the credential is to be asked for again, milliseconds.
        var credentialDue: UInt64 = 0
        var mustWait = false
        var isOver = false
    }

    private let service: Service
    private let lifetime: Int
    private let clock: EngineClock
    private let report: @Sendable (GatewayReport) -> Void
    private let state: Mutex<State>

    /// Milliseconds between two looks at the credential.
    private static var credentialInterval: UInt64 { 1000 }

    init(
        _ service: Service, lifetime: Int, clock: EngineClock = .system,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.service = service
        self.lifetime = lifetime
        self.clock = clock
        self.report = report
        state = Mutex(State(flow: WakeUpFlow(service)))
    }

    // Reports are given under the lock: they come in the order in which things happened.

    func send(_ wakeUps: [WakeUp]) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.flow.add(wakeUps)
            pump(&state)
        }
    }

    func drain() {
        state.withLock { state in
            guard !state.isOver else { return }
            state.flow.drain()
            pump(&state)
        }
    }

    func finish() {
        state.withLock { state in
            guard !state.isOver else { return }
            state.flow.finish()
            pump(&state)
        }
    }

    func tick() {
        state.withLock { state in
            guard !state.isOver else { return }
            pump(&state)
        }
    }

    func land() -> Int {
        state.withLock { state in
            state.flow.land()
            return state.isOver ? 0 : state.flow.inFlight
        }
    }

    func stop() {
        state.withLock { end(&$0) }
    }

    private func take(_ outcomes: PushOutcomes) {
        state.withLock { state in
            guard !state.isOver else { return }
            do throws(GatewayFailure) {
                let step = try state.flow.take(
                    outcomes, now: clock.milliseconds(), chance: clock.chance())
                if !step.settled.isEmpty { report(.settled(step.settled)) }
                if step.retried > 0 { report(.retried(step.retried)) }
                if !step.news.isEmpty { try note(step.news, &state) }
            } catch {
                return fail(&state, error)
            }
            pump(&state)
        }
    }

    private func note(_ news: CredentialNews, _ state: inout State) throws(GatewayFailure) {
        if news != .worked { state.credentialDue = 0 }
        try service.note(news, at: .system())
    }

    /// Does what can be done now.
    private func pump(_ state: inout State) {
        let now = clock.milliseconds()
        do throws(GatewayFailure) {
            if state.flow.isHopeless(now: now) {
                throw .unavailable(.pushback, service.service)
            }
            try renewCredential(&state, now)
            while !state.mustWait, let engine = state.engine,
                let (number, entries) = state.flow.next(now: now)
            {
                submit(number, entries, to: engine)
            }
            let rest = try state.flow.conclude()
            if !rest.isEmpty { report(.settled(rest)) }
        } catch {
            fail(&state, error)
        }
    }

    private func submit(
        _ number: UInt32, _ entries: ArraySlice<WakeUpLedger.Entry>, to engine: PushEngine
    ) {
        var batch = PushBatch(
            id: number, capacity: entries.count, tokenBytes: Service.tokenBytes)
        for entry in entries { service.append(entry.wakeUp.token, to: &batch) }
        let isTaken = engine.submit(batch)
        precondition(isTaken, "the window is far below what an open engine takes")
    }

    private func renewCredential(_ state: inout State, _ now: UInt64) throws(GatewayFailure) {
        guard now >= state.credentialDue else { return }
        state.credentialDue = now + Self.credentialInterval
        let reading = ClockReading.system()
        // Weak, as for the engine; and the lock is held here: it is told later, by others.
        let credential = try service.credential(at: reading) { [weak self] in
            self?.credentialChanged()
        }
        switch credential {
        case .wait: state.mustWait = true
        case .value(let value, let serial):
            state.mustWait = false
            if let engine = state.engine {
                if serial != state.serial { engine.updateAuthorization(value) }
            } else {
                state.engine = try start(value, reading)
            }
            state.serial = serial
        }
    }

    /// What was waited for has come to its end.
    private func credentialChanged() {
        state.withLock { state in
            guard !state.isOver else { return }
            state.credentialDue = 0
            pump(&state)
        }
    }

    private func start(
        _ authorization: [UInt8], _ now: ClockReading
    ) throws(GatewayFailure) -> PushEngine {
        let configuration = service.engine(
            authorization: authorization, lifetime: lifetime, now: now)
        do throws(PushEngineError) {
            // Weak: a round that nobody holds any more ends its engine.
            return try PushEngine(configuration) { [weak self] in self?.take($0) }
        } catch {
            throw .misconfigured(.engine(error, service.service))
        }
    }

    private func fail(_ state: inout State, _ failure: GatewayFailure) {
        end(&state)
        report(.failed(failure))
    }

    private func end(_ state: inout State) {
        state.isOver = true
        state.engine?.close()
        state.engine = nil
    }
}
