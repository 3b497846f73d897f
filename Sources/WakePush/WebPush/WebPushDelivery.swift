import WakeFetch
import WakeModel
import WakeSystem

/// The delivery of Web Push. Wake-ups go through the queue of their host into single requests;
/// answers through the response table and the breakers of their host.
struct WebPushDelivery: DeliveryState {
    typealias Entry = RetryQueue.Entry

    enum Action {
        case resolve(host: Int, name: [UInt8])
        case send(WebPushFlight)
    }

    enum Event {
        case resolved(host: Int, Result<[IPAddress], ResolveError>)
        case ended(WebPushFlight.Key, WebPushOutcome)
    }

    private let limits: WebPushLimits
    private let policy: EndpointPolicy
    private(set) var hosts: PushHosts
    private var flights = SlotMap<(host: Int, entry: Entry)>()
    private(set) var heldCount = 0
    /// Wake-ups that are not settled and not held.
    private(set) var pending = 0
    private var suspicion = Suspicion()
    private var isFlushing = false
    private var isFinal = false
    private var isQuiescent = false

    /// The cost of an attempt that was not answered in time, see ``RetryPolicy``: four are enough.
    private static let timeoutCost = 30

    init(_ policy: EndpointPolicy, _ limits: WebPushLimits = WebPushLimits()) {
        self.policy = policy
        self.limits = limits
        hosts = PushHosts(policy, limits)
    }

    var inFlight: Int { flights.count }

    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> DeliveryStep {
        var step = DeliveryStep()
        isFlushing = false
        for wakeUp in wakeUps {
            pending += 1
            let entry = Entry(wakeUp: wakeUp)
            // Checked when it was registered, and again: rules change.
            guard let name = policy.host(of: wakeUp.token) else {
                settle(entry, .retry(.endpointRefused), &step)
                continue
            }
            guard let host = hosts.index(of: name) else {
                settle(entry, .retry(.throttled), &step)
                continue
            }
            if let end = hosts[host].end {
                settle(entry, .retry(end), &step)
                continue
            }
            hosts.append(entry, to: host)
        }
        relieve(now: now, &step)
        return step
    }

    mutating func flush(isFinal: Bool) {
        isFlushing = true
        if isFinal { self.isFinal = true }
    }

    mutating func quiesce() { isQuiescent = true }

    mutating func tick(now: UInt64) -> DeliveryStep {
        var step = DeliveryStep()
        relieve(now: now, &step)
        return step
    }

    mutating func advance(now: UInt64) { hosts.advance(now: now) }

    mutating func next(now: UInt64) -> Action? {
        guard !isQuiescent else { return nil }
        if let (host, entry, addresses) = hosts.next(now: now) {
            let key = flights.insert { _ in (host, entry) }
            return .send(
                WebPushFlight(
                    key: key, host: hosts[host].name, addresses: addresses,
                    token: entry.wakeUp.token))
        }
        return hosts.nextLookUp().map { .resolve(host: $0, name: hosts[$0].name) }
    }

    mutating func receive(_ event: Event, at moment: DeliveryMoment) -> DeliveryStep {
        var step = DeliveryStep()
        switch event {
        case .resolved(let host, let result):
            if let (cause, failure) = hosts.resolve(host, result, at: moment) {
                close(host, cause, failure, &step)
            }
        case .ended(let key, let outcome):
            guard let (host, entry) = flights.remove(key) else {
                preconditionFailure("an answer to what is not in flight")
            }
            hosts.complete(host)
            switch outcome {
            case .answered(let status, let retryAfter):
                hosts[host].answer()
                let verdict = WebPushResponses.verdict(status: status)
                judge(entry, host, verdict, retryAfter ?? 0, moment, &step)
            case .failed(let error): judge(entry, host, error, moment, &step)
            }
        }
        return step
    }

    private mutating func judge(
        _ entry: Entry, _ host: Int, _ verdict: Verdict, _ retryAfter: Int,
        _ moment: DeliveryMoment, _ step: inout DeliveryStep
    ) {
        switch verdict {
        case .delivery(.accepted): accept(entry, host, &step)
        case .delivery(.gone):
            guard hosts[host].believesGone() else {
                let failure = GatewayFailure.misconfigured(.webPush(.endpointsUnknown))
                return refuse(entry, host, .gone, failure, &step)
            }
            hosts[host].work()
            settle(entry, .gone, &step)
        case .delivery(.retry(let cause)):
            let isHopeless = hosts[host].pushBack(at: moment)
            let least = cause == .throttled ? WebPushResponses.throttledSeconds : 0
            retry(
                entry, host, cause, cost: RetryPolicy.cost(isRetrySafe: false),
                retryAfter: max(retryAfter, least), moment, &step)
            if isHopeless { close(host, cause, .unavailable(.pushback, .webPush), &step) }
        case .ambiguous(let then, let fault):
            refuse(entry, host, then, .misconfigured(fault), &step)
        case .failure(let failure): withholdOrSettle(entry, .retry(.unknownRefusal), failure, &step)
        }
    }

