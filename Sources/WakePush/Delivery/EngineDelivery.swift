import WakeModel
import WakeSystem

/// The delivery of a gateway that uses the engine: pace, concurrency limit and breaker make
/// batches; outcomes go through the response table and the provisional answers of their connection.
struct EngineDelivery<Service: EngineService>: DeliveryState {
    private let service: Service
    private var queue = RetryQueue()
    /// Wake-ups with the engine, by the reference that the engine gives back.
    private var flights = SlotMap<RetryQueue.Entry>()
    private var limiter: ConcurrencyLimiter
    private var breaker = ServiceBreaker()
    private var pace: RampedTokenBucket?
    private var provisional: [UInt32: ProvisionalAnswers<RetryQueue.Entry>] = [:]
    private var step = DeliveryStep()
    private var hasAccepted = false
    /// The fault of the gateway if nothing at all is accepted.
    private var suspicion: Misconfiguration?
    private var isFlushing = false
    private var isFinal = false
    private var isQuiescent = false

    init(_ service: Service) {
        self.service = service
        limiter = ConcurrencyLimiter(most: service.window)
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
        let size = min(limiter.size, breaker.allowance(now: now) ?? limiter.size)
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
            let key = flights.insert { _ in entry }
            var form = entry.wakeUp.token.bytes.withSpan {
                entry.refusal == nil ? Service.form($0) : Service.otherForm($0)
            }
            batch.append(form, reference: key.rawValue)
            form.wipe()
        }
        return batch
    }

    mutating func receive(_ outcomes: PushOutcomes, at moment: DeliveryMoment) -> DeliveryStep {
        step = DeliveryStep()
        do throws(GatewayFailure) {
            limiter.complete(outcomes.results.count, now: moment.now)
            for result in outcomes.results { try receive(result, outcomes, moment) }
        } catch { return DeliveryStep(failure: error) }
        for connection in outcomes.ended {
            guard var ended = provisional.removeValue(forKey: connection) else { continue }
            for held in ended.disconnect() {
                complete(held.item, held.delivery, Attempt(moment: moment))
            }
        }
        return step
    }

    private struct Attempt {
        var isRetrySafe = false
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
            let bytes = outcomes.bytes(of: body)
            var verdict = Service.verdict(status: Int(status), body: bytes.span)
            if let refusal = entry.refusal {
                // The other form is only asked whether it works.
                if !verdict.isAcceptedOrRetried { verdict = refusal }
            } else if Service.blamesForm(verdict) {
                entry.refusal = verdict
                queue.append(entry)
                step.retried += 1
                return
            }
            let delivery = try provisional[result.connection, default: ProvisionalAnswers()]
                .judge(verdict, of: entry)
            guard let delivery else { return }
            let attempt = Attempt(retryAfter: Int(retryAfter), moment: moment)
            complete(entry, delivery, attempt)
            if delivery == .accepted { accept(result.connection, attempt) }
        case .retry(let isSafe):
            let attempt = Attempt(isRetrySafe: isSafe, moment: moment)
            complete(entry, .retry(.connectionFault), attempt)
        case .failed(let failure): throw GatewayFailure(failure, service.service)
        }
    }

    private mutating func accept(_ connection: UInt32, _ attempt: Attempt) {
        hasAccepted = true
        guard let believed = provisional[connection]?.accept(), !believed.isEmpty else { return }
        for held in believed { complete(held.item, held.delivery, attempt) }
    }

    private mutating func complete(
        _ entry: RetryQueue.Entry, _ delivery: Delivery, _ attempt: Attempt
    ) {
        switch delivery {
        case .accepted:
            step.feedback.insert(.worked)
            breaker.succeed()
        case .gone: breaker.succeed()
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
        case .connectionFault where attempt.isRetrySafe: breaker.failUnseen(now: attempt.moment.now)
        case .throttled, .serviceFault, .connectionFault: breaker.fail(at: attempt.moment)
        case .providerTokenExpired: step.feedback.insert(.expired)
        case .providerTokenUpdates: step.feedback.insert(.tooManyUpdates)
        case .unknownRefusal, .endpointRefused: break
        }
    }

    /// Queues the next attempt; false when the wake-up is to be given up.
    private mutating func retry(
        _ entry: RetryQueue.Entry, _ cause: RetryCause, _ attempt: Attempt
    ) -> Bool {
        var entry = entry
        entry.spent += RetryPolicy.cost(isRetrySafe: attempt.isRetrySafe)
        let delay = RetryPolicy.delay(
            spent: entry.spent, isRetrySafe: attempt.isRetrySafe,
            retryAfter: max(attempt.retryAfter, Service.leastWait(after: cause)),
            jitter: attempt.moment.jitter)
        guard let delay else { return false }
        queue.append(entry, after: delay, now: attempt.moment.now)
        return true
    }

    mutating func conclude() throws(GatewayFailure) -> [WakeUpResult] {
        guard isFlushing, queue.isEmpty, flights.count == 0 else { return [] }
        var results: [WakeUpResult] = []
        for connection in provisional.keys {
            let rest = provisional[connection]?.giveUp()
            if let fault = rest?.suspicion { suspicion = fault }
            results += (rest?.decisions ?? []).map { $0.item.result($0.delivery) }
        }
        if isFinal, !hasAccepted, let suspicion { throw .misconfigured(suspicion) }
        return results
    }
}

