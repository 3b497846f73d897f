import WakeHTTP
import WakeModel
import WakeStore

/// What the operator reaches, on a socket of its own.
struct AdminRoutes: Sendable {
    let broadcaster: Broadcaster
    let planner: BroadcastPlanner
    let rotation: RotationRoute
    let metrics: Metrics
    let health: Health
    let people: PeopleRoute

    func handle(_ request: Request, _ exchange: Exchange) {
        guard request.query == nil else {
            return exchange.respond(Answers.problem(.queryNotAllowed))
        }
        if request.isPath("/metrics") {
            exchange.respond(read(request) { metrics.answer() })
        } else if request.isPath("/health") {
            exchange.respond(read(request) { health.answer() })
        } else if request.isPath("/v1/status") {
            exchange.respond(read(request) { Answers.json(metrics.status()) })
        } else if request.isPath("/v1/plan") {
            exchange.respond(read(request) { plan() })
        } else if request.isPath("/v1/broadcast") {
            broadcast(request, exchange)
        } else if request.isPath("/v1/audit") {
            exchange.respond(takeAudit(request))
        } else if request.isPath("/v1/rotation") {
            rotation.handle(request, exchange)
        } else {
            exchange.respond(Answers.problem(.notFound))
        }
    }

    /// The next broadcast on paper: a table, or what does not fit and what would.
    private func plan() -> Response {
        switch planner.plan() {
        case .success(let plan): Answers.text(plan.lines.joined(separator: "\n") + "\n")
        case .failure(let refusal): Answers.text(refusal.message + "\n", status: 409)
        }
    }

    private func broadcast(_ request: Request, _ exchange: Exchange) {
        if request.method == .get || request.method == .head {
            return exchange.respond(Answers.json(broadcaster.report.encode()))
        }
        guard request.method == .post else {
            return exchange.respond(.methodNotAllowed(allow: "GET, HEAD, POST"))
        }
        do throws(JSONError) {
            let force = try BroadcastBody.force(Array(request.body))
            broadcaster.broadcast(force: force) { exchange.respond(Self.answer($0)) }
        } catch {
            exchange.respond(Answers.problem(Problem(.json(error))))
        }
    }

    /// What `reveille audit --tell` found, for the page for people.
    private func takeAudit(_ request: Request) -> Response {
        guard request.method == .put else { return .methodNotAllowed(allow: "PUT") }
        do throws(JSONError) {
            people.take(try AuditVerdict(Array(request.body)))
            return Answers.done
        } catch {
            return Answers.problem(Problem(.json(error)))
        }
    }

    private static func answer(_ outcome: Broadcaster.Outcome) -> Response {
        switch outcome {
        case .started(let sequence, let streams, let round, let seconds):
            var text = JSONText()
            text.beginObject()
            text.member("sequence", number: sequence)
            text.member("streams", number: streams)
            text.member("round", number: round)
            if let seconds { text.member("seconds", number: seconds) }
            text.endObject()
            return Answers.json(text.bytes)
        case .doesNotFit: return Answers.problem(.broadcastDoesNotFit)
        case .notNewer: return Answers.problem(.broadcastNotNewer)
        case .stateUnwritable: return Answers.problem(.storeUnavailable)
        }
    }

    private func read(_ request: Request, _ answer: () -> Response) -> Response {
        guard request.method == .get || request.method == .head else {
            return .methodNotAllowed(allow: "GET, HEAD")
        }
        return answer()
    }
}

/// The body of `POST /v1/broadcast`: empty, `{}`, or `{"force":true}`.
enum BroadcastBody {
    static func force(_ body: [UInt8]) throws(JSONError) -> Bool {
        guard !body.isEmpty else { return false }
        var force = false
        var scanner = try JSONScanner(body)
        try scanner.document { (scanner) throws(JSONError) in
            try scanner.object { (scanner, name) throws(JSONError) in
                guard name.span.equals("force") else { throw .unknownMember }
                force = try scanner.bool()
            }
        }
        return force
    }
}
