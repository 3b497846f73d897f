import WakeModel
import WakeSystem

/// The delivery of a gateway that uses the engine: pace, concurrency limit and breaker make
/// batches; outcomes go through the response table, and refusals of push tokens wait for evidence.
struct EngineDelivery<Service: EngineService>: DeliveryState {
    private let service: Service
    private var queue = RetryQueue()
    /// Wake-ups with the engine, by the reference that the engine gives back.
    private var flights = SlotMap<RetryQueue.Entry>()
    private var limiter: ConcurrencyLimiter
    private var breaker = ServiceBreaker()
    private var pace: RampedTokenBucket?
    private var refusals = ProvisionalAnswers<RetryQueue.Entry>()
    /// Refusals of the form of a push token that goes in its other one, by the wake-up's reference.
    private var blamed: [Int: Verdict] = [:]
    /// Answers in a row that blame the gateway.
    private var faultsInRow = 0
    /// The last answers refused the provider token.
    private var isTokenDoubted = false
    private var step = DeliveryStep()
    private var isFlushing = false
    private var isFinal = false
    private var isQuiescent = false

    /// Answers in a row that blame the gateway and stop it: single ones come from a front of the
    /// push service that is out of step with the others.
    private static var faultLimit: Int { 5 }
    /// Wake-ups in flight while the provider token is in doubt.
    private static var doubtfulSize: Int { 8 }

    init(_ service: Service) {
        self.service = service
        limiter = ConcurrencyLimiter(most: service.concurrency)
        pace = service.perMinute.map { RampedTokenBucket(perMinute: $0) }
    }

    var inFlight: Int { flights.count }

    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> DeliveryStep {
        isFlushing = false
        queue.append(wakeUps)
        return DeliveryStep()
    }

    mutating func flush(isFinal: Bool) {
        isFlushing = true
        if isFinal { self.isFinal = true }
    }

    mutating func quiesce() { isQuiescent = true }

    mutating func advance(now: UInt64) throws(GatewayFailure) {
        if breaker.isHopeless(now: now) { throw .unavailable(.pushback, service.service) }
        queue.advance(now: now)
    }

    mutating func next(now: UInt64) -> PushBatch? {
        var size = min(limiter.size, breaker.allowance(now: now) ?? limiter.size)
        if isTokenDoubted { size = min(size, Self.doubtfulSize) }
        let room = min(queue.readyCount, size - flights.count)
        if room < queue.readyCount { limiter.fill() }
        let count = min(room, pace?.allowance(now: now) ?? room)
        let enough = min(size / 4, pace?.parcel ?? size)
        // Large batches, to share the cost of a batch.
        guard !isQuiescent, count > 0,
            count == queue.readyCount || count >= enough || flights.count == 0
        else { return nil }
        pace?.spend(count)
        return batch(count)
    }

    private mutating func batch(_ count: Int) -> PushBatch {
        var batch = PushBatch(capacity: count, tokenBytes: Service.tokenBytes)
        for _ in 0..<count {
            guard let entry = queue.popFirst() else { break }
            batch.append(reference: flights.nextKey.rawValue) { text in
                entry.wakeUp.token.bytes.withSpan { token in
                    Service.append(token, inOtherForm: entry.isInOtherForm, to: &text)
                }
            }
            _ = flights.insert { _ in entry }
        }
        return batch
    }

    mutating func receive(_ outcomes: PushOutcomes, at moment: DeliveryMoment) -> DeliveryStep {
        step = DeliveryStep()
        step.results.reserveCapacity(outcomes.results.count)
        limiter.complete(outcomes.results.count(where: \.isServed), now: moment.now)
        for result in outcomes.results {
            do throws(GatewayFailure) {
                try receive(result, outcomes, moment)
            } catch {
                // What the same batch says about others stays true.
                step.failure = step.failure ?? error
            }
        }
        if !step.feedback.isEmpty { isTokenDoubted = step.feedback.isRefusal }
        return step
    }

    private struct Attempt {
        var failure = AttemptFailure.refused
        var retryAfter = 0
        let moment: DeliveryMoment
    }

    private mutating func receive(
        _ result: PushResult, _ outcomes: PushOutcomes, _ moment: DeliveryMoment
    ) throws(GatewayFailure) {
        guard var entry = flights.remove(SlotMap.Key(rawValue: result.reference)) else {
            preconditionFailure("an outcome of what is not in flight")
        }
        switch result.outcome {
        case .answered(let status, let retryAfter, let body):
            var verdict =
                body.count == 0
                ? Service.verdict(status: Int(status), body: Span())
                : Service.verdict(status: Int(status), body: outcomes.bytes(of: body).span)
            if entry.isInOtherForm {
                // The other form is only asked whether it works.
                if let refusal = blamed[entry.wakeUp.reference], !verdict.isAcceptedOrRetried {
                    verdict = refusal
                }
                if !verdict.isRetried { blamed[entry.wakeUp.reference] = nil }
            } else if Service.blamesForm(verdict) {
                entry.isInOtherForm = true
                blamed[entry.wakeUp.reference] = verdict
                queue.append(entry)
                step.retried += 1
                return
            }
            let attempt = Attempt(retryAfter: Int(retryAfter), moment: moment)
            try judge(verdict, of: entry, attempt)
        case .retry(let failure):
            let attempt = Attempt(failure: failure, moment: moment)
            complete(entry, .retry(.connectionFault), attempt)
        case .failed(let failure):
            if entry.mayHaveArrived { step.results.append(entry.result(.retry(.connectionFault))) }
            throw GatewayFailure(failure, service.service)
        }
    }

