import WakeModel

/// One gateway's part of a round, as a value: wake-ups and outcomes of the engine go in, batches
/// for the engine and settled wake-ups come out. It reads no clock and owns no connection.
struct WakeUpFlow<Service: EngineService> {
    typealias Entry = WakeUpLedger.Entry

    /// What a number of outcomes came to.
    struct Step {
        var settled: [SettledWakeUp] = []
        var news: CredentialNews = []
        /// To be tried again.
        var retried = 0
    }

    private var window: FlowWindow
    private let service: PushService
    private var ledger = WakeUpLedger()
    private var pushback = Pushback()
    private var pace: QuotaPace?
    private var evidence: [UInt32: ConnectionEvidence<Entry>] = [:]
    private var hasAccepted = false
    /// What the gateway is at fault for if nothing at all is accepted.
    private var suspicion: Misconfiguration?
    private var isDraining = false
    private var isFinishing = false
    private var isLanding = false

    init(_ service: Service) {
        self.init(service.service, window: service.window, perMinute: service.perMinute)
    }

    /// - Parameters:
    ///   - window: wake-ups with the engine at most.
    ///   - perMinute: wake-ups that may leave in a minute; nil for any number.
    init(_ service: PushService, window: Int, perMinute: Int? = nil) {
        self.service = service
        self.window = FlowWindow(most: window)
        pace = perMinute.map { QuotaPace(perMinute: $0) }
    }

    /// What was added so far is to be settled before more comes.
    mutating func drain() { isDraining = true }

    /// Nothing more will be added.
    mutating func finish() {
        isDraining = true
        isFinishing = true
    }

    /// Lets nothing more leave.
    mutating func land() { isLanding = true }

    /// With the engine.
    var inFlight: Int { ledger.inFlight }

    mutating func add(_ wakeUps: [WakeUp]) {
        isDraining = false
        ledger.add(wakeUps)
    }

    /// The next batch for the engine, if any.
    /// - Parameter now: milliseconds of a clock that never goes back.
    mutating func next(now: UInt64) -> (batch: UInt32, entries: ArraySlice<Entry>)? {
        ledger.advance(now: now)
        let size = min(window.size, pushback.allowance(now: now) ?? window.size)
        let room = min(ledger.readyCount, size - ledger.inFlight)
        if room < ledger.readyCount { window.filled() }
        let count = min(room, pace?.allowance(now: now) ?? room)
        let enough = min(size / 4, pace?.parcel ?? size)
        // Large batches: what a batch costs is shared by its wake-ups.
        guard !isLanding, count > 0,
            count == ledger.readyCount || count >= enough || ledger.inFlight == 0
        else { return nil }
        pace?.spend(count)
        return ledger.launch(count)
    }

    /// - Parameter chance: from 0 to 1, for jitter.
    mutating func take(
        _ outcomes: PushOutcomes, now: UInt64, chance: Double
    ) throws(GatewayFailure) -> Step {
        var step = Step()
        window.landed(outcomes.results.count, now: now)
        for result in outcomes.results {
            let entry = ledger.land(result.batch, result.order)
            switch result.outcome {
            case .answered(let status, let retryAfter, let body):
                let bytes = outcomes.bytes(of: body)
                let verdict = Service.verdict(status: Int(status), body: bytes.span)
                let delivery = try evidence[result.connection, default: ConnectionEvidence()]
                    .judge(verdict, of: entry)
                guard let delivery else { continue }
                let wait = Wait(retryAfter: Int(retryAfter), now: now, chance: chance)
                settle(entry, delivery, wait, &step)
                if delivery == .accepted { accepted(result.connection, wait, &step) }
            case .retry(let isSafe):
                let wait = Wait(isUnseen: isSafe, now: now, chance: chance)
                settle(entry, .retry(.connectionFault), wait, &step)
            case .failed(let failure): throw GatewayFailure(failure, service)
            }
        }
        for connection in outcomes.ended {
            guard var ended = evidence.removeValue(forKey: connection) else { continue }
            let wait = Wait(isUnseen: false, now: now, chance: chance)
            for held in ended.lost() { settle(held.item, held.delivery, wait, &step) }
        }
        return step
    }

    /// What is held for want of evidence once nothing else is left.
    /// - Throws: at the end, when nothing in the whole round was accepted: then the gateway is at
    ///   fault.
    mutating func conclude() throws(GatewayFailure) -> [SettledWakeUp] {
        guard isDraining, ledger.isEmpty else { return [] }
        var settled: [SettledWakeUp] = []
        for connection in evidence.keys {
            let rest = evidence[connection]?.giveUp()
            if let fault = rest?.suspicion { suspicion = fault }
            settled += (rest?.settled ?? []).map { SettledWakeUp($0.item, $0.delivery) }
        }
        if isFinishing, !hasAccepted, let suspicion { throw .misconfigured(suspicion) }
        return settled
    }

    /// The push service has taken nothing for too long.
    func isHopeless(now: UInt64) -> Bool { pushback.isHopeless(now: now) }

    // MARK: One wake-up

    /// How long a wake-up that failed is to wait.
    fileprivate struct Wait {
        var isUnseen = false
        var retryAfter = 0
        let now: UInt64
        let chance: Double
    }

    private mutating func accepted(_ connection: UInt32, _ wait: Wait, _ step: inout Step) {
        hasAccepted = true
        guard let believed = evidence[connection]?.accepted(), !believed.isEmpty else { return }
        for held in believed { settle(held.item, held.delivery, wait, &step) }
    }

    private mutating func settle(
        _ entry: Entry, _ delivery: Delivery, _ wait: Wait, _ step: inout Step
    ) {
        switch delivery {
        case .accepted:
            step.news.insert(.worked)
            pushback.worked()
        case .gone: pushback.worked()
        case .retry(let cause):
            note(cause, wait, &step)
            // A definite answer: a moment later the same question would get the same one.
            var wait = wait
            wait.retryAfter = max(wait.retryAfter, Service.leastWait(after: cause))
            if cause != .unknownRefusal, cause != .endpointRefused, tryAgain(entry, wait) {
                step.retried += 1
                return
            }
        }
        step.settled.append(SettledWakeUp(entry, delivery))
    }

    private mutating func note(_ cause: RetryCause, _ wait: Wait, _ step: inout Step) {
        switch cause {
        case .connectionFault where wait.isUnseen: pushback.returned(now: wait.now)
        case .throttled, .serviceFault, .connectionFault:
            pushback.refused(now: wait.now, chance: wait.chance)
        case .providerTokenExpired: step.news.insert(.expired)
        case .providerTokenUpdates: step.news.insert(.tooManyUpdates)
        case .unknownRefusal, .endpointRefused: break
        }
    }

    private mutating func tryAgain(_ entry: Entry, _ wait: Wait) -> Bool {
        var entry = entry
        entry.spent += RetryPolicy.cost(isUnseen: wait.isUnseen)
        let delay = RetryPolicy.delay(
            spent: entry.spent, isUnseen: wait.isUnseen, retryAfter: wait.retryAfter,
            chance: wait.chance)
        guard let delay else { return false }
        ledger.add(entry, after: delay, now: wait.now)
        return true
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
        // The engine is closed by its round only, which listens no more.
        case .unreachable, .closed: self = .unavailable(.unreachable, service)
        }
    }
}

extension SettledWakeUp {
    fileprivate init(_ entry: WakeUpLedger.Entry, _ delivery: Delivery) {
        self.init(reference: entry.wakeUp.reference, delivery: delivery)
    }
}
