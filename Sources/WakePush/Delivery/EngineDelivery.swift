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
        // Large batches: the cost of a batch is shared by its wake-ups.
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
            var form = entry.wakeUp.token.bytes.withSpan { Service.form($0) }
            batch.append(form, reference: key.rawValue)
            form.wipe()
        }
        return batch
    }

    mutating func receive(_ outcomes: PushOutcomes, at moment: DeliveryMoment) -> DeliveryStep {
        var step = DeliveryStep()
        do throws(GatewayFailure) {
            limiter.complete(outcomes.results.count, now: moment.now)
            for result in outcomes.results { try receive(result, outcomes, moment, &step) }
        } catch { return DeliveryStep(failure: error) }
        for connection in outcomes.ended {
            guard var ended = provisional.removeValue(forKey: connection) else { continue }
            for held in ended.disconnect() {
                settle(held.item, held.delivery, Attempt(moment: moment), &step)
            }
        }
        return step
    }

    /// An attempt that came to its end.
    private struct Attempt {
        var isRetrySafe = false
        var retryAfter = 0
        let moment: DeliveryMoment
    }

    private mutating func receive(
        _ result: PushResult, _ outcomes: PushOutcomes, _ moment: DeliveryMoment,
        _ step: inout DeliveryStep
    ) throws(GatewayFailure) {
        guard let entry = flights.remove(SlotMap.Key(rawValue: result.reference)) else {
            preconditionFailure("an outcome of what is not in flight")
        }
        switch result.outcome {
        case .answered(let status, let retryAfter, let body):
            let bytes = outcomes.bytes(of: body)
            let verdict = Service.verdict(status: Int(status), body: bytes.span)
            let delivery = try provisional[result.connection, default: ProvisionalAnswers()]
                .judge(verdict, of: entry)
            guard let delivery else { return }
            let attempt = Attempt(retryAfter: Int(retryAfter), moment: moment)
            settle(entry, delivery, attempt, &step)
            if delivery == .accepted { accept(result.connection, attempt, &step) }
        case .retry(let isSafe):
            let attempt = Attempt(isRetrySafe: isSafe, moment: moment)
            settle(entry, .retry(.connectionFault), attempt, &step)
        case .failed(let failure): throw GatewayFailure(failure, service.service)
        }
    }

    private mutating func accept(
        _ connection: UInt32, _ attempt: Attempt, _ step: inout DeliveryStep
    ) {
        hasAccepted = true
        guard let believed = provisional[connection]?.accept(), !believed.isEmpty else { return }
        for held in believed { settle(held.item, held.delivery, attempt, &step) }
    }

    private mutating func settle(
        _ entry: RetryQueue.Entry, _ delivery: Delivery, _ attempt: Attempt,
        _ step: inout DeliveryStep
    ) {
        switch delivery {
        case .accepted:
            step.feedback.insert(.worked)
            breaker.succeed()
        case .gone: breaker.succeed()
        case .retry(let cause):
            record(cause, attempt, &step)
            // A definite answer: a moment later the same question would get the same one.
            let isDefinite = cause == .unknownRefusal || cause == .endpointRefused
            var attempt = attempt
            attempt.retryAfter = max(attempt.retryAfter, Service.leastWait(after: cause))
            if !isDefinite, retry(entry, attempt) {
                step.retried += 1
                return
            }
        }
        step.settled.append(SettledWakeUp(entry, delivery))
    }

    private mutating func record(
        _ cause: RetryCause, _ attempt: Attempt, _ step: inout DeliveryStep
    ) {
        switch cause {
        case .connectionFault where attempt.isRetrySafe: breaker.failUnseen(now: attempt.moment.now)
        case .throttled, .serviceFault, .connectionFault: breaker.fail(at: attempt.moment)
        case .providerTokenExpired: step.feedback.insert(.expired)
        case .providerTokenUpdates: step.feedback.insert(.tooManyUpdates)
        case .unknownRefusal, .endpointRefused: break
        }
    }

    private mutating func retry(_ entry: RetryQueue.Entry, _ attempt: Attempt) -> Bool {
        var entry = entry
        entry.spent += RetryPolicy.cost(isRetrySafe: attempt.isRetrySafe)
        let delay = RetryPolicy.delay(
            spent: entry.spent, isRetrySafe: attempt.isRetrySafe, retryAfter: attempt.retryAfter,
            jitter: attempt.moment.jitter)
        guard let delay else { return false }
        queue.append(entry, after: delay, now: attempt.moment.now)
        return true
    }

    mutating func conclude() throws(GatewayFailure) -> [SettledWakeUp] {
        guard isFlushing, queue.isEmpty, flights.count == 0 else { return [] }
        var settled: [SettledWakeUp] = []
        for connection in provisional.keys {
            let rest = provisional[connection]?.giveUp()
            if let fault = rest?.suspicion { suspicion = fault }
            settled += (rest?.settled ?? []).map { SettledWakeUp($0.item, $0.delivery) }
        }
        if isFinal, !hasAccepted, let suspicion { throw .misconfigured(suspicion) }
        return settled
    }
}

/// Ambiguous answers of one connection: they blame one push token for what a wrong configuration
/// would cause as well. They are held until the connection accepts a wake-up. When too many are
/// held, or nothing is accepted until the end of the round, the gateway is at fault.
package struct ProvisionalAnswers<Item: Sendable>: Sendable {
    package typealias Settled = (item: Item, delivery: Delivery)

    /// The most answers that are held: a larger number of refusals in a row is no coincidence.
    private let limit: Int
    private var hasAccepted = false
    private var held: [(item: Item, then: Delivery, or: Misconfiguration)] = []

    package init(limit: Int = 64) {
        precondition(limit > 0)
        self.limit = limit
    }

    package var isEmpty: Bool { held.isEmpty }

    /// Records that the connection accepted a wake-up; returns what was held, which is believed.
    package mutating func accept() -> [Settled] {
        hasAccepted = true
        guard !held.isEmpty else { return [] }
        defer { held = [] }
        return held.map { ($0.item, $0.then) }
    }

    /// The delivery that an answer means now; nil while that is not known.
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

    /// Ends with the connection: what is held is tried again.
    package mutating func disconnect() -> [Settled] {
        defer { self = Self(limit: limit) }
        return held.map { ($0.item, .retry(.connectionFault)) }
    }

    /// Leaves what is held undecided. The suspicion holds if no other connection accepts anything.
    package mutating func giveUp() -> (settled: [Settled], suspicion: Misconfiguration?) {
        defer { held = [] }
        return (held.map { ($0.item, .retry(.unknownRefusal)) }, held.first?.or)
    }
}

extension GatewayFailure {
    fileprivate init(_ failure: PushFailure, _ service: PushService) {
        switch failure {
        case .certificate(let number):
            self = .misconfigured(.connection(.certificate(number), service))
        case .handshake: self = .misconfigured(.connection(.handshake, service))
        case .noHTTP2: self = .misconfigured(.connection(.noHTTP2, service))
        case .unknownHost: self = .unavailable(.unknownHost, service)
        // The engine is cancelled by its session only, which listens no more.
        case .unreachable, .cancelled: self = .unavailable(.unreachable, service)
        }
    }
}

extension SettledWakeUp {
    package init(_ entry: RetryQueue.Entry, _ delivery: Delivery) {
        self.init(reference: entry.wakeUp.reference, delivery: delivery)
    }
}
