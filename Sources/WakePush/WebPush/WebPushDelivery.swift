import WakeFetch
import WakeModel
import WakeSystem

/// The delivery of Web Push: wake-ups go from the queue of their host into single requests, answers
/// through the response table and the breakers of their host.
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
    private var flights = SlotMap<(host: Int, entry: Entry, start: UInt64)>()
    private(set) var heldCount = 0
    /// Wake-ups without a result that are not held.
    private(set) var pending = 0
    private var suspicion = Suspicion()
    private var step = DeliveryStep()
    private var isFlushing = false
    private var isFinal = false
    private var isQuiescent = false
    /// Since when more than half of the window waits although more requests could be in flight.
    private var backlogStart: UInt64?

    /// The cost of an attempt that was not answered in time, see ``RetryPolicy``: four are enough.
    private static let timeoutCost = 30

    init(_ policy: EndpointPolicy, _ limits: WebPushLimits = WebPushLimits()) {
        self.policy = policy
        self.limits = limits
        hosts = PushHosts(policy, limits)
    }

    var inFlight: Int { flights.count }

    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> DeliveryStep {
        step = DeliveryStep()
        isFlushing = false
        for wakeUp in wakeUps {
            pending += 1
            let entry = Entry(wakeUp: wakeUp)
            // Checked when it was registered, and again: rules change.
            guard let name = policy.host(of: wakeUp.token) else {
                complete(entry, .retry(.endpointRefused))
                continue
            }
            guard let host = hosts.index(of: name) else {
                complete(entry, .retry(.throttled))
                continue
            }
            if let end = hosts[host].end {
                complete(entry, .retry(end))
            } else if hosts[host].isBehind, hosts[host].waitingCount >= limits.backlog {
                giveBack([entry])
            } else {
                hosts.append(entry, to: host)
            }
        }
        closeFailingHosts(now: now)
        return step
    }

    mutating func flush(isFinal: Bool) {
        isFlushing = true
        guard isFinal else { return }
        self.isFinal = true
        hosts.beginPass()
    }

    mutating func quiesce() { isQuiescent = true }

    mutating func tick(now: UInt64) -> DeliveryStep {
        step = DeliveryStep()
        closeFailingHosts(now: now)
        giveBackBacklog(now: now)
        return step
    }

    mutating func advance(now: UInt64) { hosts.advance(now: now) }

    mutating func next(now: UInt64) -> Action? {
        guard !isQuiescent else { return nil }
        if let (host, entry, addresses) = hosts.next(now: now) {
            let key = flights.insert { _ in (host, entry, now) }
            return .send(
                WebPushFlight(
                    key: key, host: hosts[host].name, addresses: addresses,
                    token: entry.wakeUp.token))
        }
        return hosts.nextLookUp().map { .resolve(host: $0, name: hosts[$0].name) }
    }

    mutating func receive(_ event: Event, at moment: DeliveryMoment) -> DeliveryStep {
        step = DeliveryStep()
        switch event {
        case .resolved(let host, let result):
            if let (cause, failure) = hosts.resolve(host, result, at: moment) {
                close(host, cause, failure)
            }
        case .ended(let key, let outcome):
            guard let (host, entry, start) = flights.remove(key) else {
                preconditionFailure("an answer to what is not in flight")
            }
            let attempt = Attempt(entry: entry, host: host, moment: moment)
            hosts.complete(
                host, milliseconds: moment.now - start, isAnswered: outcome.isAnswered)
            switch outcome {
            case .answered(let status, let retryAfter): judge(attempt, status, retryAfter)
            case .failed(let error): judge(attempt, error)
            }
        }
        return step
    }

    private struct Attempt {
        let entry: Entry
        let host: Int
        let moment: DeliveryMoment
    }

    private mutating func judge(_ attempt: Attempt, _ status: Int, _ retryAfter: Int?) {
        let (entry, host) = (attempt.entry, attempt.host)
        let kind = PushHostKind(name: hosts[host].name)
        switch WebPushResponses.verdict(status: status, retryAfter: retryAfter, of: kind) {
        case .delivery(.accepted): accept(entry, host)
        case .delivery(.gone), .delivery(.invalid):
            // Anybody can make up an endpoint, and a host may call it either.
            guard !hosts[host].hasAccepted, hosts[host].believesGone() else {
                return refuse(entry, host, .invalid, .misconfigured(.webPush(.endpointsUnknown)))
            }
            hosts[host].work()
            complete(entry, .gone)
        case .delivery(.retry(let cause)) where WebPushResponses.isFinal(status):
            hosts[host].work()
            complete(entry, .retry(cause))
        case .delivery(.retry(let cause)) where WebPushResponses.throttlesHost(status, kind):
            let seconds = retryAfter ?? WebPushResponses.hostThrottledSeconds
            let isOver = hosts[host].rest(seconds, now: attempt.moment.now)
            retry(attempt, cause, retryAfter: seconds)
            if isOver { close(host, cause, .unavailable(.pushback, .webPush)) }
        case .delivery(.retry(let cause)):
            let isHopeless = hosts[host].pushBack(at: attempt.moment)
            let least = cause == .throttled ? WebPushResponses.throttledSeconds : 0
            retry(attempt, cause, retryAfter: max(retryAfter ?? 0, least))
            if isHopeless { close(host, cause, .unavailable(.pushback, .webPush)) }
        case .ambiguous(let then, let fault): refuse(entry, host, then, .misconfigured(fault))
        case .failure(let failure): withholdOrComplete(entry, .retry(.unknownRefusal), failure)
        }
    }

    private mutating func accept(_ entry: Entry, _ host: Int) {
        let believed = hosts.accept(host)
        heldCount -= believed.count
        step.results += believed.map { $0.result(.invalid) }
        complete(entry, .accepted)
        if let witness = suspicion.accept() { step.results.append(witness) }
    }

    private mutating func refuse(
        _ entry: Entry, _ host: Int, _ then: Delivery, _ failure: GatewayFailure
    ) {
        hosts[host].work()
        if then == .invalid, hosts[host].hasAccepted {
            complete(entry, .invalid)
        } else if then == .invalid, heldCount < limits.held, hosts[host].end == nil {
            suspicion.record(failure)
            pending -= 1
            heldCount += 1
            hosts[host].hold(entry)
        } else {
            withholdOrComplete(entry, .retry(.unknownRefusal), failure)
        }
    }

    private mutating func judge(_ attempt: Attempt, _ error: FetchError) {
        switch error {
        case .tooLarge:
            // Of 2xx only.
            accept(attempt.entry, attempt.host)
        case .addressRefused, .invalidURL, .invalidField, .onionWithoutProxy:
            complete(attempt.entry, .retry(.endpointRefused))
        case .timeout, .unanswered: miss(attempt, cost: Self.timeoutCost)
        case .tls: miss(attempt, .misconfigured(.webPush(.untrusted)), lost: .refused)
        case .libraryMissing, .cancelled, .closed, .outOfResources, .keyRefused,
            .notEncapsulated:
            miss(attempt, lost: .refused)
        // libcurl-errors(3): 5 to 7, nothing was sent.
        case .network(code: 5...7): miss(attempt, lost: .refused)
        case .network, .truncated, .stopped, .protocolViolation: miss(attempt)
        }
    }

    private mutating func miss(
        _ attempt: Attempt, _ failure: GatewayFailure = .unavailable(.unreachable, .webPush),
        lost: AttemptFailure = .unknown, cost: Int? = nil
    ) {
        let host = attempt.host
        if lost == .unknown { step.uncertain += 1 }
        let isOver = hosts[host].fail(at: attempt.moment)
        guard isOver || hosts[host].end != nil else {
            return retry(attempt, .connectionFault, lost, cost: cost)
        }
        let cause = hosts[host].end ?? .connectionFault
        withholdOrComplete(attempt.entry, .retry(cause), failure)
        if isOver { close(host, .connectionFault, failure) }
    }

    private mutating func retry(
        _ attempt: Attempt, _ cause: RetryCause, _ failure: AttemptFailure = .refused,
        cost: Int? = nil, retryAfter: Int = 0
    ) {
        var entry = attempt.entry
        let delay = entry.fail(failure, retryAfter: retryAfter, cost: cost, at: attempt.moment)
        let end = hosts[attempt.host].end
        guard let delay, end == nil else { return complete(entry, .retry(end ?? cause)) }
        hosts[attempt.host].retry(entry, after: delay, now: attempt.moment.now)
        step.retried += 1
    }

    private mutating func complete(_ entry: Entry, _ delivery: Delivery) {
        pending -= 1
        step.results.append(entry.result(delivery))
    }

    private mutating func withholdOrComplete(
        _ entry: Entry, _ delivery: Delivery, _ failure: GatewayFailure
    ) {
        suspicion.record(failure)
        pending -= 1
        suspicion.withhold(entry.result(delivery), orAppendTo: &step.results)
    }

    private mutating func close(_ host: Int, _ cause: RetryCause, _ failure: GatewayFailure) {
        guard hosts[host].end == nil else { return }
        for entry in hosts[host].close(cause) { withholdOrComplete(entry, .retry(cause), failure) }
        disbelieve(host)
    }

    /// Deletes nothing that a host called gone that has accepted nothing.
    private mutating func disbelieve(_ host: Int) {
        let held = hosts[host].releaseHeld()
        heldCount -= held.count
        for entry in held {
            suspicion.withhold(entry.result(.retry(.unknownRefusal)), orAppendTo: &step.results)
        }
    }

    /// Milliseconds of failing after which a host that has accepted something may be given up.
    private static let patience: UInt64 = 30_000

    /// Keeps failing hosts below half of the window: gives up those that have accepted nothing
    /// first, then those that have failed for a while.
    private mutating func closeFailingHosts(now: UInt64) {
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
            close(host, .connectionFault, .unavailable(.unreachable, .webPush))
            total -= waiting
        }
    }

    /// Milliseconds for which a backlog is borne.
    private static let tolerance: UInt64 = 1000

    /// Gives back wake-ups of the hosts that have most, when they fill the window while a host that
    /// had some in this pass has none left. In the next pass those hosts are among themselves.
    private mutating func giveBackBacklog(now: UInt64) {
        guard !isFlushing, pending > limits.window / 2, flights.count < limits.total,
            hosts.isAnyIdle
        else { return backlogStart = nil }
        let start = backlogStart ?? now
        backlogStart = start
        guard now - start >= Self.tolerance else { return }
        let waiting = hosts.indices.filter { hosts[$0].waitingCount > limits.backlog }
        for host in waiting.sorted(by: { hosts[$0].waitingCount > hosts[$1].waitingCount })
        where pending > limits.window / 2 {
            giveBack(hosts[host].fallBehind(keeping: limits.backlog))
        }
    }

    private mutating func giveBack(_ entries: [Entry]) {
        pending -= entries.count
        step.deferred += entries.map(\.wakeUp.reference)
    }

    mutating func conclude() throws(GatewayFailure) -> [WakeUpResult] {
        guard isFlushing, pending == 0 else { return [] }
        if isFinal, let failure = suspicion.failure { throw failure }
        step = DeliveryStep()
        for host in hosts.indices where !hosts[host].held.isEmpty { disbelieve(host) }
        if let witness = suspicion.releaseWitness() { step.results.append(witness) }
        return step.results
    }

    // Every other wake-up has its result when a round ends in vain: it is left to the next one.
    mutating func end() -> DeliveryStep {
        DeliveryStep(results: suspicion.releaseWitness().map { [$0] } ?? [])
    }
}