    private mutating func accept(_ entry: Entry, _ host: Int, _ step: inout DeliveryStep) {
        let believed = hosts.accept(host)
        heldCount -= believed.count
        step.settled += believed.map { SettledWakeUp($0, .gone) }
        settle(entry, .accepted, &step)
        if let witness = suspicion.accept() { step.settled.append(witness) }
    }

    private mutating func refuse(
        _ entry: Entry, _ host: Int, _ then: Delivery, _ failure: GatewayFailure,
        _ step: inout DeliveryStep
    ) {
        // It does its work, only not for this one.
        hosts[host].work()
        if then == .gone, hosts[host].hasAccepted {
            settle(entry, .gone, &step)
        } else if then == .gone, heldCount < limits.held, hosts[host].end == nil {
            suspicion.record(failure)
            pending -= 1
            heldCount += 1
            hosts[host].hold(entry)
        } else {
            withholdOrSettle(entry, .retry(.unknownRefusal), failure, &step)
        }
        if hosts[host].refuse() { close(host, .unknownRefusal, failure, &step) }
    }

    private mutating func judge(
        _ entry: Entry, _ host: Int, _ error: FetchError, _ moment: DeliveryMoment,
        _ step: inout DeliveryStep
    ) {
        switch error {
        case .tooLarge:
            // Of 2xx only: what was accepted is accepted, whatever else is said.
            hosts[host].answer()
            accept(entry, host, &step)
        case .addressRefused, .invalidURL, .invalidField, .onionWithoutProxy:
            settle(entry, .retry(.endpointRefused), &step)
        case .timeout: miss(entry, host, nil, cost: Self.timeoutCost, moment, &step)
        case .tls:
            miss(
                entry, host, .misconfigured(.webPush(.untrusted)),
                cost: RetryPolicy.cost(isRetrySafe: false), moment, &step)
        case .libraryMissing, .network, .truncated, .stopped, .cancelled, .closed,
            .outOfResources, .protocolViolation:
            miss(entry, host, nil, cost: RetryPolicy.cost(isRetrySafe: false), moment, &step)
        }
    }

    /// Takes a request that had no answer.
    private mutating func miss(
        _ entry: Entry, _ host: Int, _ failure: GatewayFailure?, cost: Int,
        _ moment: DeliveryMoment, _ step: inout DeliveryStep
    ) {
        let isOver = hosts[host].fail(at: moment)
        let failure = failure ?? .unavailable(.unreachable, .webPush)
        guard isOver || hosts[host].end != nil else {
            return retry(entry, host, .connectionFault, cost: cost, moment, &step)
        }
        withholdOrSettle(entry, .retry(hosts[host].end ?? .connectionFault), failure, &step)
        if isOver { close(host, .connectionFault, failure, &step) }
    }

    private mutating func retry(
        _ entry: Entry, _ host: Int, _ cause: RetryCause, cost: Int, retryAfter: Int = 0,
        _ moment: DeliveryMoment, _ step: inout DeliveryStep
    ) {
        var entry = entry
        entry.spent += cost
        let delay = RetryPolicy.delay(
            spent: entry.spent, isRetrySafe: false, retryAfter: retryAfter, jitter: moment.jitter)
        guard let delay, hosts[host].end == nil else {
            return settle(entry, .retry(hosts[host].end ?? cause), &step)
        }
        hosts[host].retry(entry, after: delay, now: moment.now)
        step.retried += 1
    }

    private mutating func settle(_ entry: Entry, _ delivery: Delivery, _ step: inout DeliveryStep) {
        pending -= 1
        step.settled.append(SettledWakeUp(entry, delivery))
    }

    private mutating func withholdOrSettle(
        _ entry: Entry, _ delivery: Delivery, _ failure: GatewayFailure, _ step: inout DeliveryStep
    ) {
        suspicion.record(failure)
        pending -= 1
        let settled = SettledWakeUp(entry, delivery)
        if !suspicion.withhold(settled) { step.settled.append(settled) }
    }

