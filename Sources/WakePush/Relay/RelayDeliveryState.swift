import WakeModel
import WakeSystem

/// The state machine of a session with a relay. A relay that is away is waited for: it is asked
/// with requests without a wake-up, so that none of them uses up its one repetition.
struct RelayDeliveryState: DeliveryState {
    typealias Entry = RetryQueue.Entry

    typealias Action = (request: UInt32, entries: [Entry])

    enum Event {
        case lines(UInt32, [UInt8])
        case ended(UInt32, RelayResult)
    }

    private struct Request {
        var response: RelayResponse
        let entries: [Entry]
    }

    private let service: PushService
    private var queue = RetryQueue()
    private var requests: [UInt32: Request] = [:]
    private var lastRequest: UInt32 = 0
    private(set) var inFlight = 0
    private var backoff = RelayBackoff()
    /// The time since which the relay does nothing but refuse new requests as stale.
    private var staleSince: UInt64?
    /// The time since which the first ready wake-up waits for others.
    private var waitsSince: UInt64?
    private var isFlushing = false
    private var isQuiescent = false
    /// Set once the relay's gateway has stopped: the end, when the other requests have their lines.
    private var stop: GatewayFailure?

    /// Seconds between clocks that explain a stale request; with less, the relay has just started
    /// and refuses requests that the former one may have seen (``ReplayGuard``).
    private static let clockTolerance = 2 * SignatureWindow.ahead
    /// Milliseconds within which a relay that has just started accepts requests.
    private static let startTolerance: UInt64 = 30_000
    /// Milliseconds that wake-ups wait for others to fill a request.
    private static let gathering: UInt64 = 1000
    /// Seconds between two requests to a relay that has just started.
    private static let startPause = 3

    init(_ service: PushService) { self.service = service }

    // No answer is ambiguous here: the relay's gateway has resolved those.
    mutating func flush(isFinal: Bool) { isFlushing = true }
    mutating func quiesce() { isQuiescent = true }

    mutating func add(_ wakeUps: [WakeUp], now: UInt64) -> DeliveryStep {
        isFlushing = false
        queue.append(wakeUps)
        return DeliveryStep()
    }

    mutating func advance(now: UInt64) {}

    var delay: GatewayFailure? { backoff.reason.map { .unavailable($0, service) } }

    mutating func next(now: UInt64) -> Action? {
        queue.advance(now: now)
        guard queue.readyCount > 0 else {
            waitsSince = nil
            return nil
        }
        let since = waitsSince ?? now
        waitsSince = since
        guard !isQuiescent, stop == nil, now >= backoff.until, requests.count < backoff.requests
        else { return nil }
        let most = backoff.wakes
        let tokens = (0..<min(queue.readyCount, most)).lazy.map {
            [queue] in queue.readyEntry($0).wakeUp.token
        }
        let count = RelayBatch.count(of: tokens)
        let isFull = count == most || count < queue.readyCount
        // Large batches: a request costs the same for one wake-up as for a thousand.
        guard isFull || isFlushing || now - since >= Self.gathering else { return nil }
        waitsSince = nil
        let entries = (0..<count).compactMap { _ in queue.popFirst() }
        lastRequest &+= 1
        inFlight += count
        requests[lastRequest] = Request(
            response: RelayResponse(count: count, service: service), entries: entries)
        return (lastRequest, entries)
    }

    mutating func receive(_ event: Event, at moment: DeliveryMoment) -> DeliveryStep {
        switch event {
        case .lines(let request, let bytes): return read(bytes.span, of: request, at: moment)
        case .ended(let request, let result):
            var step = ended(request, result, at: moment)
            if requests.isEmpty, step.failure == nil { step.failure = stop }
            return step
        }
    }

    private mutating func read(
        _ bytes: Span<UInt8>, of request: UInt32, at moment: DeliveryMoment
    ) -> DeliveryStep {
        var step = DeliveryStep()
        var lines: [RelayLine] = []
        do throws(RelayResponseError) {
            try requests[request]?.response.read(bytes) { lines.append($0) }
        } catch { step.isBroken = true }
        if !lines.isEmpty { backoff.answered(withDelivery: lines.contains(where: \.isOfWakeUp)) }
        for line in lines where step.failure == nil {
            switch line {
            case .delivery(let wake, let delivery):
                guard let entry = requests[request]?.entries[wake] else { continue }
                inFlight -= 1
                switch delivery {
                case .retry(.connectionFault): repeatLater(entry, at: moment, &step)
                case .accepted, .gone, .invalid, .retry: step.results.append(entry.result(delivery))
                }
            case .stopped(_, let stop):
                self.stop = failure(stop)
                // The relay has sent none of the rest.
                for entry in takeMissing(of: request) { queue.append(entry) }
                if requests.isEmpty { step.failure = self.stop }
            case .done: break
            }
        }
        return step
    }

    /// Removes a request and returns its wake-ups without a line.
    private mutating func takeMissing(of request: UInt32) -> [Entry] {
        guard let ended = requests.removeValue(forKey: request) else { return [] }
        let left = ended.response.missing.map { ended.entries[$0] }
        inFlight -= left.count
        return left
    }

