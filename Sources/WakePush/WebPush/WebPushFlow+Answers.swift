import WakeFetch
import WakeModel

/// What comes back, and what it means for a wake-up and for its host.
extension WebPushFlow {
    /// What a request costs a wake-up that was not answered in time, see ``RetryPolicy``: four
    /// such are enough.
    private static let timeoutCost = 30

    /// How a request ended.
    enum Outcome {
        case answered(status: Int, retryAfter: Int?)
        case failed(FetchError)
    }

    /// The moment, and a number from 0 to 1 for jitter.
    struct Moment {
        let now: UInt64
        let chance: Double
    }

    mutating func take(_ number: UInt64, _ outcome: Outcome, at moment: Moment) -> Step {
        var step = Step()
        let (host, entry) = land(number)
        switch outcome {
        case .answered(let status, let retryAfter):
            hosts[host].answered()
            let verdict = WebPushAnswers.verdict(status: status)
            judge(entry, host, verdict, retryAfter ?? 0, moment, &step)
        case .failed(let error): judge(entry, host, error, moment, &step)
        }
        return step
    }

    private mutating func judge(
        _ entry: Entry, _ host: Int, _ verdict: Verdict, _ retryAfter: Int, _ moment: Moment,
        _ step: inout Step
    ) {
        switch verdict {
        case .delivery(.accepted): accept(entry, host, &step)
        case .delivery(.gone):
            guard hosts[host].believesGone() else {
                let fault = GatewayFailure.misconfigured(.webPush(.endpointsUnknown))
                return refuse(entry, host, .gone, fault, &step)
            }
            hosts[host].pushback.worked()
            settle(entry, .gone, &step)
        case .delivery(.retry(let cause)):
            hosts[host].pushback.refused(now: moment.now, chance: moment.chance)
            let least = cause == .throttled ? WebPushAnswers.throttledSeconds : 0
            tryAgain(
                entry, host, cause, cost: RetryPolicy.cost(isUnseen: false),
                retryAfter: max(retryAfter, least), moment, &step)
            if hosts[host].pushback.isHopeless(now: moment.now) {
                end(host, as: cause, .unavailable(.pushback, .webPush), &step)
            }
        case .unproven(let then, let fault):
            refuse(entry, host, then, .misconfigured(fault), &step)
        case .failure(let failure):
            suspectOrSettle(entry, .retry(.unknownRefusal), failure, &step)
        }
    }

    private mutating func accept(_ entry: Entry, _ host: Int, _ step: inout Step) {
        if !hosts[host].hasAccepted {
            // Its requests are no longer of those that share the half.
            unprovenInFlight -= hosts[host].inFlight
            for _ in 0...hosts[host].inFlight { letUnprovenOn() }
            hosts[host].accepted()
            heldCount -= hosts[host].held.count
            for held in hosts[host].held { step.settled.append(SettledWakeUp(held, .gone)) }
            hosts[host].held = []
        }
        hosts[host].accepted()
        settle(entry, .accepted, &step)
        hasAccepted = true
        clearSuspect(&step)
    }

    private mutating func refuse(
        _ entry: Entry, _ host: Int, _ then: Delivery, _ failure: GatewayFailure,
        _ step: inout Step
    ) {
        // It does its work, only not for this one.
        hosts[host].pushback.worked()
        if then == .gone, hosts[host].hasAccepted {
            settle(entry, .gone, &step)
        } else if then == .gone, heldCount < bounds.held, hosts[host].end == nil {
            suspect(failure)
            hold(entry, host)
        } else {
            suspectOrSettle(entry, .retry(.unknownRefusal), failure, &step)
        }
        if hosts[host].refused() { end(host, as: .unknownRefusal, failure, &step) }
    }

    private mutating func judge(
        _ entry: Entry, _ host: Int, _ error: FetchError, _ moment: Moment, _ step: inout Step
    ) {
        switch error {
        case .tooLarge:
            // Said of 2xx only: what was accepted is accepted, whatever else is said.
            hosts[host].answered()
            accept(entry, host, &step)
        case .addressRefused, .invalidURL, .invalidField, .onionWithoutProxy:
            settle(entry, .retry(.endpointRefused), &step)
        case .timeout: miss(entry, host, nil, cost: Self.timeoutCost, moment, &step)
        case .tls:
            miss(
                entry, host, .misconfigured(.webPush(.untrusted)),
                cost: RetryPolicy.cost(isUnseen: false), moment, &step)
        case .libraryMissing, .network, .truncated, .stopped, .cancelled, .closed,
            .outOfResources, .protocolViolation:
            miss(
                entry, host, nil, cost: RetryPolicy.cost(isUnseen: false), moment, &step)
        }
    }

    /// A request came to nothing.
    private mutating func miss(
        _ entry: Entry, _ host: Int, _ failure: GatewayFailure?, cost: Int, _ moment: Moment,
        _ step: inout Step
    ) {
        hosts[host].shrink()
        let isOver = hosts[host].circuit.failed(
            isProven: hosts[host].hasAccepted, now: moment.now, chance: moment.chance)
        let failure = failure ?? .unavailable(.unreachable, .webPush)
        if isOver || hosts[host].end != nil {
            suspectOrSettle(entry, .retry(hosts[host].end ?? .connectionFault), failure, &step)
            if isOver { end(host, as: .connectionFault, failure, &step) }
            return
        }
        tryAgain(
            entry, host, .connectionFault, cost: cost, retryAfter: 0, moment, &step)
    }

    private mutating func tryAgain(
        _ entry: Entry, _ host: Int, _ cause: RetryCause, cost: Int, retryAfter: Int,
        _ moment: Moment, _ step: inout Step
    ) {
        var entry = entry
        entry.spent += cost
        let delay = RetryPolicy.delay(
            spent: entry.spent, isUnseen: false, retryAfter: retryAfter, chance: moment.chance)
        guard let delay, hosts[host].end == nil else {
            return settle(entry, .retry(hosts[host].end ?? cause), &step)
        }
        hosts[host].add(entry, due: moment.now + delay)
        step.retried += 1
    }
}