    private mutating func judge(
        _ verdict: Verdict, of entry: RetryQueue.Entry, _ attempt: Attempt
    ) throws(GatewayFailure) {
        switch verdict {
        case .delivery(let delivery):
            complete(entry, delivery, attempt)
            guard delivery == .accepted else { return }
            faultsInRow = 0
            for (entry, delivery) in refusals.accept() { complete(entry, delivery, attempt) }
        case .ambiguous(let then, let or):
            for (entry, delivery) in refusals.add(entry, then: then, or: or) {
                complete(entry, delivery, attempt)
            }
        case .failure(let failure):
            faultsInRow += 1
            guard faultsInRow < Self.faultLimit else { throw failure }
            complete(entry, .retry(.gatewayBlamed), attempt)
        }
    }

    private mutating func complete(
        _ entry: RetryQueue.Entry, _ delivery: Delivery, _ attempt: Attempt
    ) {
        switch delivery {
        case .accepted:
            step.feedback.accept()
            breaker.succeed()
        case .gone, .invalid: breaker.succeed()
        case .retry(let cause):
            record(cause, attempt)
            // Trying again at once would get the same answer.
            let isDefinite = cause == .unknownRefusal || cause == .endpointRefused
            if !isDefinite, retry(entry, cause, attempt) {
                step.retried += 1
                return
            }
        }
        step.results.append(entry.result(delivery))
    }

    private mutating func record(_ cause: RetryCause, _ attempt: Attempt) {
        switch cause {
        case .connectionFault where attempt.failure == .unsent:
            breaker.failUnseen(now: attempt.moment.now)
        case .throttled, .serviceFault, .connectionFault: breaker.fail(at: attempt.moment)
        case .providerTokenExpired: step.feedback.expired += 1
        case .providerTokenUpdates: step.feedback.tooManyUpdates += 1
        case .unknownRefusal, .endpointRefused, .gatewayBlamed, .superseded, .hourlyLimit:
            break
        }
    }

    /// Queues the next attempt; false when the wake-up is to be given up.
    private mutating func retry(
        _ entry: RetryQueue.Entry, _ cause: RetryCause, _ attempt: Attempt
    ) -> Bool {
        // The token provider pauses, for every wake-up.
        if cause == .providerTokenUpdates {
            queue.append(entry)
            return true
        }
        var entry = entry
        if attempt.failure == .unknown { step.uncertain += 1 }
        let delay = entry.fail(
            attempt.failure, retryAfter: max(attempt.retryAfter, Service.leastWait(after: cause)),
            at: attempt.moment)
        guard let delay else { return false }
        queue.append(entry, after: delay, now: attempt.moment.now)
        return true
    }

    mutating func conclude() throws(GatewayFailure) -> [WakeUpResult] {
        guard isFlushing, queue.isEmpty, flights.count == 0 else { return [] }
        let (rest, suspicion) = refusals.giveUp()
        if isFinal, let suspicion, refusals.count >= service.suspiciousRefusals {
            throw .misconfigured(suspicion)
        }
        return rest.map { $0.result(.retry(.unknownRefusal)) }
    }

    mutating func end() -> DeliveryStep {
        let sent = flights.keys.compactMap { flights.remove($0) }
        let waiting = queue.removeAll().filter(\.mayHaveArrived)
        var step = DeliveryStep(
            results: (sent + waiting).map { $0.result(.retry(.connectionFault)) })
        step.uncertain = sent.count
        return step
    }
}

/// Refusals that blame a push token for what a wrong configuration would cause as well. They are
/// held until the gateway has accepted another wake-up of the round, and then believed. Their
/// number says nothing: anybody may register tokens that are none.
package struct ProvisionalAnswers<Item: Sendable>: Sendable {
    package typealias Decision = (item: Item, delivery: Delivery)

    /// The most answers that are held; beyond it the oldest is given up for the round.
    package static var limit: Int { 4096 }

    private var hasAccepted = false
    private var held = Deque<(item: Item, then: Delivery, or: Misconfiguration)>()
    /// Refusals while nothing was accepted.
    package private(set) var count = 0
    private var suspicion: Misconfiguration?

    package init() {}

    /// Records an accepted wake-up; returns what was held, which is believed now.
    package mutating func accept() -> [Decision] {
        hasAccepted = true
        suspicion = nil
        guard !held.isEmpty else { return [] }
        defer { held = Deque() }
        return held.contents.map { ($0.item, $0.then) }
    }

    /// Takes a refusal: what it means once others were accepted, and if none is.
    /// - Returns: what is decided now.
    package mutating func add(
        _ item: Item, then: Delivery, or: Misconfiguration
    ) -> [Decision] {
        if hasAccepted { return [(item, then)] }
        count += 1
        suspicion = suspicion ?? or
        held.append((item, then, or))
        guard held.count > Self.limit, let oldest = held.popFirst() else { return [] }
        return [(oldest.item, .retry(.unknownRefusal))]
    }

    /// Gives up what is held.
    /// - Returns: also the fault of the gateway, unless it has accepted anything.
    package mutating func giveUp() -> (items: [Item], suspicion: Misconfiguration?) {
        defer { held = Deque() }
        return (held.contents.map(\.item), suspicion)
    }
}

extension GatewayFailure {
    fileprivate init(_ failure: PushFailure, _ service: PushService) {
        switch failure {
        case .connection(let fault): self = .misconfigured(.connection(fault, service))
        case .unknownHost: self = .unavailable(.unknownHost, service)
        case .closed(let reason): self = .unavailable(.closed(reason), service)
        // Only a session that has ended cancels its engine.
        case .unreachable, .cancelled: self = .unavailable(.unreachable, service)
        }
    }
}
