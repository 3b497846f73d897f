import WakeModel
import WakePush
import WakeSystem

/// The state machine of a session with a relay.
struct RelayDeliveryState: DeliveryState {
    typealias Entry = RetryQueue.Entry

    typealias Action = (request: UInt32, entries: [Entry])

    enum Event {
        case began
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

    mutating func advance(now: UInt64) throws(GatewayFailure) {
        if isHopeless(now: now) { throw .unavailable(.pushback, service) }
    }

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
        case .began:
            backoff.responseBegan()
            return DeliveryStep()
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
        if !lines.isEmpty { backoff.succeed() }
        for line in lines where step.failure == nil {
            switch line {
            case .delivery(let wake, let delivery):
                guard let entry = requests[request]?.entries[wake] else { continue }
                inFlight -= 1
                switch delivery {
                case .retry(.connectionFault):
                    retry([entry], after: .unknown, .connectionFault, at: moment, &step)
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
        guard requests[request] != nil else { return DeliveryStep() }
        let left = takeMissing(of: request)
        let (now, random) = (moment.now, moment.jitter)
        var step = DeliveryStep()
        if case .refused(.stale) = result {} else { staleSince = nil }
        let cause: RetryCause
        var lost = AttemptFailure.unsent
        switch result {
        case .completed, .interrupted, .refused(.replayed):
            if !left.isEmpty { backoff.fail(now: now, random: random) }
            (cause, lost) = (.connectionFault, .unknown)
        case .unconnected(let isUnknownHost):
            if !backoff.failToConnect(now: now, random: random) {
                step.failure = .unavailable(isUnknownHost ? .unknownHost : .unreachable, service)
            }
            cause = .connectionFault
        case .untrusted: return DeliveryStep(failure: failure(.untrusted))
        case .refused(.fault(let fault)): return DeliveryStep(failure: failure(fault))
        case .refused(.stale(let difference)):
            stale(difference, now: now, random: random, &step)
            cause = .serviceFault
        case .refused(.busy(let retryAfter)):
            pause(retryAfter, now: now, random: random, &step)
            cause = .throttled
        case .refused(.failed(let retryAfter)):
            pause(retryAfter, now: now, random: random, &step)
            (cause, lost) = (.serviceFault, .refused)
        case .refused(.unclear(let retryAfter)):
            pause(retryAfter, now: now, random: random, &step)
            (cause, lost) = (.connectionFault, .unknown)
        }
        guard step.failure == nil || lost == .unknown else {
            for entry in left { queue.append(entry) }
            return step
        }
        retry(left, after: lost, cause, at: moment, &step)
        return step
    }

    /// Tries wake-ups again, or gives them up for the round.
    private mutating func retry(
        _ entries: [Entry], after failure: AttemptFailure, _ cause: RetryCause,
        at moment: DeliveryMoment, _ step: inout DeliveryStep
    ) {
        if failure == .unknown { step.uncertain += entries.count }
        for var entry in entries {
            if let delay = entry.fail(failure, at: moment) {
                queue.append(entry, after: delay, now: moment.now)
                step.retried += 1
            } else {
                step.results.append(entry.result(.retry(cause)))
            }
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

    func isHopeless(now: UInt64) -> Bool { backoff.isHopeless(now: now) }

    private mutating func pause(
        _ retryAfter: Int, now: UInt64, random: Double, _ step: inout DeliveryStep
    ) {
        if retryAfter > RetryPolicy.longestRetryAfter {
            step.failure = .unavailable(.pushback, service)
        } else {
            backoff.fail(retryAfter: retryAfter, now: now, random: random)
        }
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
            backoff.fail(retryAfter: Self.startPause, now: now, random: random)
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

/// The back-off from a failing relay: growing pauses, one request at a time, then no attempt.
struct RelayBackoff {
    /// Requests at once when all is well: one is answered while the next is sent.
    static let requests = 2
    /// Milliseconds without one line of a response, counted from the first failure.
    static let withoutLines: UInt64 = 5 * 60_000
    /// Milliseconds without any response, counted from the first failed connection.
    static let withoutConnection: UInt64 = 60_000

    private var backoff = Backoff(base: .seconds(1), ceiling: .seconds(30), jitter: .stretch)
    private var failingSince: UInt64?
    private var unconnectedSince: UInt64?
    /// The time before which nothing is sent.
    private(set) var until: UInt64 = 0

    /// Requests that may be under way.
    var requests: Int { backoff.failures > 0 ? 1 : Self.requests }
    /// The most wake-ups of a request: after a failure one is enough to ask with. More could all
    /// arrive without the relay being able to say so.
    var wakes: Int { backoff.failures > 0 ? 1 : RelayBatch.maximumWakes }

    mutating func succeed() {
        backoff.succeed()
        failingSince = nil
        unconnectedSince = nil
    }

    mutating func responseBegan() { unconnectedSince = nil }

    /// - Parameter retryAfter: seconds the relay asked to wait, 0 when it did not.
    mutating func fail(retryAfter: Int = 0, now: UInt64, random: Double) {
        if failingSince == nil { failingSince = now }
        // What the relay asks for is stretched as well: what failed together returns apart.
        let floor = Duration.seconds(retryAfter) * (1 + random / 2)
        until = max(
            until, now + UInt64(backoff.fail(random: random, floor: floor) / .milliseconds(1)))
    }

    /// - Returns: false when it is time to give up.
    mutating func failToConnect(now: UInt64, random: Double) -> Bool {
        let since = unconnectedSince ?? now
        unconnectedSince = since
        fail(now: now, random: random)
        return now - since < Self.withoutConnection
    }

    func isHopeless(now: UInt64) -> Bool {
        guard let failingSince else { return false }
        return now - failingSince >= Self.withoutLines
    }
}