/// Ambiguous answers of one connection: they blame one push token for what a wrong configuration
/// would cause as well. They are held until the connection accepts a wake-up. When too many are
/// held, or nothing is accepted in the round, the gateway is at fault.
package struct ProvisionalAnswers<Item: Sendable>: Sendable {
    package typealias Decision = (item: Item, delivery: Delivery)

    /// The most answers that are held: more refusals in a row are no coincidence.
    private let limit: Int
    private var hasAccepted = false
    private var held: [(item: Item, then: Delivery, or: Misconfiguration)] = []

    package init(limit: Int = 64) {
        precondition(limit > 0)
        self.limit = limit
    }

    package var isEmpty: Bool { held.isEmpty }

    /// Records an accepted wake-up; returns what was held, which is believed now.
    package mutating func accept() -> [Decision] {
        hasAccepted = true
        guard !held.isEmpty else { return [] }
        defer { held = [] }
        return held.map { ($0.item, $0.then) }
    }

    /// The meaning of an answer; nil while that is not known.
    package mutating func judge(
        _ verdict: Verdict, of item: Item
    ) throws(GatewayFailure) -> Delivery? {
        switch verdict {
        case .delivery(let delivery): return delivery
        case .failure(let failure): throw failure
        case .ambiguous(let then, let or):
            if hasAccepted { return then }
            held.append((item, then, or))
            guard held.count < limit else { throw .misconfigured(or) }
            return nil
        }
    }

    /// Ends the connection: what is held is tried again.
    package mutating func disconnect() -> [Decision] {
        defer { self = Self(limit: limit) }
        return held.map { ($0.item, .retry(.connectionFault)) }
    }

    /// Gives up what is held. The suspicion holds if no other connection accepts anything.
    package mutating func giveUp() -> (decisions: [Decision], suspicion: Misconfiguration?) {
        defer { held = [] }
        return (held.map { ($0.item, .retry(.unknownRefusal)) }, held.first?.or)
    }
}

extension GatewayFailure {
    fileprivate init(_ failure: PushFailure, _ service: PushService) {
        switch failure {
        case .connection(let fault): self = .misconfigured(.connection(fault, service))
        case .unknownHost: self = .unavailable(.unknownHost, service)
        // Only a session that has ended cancels its engine.
        case .unreachable, .cancelled: self = .unavailable(.unreachable, service)
        }
    }
}
