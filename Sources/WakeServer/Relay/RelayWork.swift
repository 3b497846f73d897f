import WakeHTTP
import WakeModel
import WakePush

/// What the relay's desk does between two waits: the requests in work, their answers, and the
/// rounds. It belongs to the one task that runs the desk.
struct RelayWork {
    /// A request in work.
    private struct Client {
        let answer: StreamedAnswer
        let visit: RelayGate.Visit
    }

    let gate: RelayGate
    let clock: RelayClock
    let inbox: RelayInbox
    let counters: RelayCounters
    let log: Log
    var rounds: RelayRounds
    private var book = RelayBook()
    private var clients: [Int: Client] = [:]

    private static let head = Response(
        200, fields: [("Content-Type", "application/jsonl")] + Answers.privateFields)
    /// Bytes of an answer at most: a line for every wake-up, one for every push service, the last.
    private static let answerBytes = (RelayBatch.maximumWakes + 8) * RelayLine.maximumBytes

    init(
        gate: RelayGate, clock: RelayClock, inbox: RelayInbox, counters: RelayCounters, log: Log,
        rounds: RelayRounds
    ) {
        self.gate = gate
        self.clock = clock
        self.inbox = inbox
        self.counters = counters
        self.log = log
        self.rounds = rounds
    }

    var isBusy: Bool { !book.isEmpty || !rounds.isEmpty }

    mutating func turn(_ contents: RelayInbox.Contents, _ desk: RelayDesk) {
        for request in contents.lost { forget(request) }
        for (round, report) in contents.reports { note(report, of: round) }
        for job in contents.jobs {
            do throws(RelayProblem) {
                try begin(job)
            } catch {
                desk.refuse(job.exchange, error)
            }
        }
        let now = clock.milliseconds()
        rounds.tick(now: now)
        book.expire(now: now)
        speak()
    }

    /// The service stops: everybody is told what is known.
    mutating func end(_ contents: RelayInbox.Contents, _ desk: RelayDesk) {
        for request in contents.lost { forget(request) }
        for (round, report) in contents.reports { note(report, of: round) }
        for job in contents.jobs { desk.refuse(job.exchange, .unavailable) }
        rounds.stop()
        book.expire(now: .max)
        speak()
    }

    // MARK: Requests

    private mutating func begin(_ job: RelayInbox.Job) throws(RelayProblem) {
        let visit = job.visit
        var body = Array(job.request.body)
        defer { wipe(&body) }
        do throws(SignatureFault) {
            try visit.request.verify(body: body.span)
        } catch {
            throw .signature(error)
        }
        try gate.enter(visit)
        do throws(RelayProblem) {
            guard clients.count < Limits.relayRequests else { throw .busy(seconds: 1) }
            // A client that hangs up frees its request, but not the rounds of its wake-ups.
            guard rounds.unsettled < Limits.relayWakeUps else { throw .busy(seconds: 5) }
            let batch = try Self.batch(body)
            try gate.spend(batch.tokens.count, visit)
            start(batch, job)
        } catch {
            gate.leave(visit)
            throw error
        }
    }

    private static func batch(_ body: [UInt8]) throws(RelayProblem) -> RelayBatch {
        do throws(RelayBatchError) {
            return try RelayBatch(body: body)
        } catch {
            throw .batch(error)
        }
    }

    private mutating func start(_ batch: RelayBatch, _ job: RelayInbox.Job) {
        let now = clock.milliseconds()
        let request = book.open(
            wakes: batch.tokens.count, due: now + UInt64(Limits.relaySeconds) * 1000)
        let answer = job.exchange.stream(Self.head, waiting: Self.answerBytes) {
            [inbox] in inbox.putLost(request)
        }
        clients[request] = Client(answer: answer, visit: job.visit)
        for service in RelayBatch.services {
            let places = batch.tokens.indices.filter { batch.tokens[$0].service == service }
            guard !places.isEmpty else { continue }
            switch rounds.choose(service, lifetime: batch.lifetime, now: now) {
            case .round(let number):
                let wakeUps = places.map { place in
                    WakeUp(
                        reference: book.give(place, of: request, to: number),
                        token: batch.tokens[place])
                }
                rounds.send(wakeUps, to: number, now: now)
            case .failed(let failure):
                book.withhold(
                    places.count, of: request, service, RelayLine.stopped(service, failure))
            case .off:
                book.withhold(
                    places.count, of: request, service,
                    RelayLine.stopped(service, .serviceOff).text)
            }
        }
    }

    // MARK: Reports

    private mutating func note(_ report: GatewayReport, of round: Int) {
        switch report {
        case .settled(let wakeUps):
            rounds.settled(wakeUps, by: round)
            book.settle(wakeUps)
        case .retried: break
        case .failed(let failure):
            let now = clock.milliseconds()
            guard let service = rounds.failed(round, failure, now: now) else { return }
            log(.gatewayStopped(service, failure))
            book.stop(round, service, RelayLine.stopped(service, failure))
        }
    }

    // MARK: Answers

    private mutating func speak() {
        for speech in book.takeSpeeches() {
            guard let client = clients[speech.request] else { continue }
            if let counts = speech.end { note(counts) }
            guard client.answer.send(speech.lines) == .taken else {
                // Longer than any answer can be, or nobody is there: either way it ends here.
                client.answer.cut()
                forget(speech.request)
                continue
            }
            guard speech.end != nil else { continue }
            client.answer.finish()
            forget(speech.request)
        }
    }

    private func note(_ counts: RelayBook.Counts) {
        counters.count(counts)
        log(
            .relayBatch(
                accepted: counts.accepted, gone: counts.gone, retried: counts.retried,
                stopped: counts.stopped))
    }

    /// The request is over, or its client gone: whatever its wake-ups come to is dropped.
    private mutating func forget(_ request: Int) {
        book.close(request)
        guard let client = clients.removeValue(forKey: request) else { return }
        gate.leave(client.visit)
    }
}