    private mutating func close(
        _ host: Int, _ cause: RetryCause, _ failure: GatewayFailure, _ step: inout DeliveryStep
    ) {
        guard hosts[host].end == nil else { return }
        for entry in hosts[host].close(cause) {
            withholdOrSettle(entry, .retry(cause), failure, &step)
        }
        disbelieve(host, &step)
    }

    /// Leaves undecided what a host called gone that has accepted nothing: nothing is deleted.
    private mutating func disbelieve(_ host: Int, _ step: inout DeliveryStep) {
        let held = hosts[host].releaseHeld()
        heldCount -= held.count
        for entry in held {
            let settled = SettledWakeUp(entry, .retry(.unknownRefusal))
            if !suspicion.withhold(settled) { step.settled.append(settled) }
        }
    }

    /// Milliseconds of failing after which a host that has accepted something gives way.
    private static let patience: UInt64 = 30_000

    /// Keeps failing hosts from more than half of the room. First those are given up that have
    /// accepted nothing, then those that have failed for a while.
    private mutating func relieve(now: UInt64, _ step: inout DeliveryStep) {
        guard pending > limits.window / 2 else { return }
        var failing: [(host: Int, waiting: Int, isProven: Bool)] = []
        for host in hosts.indices where hosts[host].end == nil {
            guard let time = hosts[host].failingFor(now: now) else { continue }
            let isProven = hosts[host].hasAccepted
            if isProven, time < Self.patience { continue }
            failing.append((host, hosts[host].waitingCount, isProven))
        }
        var total = failing.reduce(0) { $0 + $1.waiting }
        failing.sort { ($0.isProven ? 1 : 0, -$0.waiting) < ($1.isProven ? 1 : 0, -$1.waiting) }
        for (host, waiting, _) in failing where total > limits.window / 2 {
            close(host, .connectionFault, .unavailable(.unreachable, .webPush), &step)
            total -= waiting
        }
    }

    mutating func conclude() throws(GatewayFailure) -> [SettledWakeUp] {
        guard isFlushing, pending == 0 else { return [] }
        if isFinal, let failure = suspicion.failure { throw failure }
        var step = DeliveryStep()
        for host in hosts.indices where !hosts[host].held.isEmpty { disbelieve(host, &step) }
        if let witness = suspicion.releaseWitness() { step.settled.append(witness) }
        return step.settled
    }
}

/// The bounds of one session.
package struct WebPushLimits: Sendable {
    package init() {}

    var perHost = 16
    /// Requests in flight to all hosts.
    var total = 256
    /// Wake-ups that are unsettled at most; those of failing hosts may be half of it.
    var window = 8192
    var lookUps = 16
    /// "Gone" that is held for want of evidence; more is not believed.
    var held = 512
    var hosts = 16_384

    /// Requests in flight to hosts that have accepted nothing.
    var unproven: Int { max(1, total / 2) }
}

/// A wake-up that is to be sent.
struct WebPushFlight: Sendable {
    typealias Key = SlotMap<(host: Int, entry: RetryQueue.Entry)>.Key

    let key: Key
    let host: [UInt8]
    /// Checked.
    let addresses: [IPAddress]
    let token: PushToken
}

enum WebPushOutcome: Sendable {
    case answered(status: Int, retryAfter: Int?)
    case failed(FetchError)
}

/// The fault of the gateway if nothing is accepted, and one wake-up that waits for that.
private struct Suspicion: Sendable {
    private var hasAccepted = false
    private(set) var failure: GatewayFailure?
    private var witness: SettledWakeUp?

    /// A fault that the operator can put right replaces one that may pass.
    mutating func record(_ failure: GatewayFailure) {
        guard !hasAccepted else { return }
        switch (self.failure, failure) {
        case (nil, _), (.unavailable, .misconfigured): self.failure = failure
        default: return
        }
    }

    /// - Returns: false when the wake-up is to be settled now.
    mutating func withhold(_ wakeUp: SettledWakeUp) -> Bool {
        guard !hasAccepted, witness == nil else { return false }
        witness = wakeUp
        return true
    }

    mutating func releaseWitness() -> SettledWakeUp? {
        defer { witness = nil }
        return witness
    }

    /// - Returns: the wake-up that was withheld.
    mutating func accept() -> SettledWakeUp? {
        hasAccepted = true
        failure = nil
        return releaseWitness()
    }
}
