import WakeHTTP
import WakeModel
import WakePush
import WakeSystem

/// The requests under way, their responses and the sessions; owned by the service's one task.
struct RelayDispatcher {
    private struct Client {
        let response: StreamedResponse
        let authenticated: RelayAuthenticator.AuthenticatedRequest
    }

    private let authenticator: RelayAuthenticator
    private let clock: TimeSource
    private let mailbox: Mailbox<RelayService.Message>
    private let report: RelayEvent.Handler
    private var sessions: GatewaySessionPool
    private var pending = RelayPendingRequests()
    private var clients: [Int: Client] = [:]

    private static let head = Response(
        200,
        fields: [
            ("Content-Type", "application/jsonl"), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ])
    /// Bytes: a line for every wake-up, one for every push service, the last.
    private static let responseBytes = (RelayBatch.maximumWakes + 8) * RelayLine.maximumBytes

    init(
        authenticator: RelayAuthenticator, clock: TimeSource,
        mailbox: Mailbox<RelayService.Message>, report: @escaping RelayEvent.Handler,
        sessions: GatewaySessionPool
    ) {
        self.authenticator = authenticator
        self.clock = clock
        self.mailbox = mailbox
        self.report = report
        self.sessions = sessions
    }

    var isBusy: Bool { !pending.isEmpty || !sessions.isEmpty }

    /// - Parameter isLast: the service stops: every response is completed with what is known.
    mutating func process(
        _ messages: [RelayService.Message], isLast: Bool = false, _ service: RelayService
    ) {
        for message in messages {
            switch message {
            case .request(let job):
                do throws(RelayProblem) {
                    guard !isLast else { throw .unavailable }
                    try begin(job)
                } catch { service.refuse(job.responder, error) }
            case .report(let session, let report): handle(report, of: session)
            case .disconnected(let request): forget(request)
            case .gateways(let gateways, let services): sessions.replace(gateways, of: services)
            }
        }
        let now = isLast ? .max : clock.milliseconds()
        if isLast { sessions.stop() } else { sessions.tick(now: now) }
        pending.expire(now: now)
        writeOutput(service)
    }

    // MARK: Requests

    private mutating func begin(_ job: RelayJob) throws(RelayProblem) {
        let authenticated = job.authenticated
        var body = Array(job.request.body)
        defer { body.wipe() }
        try mapError(RelayProblem.signature, authenticated.request.verify(body: body.span))
        try authenticator.begin(authenticated)
        do throws(RelayProblem) {
            guard clients.count < Limits.relayRequests else { throw .busy(seconds: 1) }
            // A client that disconnects frees its request, but not the sessions of its wake-ups.
            guard sessions.unsettled < Limits.relayWakeUps else { throw .busy(seconds: 5) }
            let batch = try mapError(RelayProblem.batch, RelayBatch(body: body))
            try authenticator.charge(batch.tokens.count, to: authenticated)
            start(batch, job)
        } catch {
            authenticator.end(authenticated)
            throw error
        }
    }

    private mutating func start(_ batch: RelayBatch, _ job: RelayJob) {
        let now = clock.milliseconds()
        let request = pending.open(
            wakes: batch.tokens.count, due: now + UInt64(Limits.relaySeconds) * 1000)
        let response = job.responder.stream(Self.head, capacity: Self.responseBytes) {
            [mailbox] in mailbox.post(.disconnected(request: request), weight: 0)
        }
        clients[request] = Client(response: response, authenticated: job.authenticated)
        for service in RelayBatch.services {
            let positions = batch.tokens.indices.filter { batch.tokens[$0].service == service }
            guard !positions.isEmpty else { continue }
            let line: [UInt8]
            switch sessions.choose(service, lifetime: batch.lifetime, now: now) {
            case .session(let number):
                // The installation sends again what may have arrived, and knows how often it may.
                let wakeUps = positions.map { position in
                    WakeUp(
                        reference: pending.assign(position, of: request, to: number),
                        token: batch.tokens[position], mayRepeat: false)
                }
                sessions.send(wakeUps, to: number, now: now)
                continue
            case .failed(let failure): line = RelayLine.stopped(service, failure)
            case .off: line = RelayLine.stopped(service, .serviceOff).text
            }
            pending.withhold(positions.count, of: request, service, line)
        }
    }

    // MARK: Reports

    private mutating func handle(_ report: GatewayReport, of session: Int) {
        switch report {
        case .completed(let results):
            sessions.complete(results, by: session)
            pending.settle(results)
        case .deferred(let references):
            // A relay has no other pass.
            let results = references.map {
                WakeUpResult(reference: $0, delivery: .retry(.throttled))
            }
            sessions.complete(results, by: session)
            pending.settle(results)
        case .retried, .uncertain, .delayed: break
        case .failed(let failure):
            let now = clock.milliseconds()
            guard let service = sessions.failed(session, failure, now: now) else { return }
            self.report(.gatewayStopped(service, failure))
            pending.stop(session, service, RelayLine.stopped(service, failure))
        }
    }

    // MARK: Responses

    private mutating func writeOutput(_ service: RelayService) {
        for output in pending.takeOutput() {
            guard let client = clients[output.request] else { continue }
            if let counts = output.end {
                service.counters.add(counts)
                report(.batch(counts))
            }
            guard client.response.send(output.lines) == .queued else {
                // Longer than any response can be, or the client is gone: either way it ends here.
                client.response.abort()
                forget(output.request)
                continue
            }
            guard output.end != nil else { continue }
            client.response.finish()
            forget(output.request)
        }
    }

    /// Ends a request that is over or has lost its client; later outcomes are dropped.
    private mutating func forget(_ request: Int) {
        pending.close(request)
        guard let client = clients.removeValue(forKey: request) else { return }
        authenticator.end(client.authenticated)
    }
}
