private import Synchronization
import WakeFetch

/// The Web Push gateway's round: the thin shell around ``WebPushFlow``.
final class WebPushRound: GatewayRound {
    private struct State {
        var flow: WebPushFlow
        var requests: [UInt64: FetchHandle] = [:]
        var lookUps: [Int: Task<Void, Never>] = [:]
        var isOver = false
    }

    private let sender: WebPushSender
    private let lifetime: Int
    private let clock: EngineClock
    private let report: @Sendable (GatewayReport) -> Void
    private let state: Mutex<State>

    init(
        _ sender: WebPushSender, bounds: WebPushFlow.Bounds, lifetime: Int,
        clock: EngineClock = .system, report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        self.sender = sender
        self.lifetime = lifetime
        self.clock = clock
        self.report = report
        state = Mutex(State(flow: WebPushFlow(sender.policy, bounds)))
    }

    deinit { state.withLock { end(&$0) } }

    // Reports are given under the lock: they come in the order in which things happened.

    func send(_ wakeUps: [WakeUp]) {
        work { $0.add(wakeUps, now: self.clock.milliseconds()) }
    }

    func drain() {
        work { flow in
            flow.drain()
            return WebPushFlow.Step()
        }
    }

    func finish() {
        work { flow in
            flow.finish()
            return WebPushFlow.Step()
        }
    }

    func tick() {
        work { $0.tick(now: self.clock.milliseconds()) }
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

    /// Changes the flow, reports what came of it, and does what can be done now.
    private func work(
        _ change: (inout WebPushFlow) -> WebPushFlow.Step
    ) {
        let actions = state.withLock { state -> [WebPushFlow.Action] in
            guard !state.isOver else { return [] }
            let step = change(&state.flow)
            if !step.settled.isEmpty { report(.settled(step.settled)) }
            if step.retried > 0 { report(.retried(step.retried)) }
            return pump(&state)
        }
        // Not under the lock: what is refused at once is answered at once.
        for action in actions { begin(action) }
    }

    private func pump(_ state: inout State) -> [WebPushFlow.Action] {
        var actions: [WebPushFlow.Action] = []
        let now = clock.milliseconds()
        do throws(GatewayFailure) {
            while let action = state.flow.next(now: now) { actions.append(action) }
            let rest = try state.flow.conclude()
            if !rest.isEmpty { report(.settled(rest)) }
        } catch {
            end(&state)
            report(.failed(error))
            return []
        }
        return actions
    }

    private func begin(_ action: WebPushFlow.Action) {
        switch action {
        case .send(let flight): send(flight)
        case .lookUp(let host, let name): lookUp(host, name)
        }
    }

    // MARK: Requests

    private func send(_ flight: WebPushFlow.Flight) {
        let number = flight.number
        guard let request = sender.request(flight, lifetime: lifetime) else {
            return take(number, .failed(.outOfResources))
        }
        // Weak: a round that nobody holds any more ends its requests.
        let handle = sender.fetcher.start(request) { [weak self] result in
            self?.take(number, WebPushFlow.Outcome(result))
        }
        let isLate = state.withLock { state -> Bool in
            guard !state.isOver else { return true }
            if state.flow.isInFlight(number) { state.requests[number] = handle }
            return false
        }
        if isLate { handle.cancel() }
    }

    private func take(_ number: UInt64, _ outcome: WebPushFlow.Outcome) {
        forget(number)
        work { $0.take(number, outcome, at: self.moment) }
    }

    private func forget(_ number: UInt64) {
        state.withLock { $0.requests[number] = nil }
    }

    private func lookUp(_ host: Int, _ name: [UInt8]) {
        let resolver = sender.resolver
        let task = Task { [weak self] in
            let result: Result<[IPAddress], ResolveError>
            do throws(ResolveError) {
                result = .success(try await resolver.addresses(of: name))
            } catch {
                result = .failure(error)
            }
            self?.looked(up: host, result)
        }
        state.withLock { state in
            if state.isOver { task.cancel() } else { state.lookUps[host] = task }
        }
    }

    private func looked(up host: Int, _ result: Result<[IPAddress], ResolveError>) {
        work { $0.looked(up: host, result, at: self.moment) }
    }

    private var moment: WebPushFlow.Moment {
        WebPushFlow.Moment(now: clock.milliseconds(), chance: clock.chance())
    }

    private func end(_ state: inout State) {
        state.isOver = true
        for request in state.requests.values { request.cancel() }
        for task in state.lookUps.values { task.cancel() }
        state.requests = [:]
        state.lookUps = [:]
    }
}

extension WebPushFlow.Outcome {
    /// Of the body nothing is kept: no answer's meaning depends on it.
    fileprivate init(_ result: Result<(FetchResponse, [UInt8]), FetchError>) {
        switch result {
        case .success(let (response, _)):
            self = .answered(status: response.status, retryAfter: response.retryAfter)
        case .failure(let error): self = .failed(error)
        }
    }
}
