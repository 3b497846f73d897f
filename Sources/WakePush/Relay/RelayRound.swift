private import Synchronization
import WakeFetch
import WakeModel

/// A gateway's round through a relay: the thin shell around ``RelayFlow``.
final class RelayRound: GatewayRound {
    private struct State {
        var flow: RelayFlow
        var requests: [UInt32: Task<Void, Never>] = [:]
        var isOver = false
    }

    private let service: PushService
    private let link: RelayLink
    private let lifetime: Int
    private let clock: EngineClock
    private let report: @Sendable (GatewayReport) -> Void
    private let state: Mutex<State>

    init(
        _ service: PushService, _ link: RelayLink, lifetime: Int, clock: EngineClock,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.service = service
        self.link = link
        self.lifetime = min(
            max(lifetime, RelayBatch.lifetimes.lowerBound), RelayBatch.lifetimes.upperBound)
        self.clock = clock
        self.report = report
        state = Mutex(State(flow: RelayFlow(service)))
    }

    deinit { state.withLock { Self.end(&$0) } }

    // Reports are given under the lock: they come in the order in which things happened.

    func send(_ wakeUps: [WakeUp]) {
        change { $0.add(wakeUps) }
    }

    func drain() {
        change { $0.drain() }
    }

    // Nothing is held for want of evidence: the relay's gateway has weighed it.
    func finish() {
        change { $0.drain() }
    }

    func tick() {
        change { _ in }
    }

    func land() -> Int {
        state.withLock { state in
            state.flow.land()
            return state.isOver ? 0 : state.flow.inFlight
        }
    }

    func stop() {
        state.withLock { Self.end(&$0) }
    }

    // MARK: Under the lock

    private func change(_ change: (inout RelayFlow) -> Void) {
        state.withLock { state in
            guard !state.isOver else { return }
            change(&state.flow)
            pump(&state)
        }
    }

    /// Does what can be done now.
    private func pump(_ state: inout State) {
        let now = clock.milliseconds()
        guard !state.flow.isHopeless(now: now) else {
            return fail(&state, .unavailable(.pushback, service))
        }
        while let (number, entries) = state.flow.next(now: now) {
            let batch = RelayBatch(lifetime: lifetime, tokens: entries.map(\.wakeUp.token))
            state.requests[number] = begin(number, batch)
        }
    }

    /// Ends with the round: whoever holds it waits for reports.
    private func begin(_ number: UInt32, _ batch: RelayBatch) -> Task<Void, Never> {
        Task { [weak self, link] in
            let end = await link.send(
                batch, onAnswer: { [weak self] in self?.answered() },
                onLines: { [weak self] bytes in self?.read(bytes.array, of: number) ?? .stop })
            self?.ended(number, end)
        }
    }

    // MARK: From requests

    private func answered() {
        state.withLock { $0.flow.answered() }
    }

    private func read(_ bytes: [UInt8], of number: UInt32) -> FetchVerdict {
        state.withLock { state in
            guard !state.isOver else { return .stop }
            let step = state.flow.read(bytes.span, of: number)
            take(step, &state)
            return step.isBroken || state.isOver ? .stop : .proceed
        }
    }

    private func ended(_ number: UInt32, _ end: RelayEnd) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.requests[number] = nil
            let step = state.flow.ended(
                number, end, now: clock.milliseconds(), chance: clock.chance())
            take(step, &state)
            if !state.isOver { pump(&state) }
        }
    }

    private func take(_ step: RelayFlow.Step, _ state: inout State) {
        if !step.settled.isEmpty { report(.settled(step.settled)) }
        if step.retried > 0 { report(.retried(step.retried)) }
        if let failure = step.failure { fail(&state, failure) }
    }

    private func fail(_ state: inout State, _ failure: GatewayFailure) {
        Self.end(&state)
        report(.failed(failure))
    }

    private static func end(_ state: inout State) {
        state.isOver = true
        for request in state.requests.values { request.cancel() }
        state.requests = [:]
    }
}
