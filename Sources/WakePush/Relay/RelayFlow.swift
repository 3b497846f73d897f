import WakeModel

/// One relay's part of a round, as a value: wake-ups, bytes of answers and ends of requests go in,
/// requests and settled wake-ups come out. It reads no clock and owns no connection.
struct RelayFlow {
    typealias Entry = WakeUpLedger.Entry

    /// What something that happened came to.
    struct Step {
        var settled: [SettledWakeUp] = []
        /// To be tried again.
        var retried = 0
        /// The rest of the answer is not to be read.
        var isBroken = false
        /// The end of the round, after all of the above.
        var failure: GatewayFailure?
    }

    private let service: PushService
    private var ledger = WakeUpLedger()
    private var answers: [UInt32: RelayAnswer] = [:]
    private var patience = RelayPatience()
    /// Since when the relay does nothing but take fresh requests for stale ones.
    private var staleSince: UInt64?
    /// When the first of what is ready began to wait for others.
    private var waitsSince: UInt64?
    private var isDraining = false
    private var isLanding = false

    /// Seconds between the clocks that explain why a request counts as stale; with less the relay
    /// has just started: then it refuses what may have come to the one before (``ReplayGuard``).
    private static let clockTolerance = 2 * SignatureWindow.ahead
    /// Milliseconds in which a relay that has just started takes requests.
    private static let startPatience: UInt64 = 30_000
    /// Milliseconds that wake-ups wait for others to fill a request.
    private static let gathering: UInt64 = 1000
    /// Seconds after which it is asked again.
    private static let startPause = 3

    init(_ service: PushService) { self.service = service }

    /// What was added so far is to be settled before more comes.
    mutating func drain() { isDraining = true }

    /// Lets nothing more leave.
    mutating func land() { isLanding = true }

    /// With the relay.
    var inFlight: Int { ledger.inFlight }

    mutating func add(_ wakeUps: [WakeUp]) {
        isDraining = false
        ledger.add(wakeUps)
    }

    /// The next request, if any.
    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func next(now: UInt64) -> (request: UInt32, entries: ArraySlice<Entry>)? {
        ledger.advance(now: now)
        guard ledger.readyCount > 0 else {
            waitsSince = nil
            return nil
        }
        let since = waitsSince ?? now
        waitsSince = since
        guard !isLanding, now >= patience.until, answers.count < patience.requests else {
            return nil
        }
        let tokens = ledger.readyEntries.prefix(RelayBatch.maximumWakes).lazy.map(\.wakeUp.token)
        let count = RelayBatch.count(of: tokens)
        let isFull = count == RelayBatch.maximumWakes || count < ledger.readyCount
        // Large batches: a request costs the same for one wake-up as for a thousand.
        guard isFull || isDraining || now - since >= Self.gathering else { return nil }
        waitsSince = nil
        let launched = ledger.launch(count)
        answers[launched.batch] = RelayAnswer(count: count, service: service)
        return (launched.batch, launched.entries)
    }

    /// The relay says something: an answer has begun.
    mutating func answered() { patience.answered() }

    /// Takes the next bytes of an answer.
    mutating func read(_ bytes: Span<UInt8>, of request: UInt32) -> Step {
        var step = Step()
        var meanings: [RelayAnswer.Meaning] = []
        do throws(RelayAnswerFault) {
            try answers[request]?.read(bytes) { meanings.append($0) }
        } catch {
            step.isBroken = true
        }
        if !meanings.isEmpty {
            patience.worked()
        }
        for meaning in meanings where step.failure == nil {
            switch meaning {
            case .delivery(let wake, let delivery):
                let entry = ledger.land(request, UInt32(wake))
                step.settled.append(
                    SettledWakeUp(reference: entry.wakeUp.reference, delivery: delivery))
            case .stopped(let stop): step.failure = failure(stop)
            case .nothing: break
            }
        }
        return step
    }

    /// A request has ended: what has no line yet is tried again.
    /// - Parameter chance: from 0 to 1, for jitter.
    mutating func ended(
        _ request: UInt32, _ end: RelayEnd, now: UInt64, chance: Double
    ) -> Step {
        guard let answer = answers.removeValue(forKey: request) else { return Step() }
        let left = answer.missing.map { ledger.land(request, UInt32($0)) }
        var step = Step()
        if case .refused(.stale) = end {} else { staleSince = nil }
        switch end {
        case .answered, .cut, .refused(.replayed):
            guard !left.isEmpty else { break }
            patience.failed(now: now, chance: chance)
            let wait = Wait(cause: .connectionFault, isUnseen: false, now: now, chance: chance)
            retry(left, wait, &step)
        case .unconnected(let isUnknownHost):
            if !patience.unconnected(now: now, chance: chance) {
                let why: Unavailability = isUnknownHost ? .unknownHost : .unreachable
                step.failure = .unavailable(why, service)
            }
            let wait = Wait(cause: .connectionFault, isUnseen: true, now: now, chance: chance)
            retry(left, wait, &step)
        case .untrusted: step.failure = failure(.untrusted)
        case .refused(.fault(let fault)): step.failure = failure(fault)
        case .refused(.stale(let difference)):
            stale(difference, now: now, chance: chance, &step)
            let wait = Wait(cause: .serviceFault, isUnseen: true, now: now, chance: chance)
            retry(left, wait, &step)
        case .refused(.busy(let retryAfter)):
            pause(retryAfter, now: now, chance: chance, &step)
            let wait = Wait(cause: .throttled, isUnseen: true, now: now, chance: chance)
            retry(left, wait, &step)
        case .refused(.failed(let retryAfter)):
            pause(retryAfter, now: now, chance: chance, &step)
            let wait = Wait(cause: .serviceFault, isUnseen: false, now: now, chance: chance)
            retry(left, wait, &step)
        }
        return step
    }

    /// Nothing has worked for too long.
    func isHopeless(now: UInt64) -> Bool { patience.isHopeless(now: now) }

    // MARK: Again

    private struct Wait {
        let cause: RetryCause
        let isUnseen: Bool
        let now: UInt64
        let chance: Double
    }

    private mutating func retry(_ entries: [Entry], _ wait: Wait, _ step: inout Step) {
        guard step.failure == nil else { return }
        for var entry in entries {
            entry.spent += RetryPolicy.cost(isUnseen: wait.isUnseen)
            let delay = RetryPolicy.delay(
                spent: entry.spent, isUnseen: wait.isUnseen, retryAfter: 0, chance: wait.chance)
            if let delay {
                ledger.add(entry, after: delay, now: wait.now)
                step.retried += 1
            } else {
                step.settled.append(
                    SettledWakeUp(
                        reference: entry.wakeUp.reference, delivery: .retry(wait.cause)))
            }
        }
    }

    private mutating func pause(
        _ retryAfter: Int, now: UInt64, chance: Double, _ step: inout Step
    ) {
        if retryAfter > RetryPolicy.longestRetryAfter {
            step.failure = .unavailable(.pushback, service)
        } else {
            patience.failed(retryAfter: retryAfter, now: now, chance: chance)
        }
    }

    private mutating func stale(
        _ difference: Int?, now: UInt64, chance: Double, _ step: inout Step
    ) {
        let since = staleSince ?? now
        staleSince = since
        if abs(difference ?? 0) > Self.clockTolerance || now - since >= Self.startPatience {
            step.failure = failure(.clock(difference: difference))
        } else {
            patience.failed(retryAfter: Self.startPause, now: now, chance: chance)
        }
    }

    // MARK: Failures

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