    /// Ends a request: wake-ups without a line are tried again.
    private mutating func ended(
        _ request: UInt32, _ result: RelayResult, at moment: DeliveryMoment
    ) -> DeliveryStep {
        guard let response = requests[request]?.response else { return DeliveryStep() }
        let left = takeMissing(of: request)
        let (now, random) = (moment.now, moment.jitter)
        var step = DeliveryStep()
        if case .refused(.stale) = result {} else { staleSince = nil }
        var mayHaveArrived = false
        switch result {
        case .completed, .interrupted, .refused(.replayed):
            mayHaveArrived = true
            if response.isAnswered { break }
            backoff.fail(.relayFailing, mayHaveArrived: true, now: now, random: random)
        case .unconnected(let isUnknownHost):
            backoff.fail(
                isUnknownHost ? .relayUnknownHost : .relayUnreachable, now: now, random: random)
        case .untrusted: step.failure = failure(.untrusted)
        case .refused(.fault(let fault)): step.failure = failure(fault)
        case .refused(.stale(let difference)):
            stale(difference, now: now, random: random, &step)
        case .refused(.busy(let retryAfter)), .refused(.failed(let retryAfter)):
            backoff.fail(.relayFailing, retryAfter: retryAfter, now: now, random: random)
        case .refused(.unclear(let retryAfter)):
            mayHaveArrived = true
            backoff.fail(
                .relayFailing, mayHaveArrived: true, retryAfter: retryAfter, now: now,
                random: random)
        }
        guard mayHaveArrived else {
            for entry in left { queue.append(entry) }
            step.retried = step.failure == nil ? left.count : 0
            return step
        }
        step.uncertain = left.count
        for var entry in left {
            if entry.lose() {
                queue.append(entry)
                step.retried += 1
            } else {
                step.results.append(entry.result(.retry(.connectionFault)))
            }
        }
        return step
    }

    /// Sends a wake-up once more whose outcome the relay does not know.
    private mutating func repeatLater(
        _ entry: Entry, at moment: DeliveryMoment, _ step: inout DeliveryStep
    ) {
        var entry = entry
        step.uncertain += 1
        if let delay = entry.fail(.unknown, at: moment) {
            queue.append(entry, after: delay, now: moment.now)
            step.retried += 1
        } else {
            step.results.append(entry.result(.retry(.connectionFault)))
        }
    }

    mutating func end() -> DeliveryStep {
        let asked = requests.values.flatMap { request in
            request.response.missing.map { request.entries[$0] }
        }
        let waiting = queue.removeAll().filter(\.mayHaveArrived)
        var step = DeliveryStep(
            results: (asked + waiting).map { $0.result(.retry(.connectionFault)) })
        step.uncertain = asked.count
        return step
    }

    private mutating func stale(
        _ difference: Int?, now: UInt64, random: Double, _ step: inout DeliveryStep
    ) {
        let since = staleSince ?? now
        staleSince = since
        if abs(difference ?? 0) > Self.clockTolerance || now - since >= Self.startTolerance {
            // Clocks within the window of a signature count as equal.
            let ahead = difference.map { abs($0) <= SignatureWindow.ahead ? 0 : $0 }
            step.failure = failure(.clock(difference: ahead))
        } else {
            // It is there, and takes requests in a moment.
            backoff.answered(withDelivery: false)
            backoff.fail(
                .relayFailing, retryAfter: Self.startPause, now: now, random: random)
        }
    }

    private func failure(_ fault: RelayFault) -> GatewayFailure {
        .misconfigured(.relay(fault, service))
    }

    private func failure(_ stop: RelayStop) -> GatewayFailure {
        switch stop {
        case .serviceOff: failure(RelayFault.serviceOff)
        case .misconfigured: failure(.ownerMisconfigured)
        case .unavailable: .unavailable(.relayStopped, service)
        }
    }
}

/// The back-off from a failing relay: growing pauses, and one request at a time: with one wake-up,
/// or, after a request that may have been taken, without any.
struct RelayBackoff {
    /// Requests at once when all is well: one is answered while the next is sent.
    static let requests = 2
    /// Milliseconds of failing that are told.
    static let quiet: UInt64 = 30_000

    private enum Trust { case full, trial, none }

    private var trust = Trust.full
    private var backoff = Backoff(base: .seconds(1), ceiling: .seconds(30), jitter: .stretch)
    private var failingSince: UInt64?
    /// Why it has failed for a while; nil once it answers.
    private(set) var reason: Unavailability?
    /// The time before which nothing is sent.
    private(set) var until: UInt64 = 0

    /// Requests that may be under way.
    var requests: Int { trust == .full ? Self.requests : 1 }
    /// The most wake-ups of a request.
    var wakes: Int {
        switch trust {
        case .full: RelayBatch.maximumWakes
        case .trial: 1
        case .none: 0
        }
    }

    /// Records lines of a response.
    /// - Parameter withDelivery: more than the last line, which a request without wake-ups has too.
    mutating func answered(withDelivery: Bool) {
        backoff.succeed()
        (failingSince, reason) = (nil, nil)
        trust = withDelivery || trust == .full ? .full : .trial
    }

    /// - Parameters:
    ///   - mayHaveArrived: the relay may have taken the request.
    ///   - retryAfter: seconds the relay asked to wait, 0 when it did not.
    mutating func fail(
        _ reason: Unavailability, mayHaveArrived: Bool = false, retryAfter: Int = 0, now: UInt64,
        random: Double
    ) {
        trust = mayHaveArrived || trust == .none ? .none : .trial
        let since = failingSince ?? now
        failingSince = since
        if now - since >= Self.quiet { self.reason = reason }
        // What the relay asks for is stretched as well: what failed together returns apart.
        let least = min(retryAfter, RetryPolicy.longestRetryAfter)
        let floor = Duration.seconds(least) * (1 + random / 2)
        until = max(
            until, now + UInt64(backoff.fail(random: random, floor: floor) / .milliseconds(1)))
    }
}