/// The bounds of one session.
package struct WebPushLimits: Sendable {
    package init() {}

    var perHost = 64
    /// Requests in flight to all hosts.
    var total = 256
    /// Wake-ups without a result at most; those of failing hosts may be half of it.
    var window = 8192
    /// "Gone" that is held for want of evidence; more is not believed.
    var held = 4096
    var hosts = 16_384
    /// Milliseconds: a host that needs longer for an answer is slow.
    var slow: UInt64 = 2000

    /// Requests in flight to hosts that have accepted nothing, or are slow.
    var unproven: Int { max(1, total / 2) }
    /// Wake-ups that may wait for a host that is behind the others.
    var backlog: Int { max(1, window / 16) }
}

/// A wake-up on its way to a host.
struct WebPushFlight: Sendable {
    typealias Key = SlotMap<(host: Int, entry: RetryQueue.Entry, start: UInt64)>.Key

    let key: Key
    let host: [UInt8]
    /// Checked.
    let addresses: [IPAddress]
    let token: PushToken
}

enum WebPushOutcome: Sendable {
    case answered(status: Int, retryAfter: Int?)
    case failed(FetchError)

    var isAnswered: Bool {
        switch self {
        case .answered, .failed(.tooLarge): true
        case .failed: false
        }
    }
}

/// The fault of the gateway if nothing is accepted, and one result that waits for that.
private struct Suspicion: Sendable {
    private var hasAccepted = false
    private(set) var failure: GatewayFailure?
    private var witness: WakeUpResult?

    /// A fault that the operator can put right replaces one that may pass.
    mutating func record(_ failure: GatewayFailure) {
        guard !hasAccepted else { return }
        switch (self.failure, failure) {
        case (nil, _), (.unavailable, .misconfigured): self.failure = failure
        default: return
        }
    }

    mutating func withhold(_ result: WakeUpResult, orAppendTo results: inout [WakeUpResult]) {
        if hasAccepted || witness != nil { results.append(result) } else { witness = result }
    }

    mutating func releaseWitness() -> WakeUpResult? {
        defer { witness = nil }
        return witness
    }

    mutating func accept() -> WakeUpResult? {
        hasAccepted = true
        failure = nil
        return releaseWitness()
    }
}
