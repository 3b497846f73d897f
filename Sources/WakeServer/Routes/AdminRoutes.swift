import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// The routes of the admin listener: for the operator only.
struct AdminRoutes: Sendable {
    let broadcaster: Broadcaster
    let planner: BroadcastPlanner
    let rotation: RotationRoute
    let metrics: Metrics
    let health: HealthMonitor
    let transparency: TransparencyRoute
    let access: AdminAccess
    let reloader: Reloader

    func handle(_ request: Request, _ responder: Responder) {
        if let problem = access.problem(with: request) {
            return responder.respond(.problem(problem))
        }
        guard request.query == nil else { return responder.respond(.problem(.queryNotAllowed)) }
        switch String(decoding: request.path, as: UTF8.self) {
        case "/metrics": showMetrics(request, responder)
        case "/health": judge(request, responder) { $0.response }
        case "/v1/status":
            Task {
                await planner.countRegistrations()
                judge(request, responder) { [metrics] in .answer(metrics.status($0)) }
            }
        case "/v1/plan":
            Task {
                await planner.countRegistrations()
                let type = request.onlyValue(of: "accept") ?? []
                let isJSON = type.elementsEqual("application/json".utf8)
                responder.respond(.read(request) { plan(isJSON: isJSON) })
            }
        case "/v1/broadcast": broadcast(request, responder)
        case "/v1/reload": reload(request, responder)
        case "/v1/program":
            responder.respond(.read(request) { .json(transparency.program.encode()) })
        case "/v1/audit": responder.respond(putAudit(request))
        case "/v1/rotation": rotation.handle(request, responder)
        default: responder.respond(.problem(.notFound))
        }
    }

    /// What the metrics listener answers: it changes nothing, and wants no token.
    /// - Parameter isLocalFile: it is a Unix socket, which no web page reaches.
    func handleMetrics(_ request: Request, _ responder: Responder, isLocalFile: Bool) {
        if !isLocalFile, AdminAccess.isOfBrowser(request) {
            return responder.respond(.problem(.browserRefused))
        }
        if request.isPath("/metrics") {
            showMetrics(request, responder)
        } else if request.isPath("/health") {
            judge(request, responder) { $0.response }
        } else {
            responder.respond(.problem(.notFound))
        }
    }

    private func showMetrics(_ request: Request, _ responder: Responder) {
        let isOpen = Metrics.wantsOpen(request)
        judge(request, responder) { [metrics] in metrics.response($0, isOpen: isOpen) }
    }

    private func judge(
        _ request: Request, _ responder: Responder,
        _ response: @escaping @Sendable (HealthMonitor.Judgement) -> Response
    ) {
        health.judge { judgement in
            responder.respond(.read(request) { response(judgement) })
        }
    }

    private func plan(isJSON: Bool) -> Response {
        switch planner.plan() {
        case .success(let plan) where isJSON:
            var text = JSONText()
            text.beginObject()
            plan.encode(to: &text)
            text.endObject()
            return .json(text.bytes)
        case .success(let plan): return .text(plan.lines.joined(separator: "\n") + "\n")
        case .failure(let error): return .text(error.message + "\n", status: 409)
        }
    }

    private func reload(_ request: Request, _ responder: Responder) {
        guard request.method == .post else {
            return responder.respond(.methodNotAllowed(allow: "POST"))
        }
        Task {
            switch await reloader.reload() {
            case .success(let report): responder.respond(.answer(report))
            case .failure(let refusal):
                responder.respond(.text(refusal.message + "\n", status: 422))
            }
        }
    }

    private func broadcast(_ request: Request, _ responder: Responder) {
        if request.method == .get || request.method == .head {
            return responder.respond(.json(broadcaster.report.encode()))
        }
        if request.method == .delete {
            return broadcaster.end { responder.respond(Self.response(toEndOf: $0)) }
        }
        guard request.method == .post else {
            return responder.respond(.methodNotAllowed(allow: "GET, HEAD, POST, DELETE"))
        }
        do throws(JSONError) {
            let force = try request.flag("force")
            Task { responder.respond(Self.response(to: await broadcaster.broadcast(force: force))) }
        } catch { responder.respond(.problem(Problem(.json(error)))) }
    }

    private static func response(toEndOf run: UInt64?) -> Response {
        guard let run else { return .problem(.noBroadcastRunning) }
        return .answer(["run": run])
    }

    /// The result of `reveille audit --tell`, for the privacy page.
    private func putAudit(_ request: Request) -> Response {
        guard request.method == .put else { return .methodNotAllowed(allow: "PUT") }
        do throws(JSONError) {
            transparency.setAudit(try AuditVerdict(Array(request.body)))
            return .done
        } catch { return .problem(Problem(.json(error))) }
    }

    private static func response(to outcome: Broadcaster.Outcome) -> Response {
        switch outcome {
        case .started(let start):
            return .answer(start)
        case .notNewer: return .problem(.broadcastNotNewer)
        case .stateUnwritable: return .problem(.storeUnavailable)
        }
    }
}

extension Request {
    /// A flag from a body that is empty, `{}`, or one such as `{"force":true}`.
    func flag(_ name: String) throws(JSONError) -> Bool { try flags([name]).contains(name) }

    /// The flags that are true, of those that may be there.
    func flags(_ names: Set<String>) throws(JSONError) -> Set<String> {
        guard !body.isEmpty else { return [] }
        guard case .object(let members) = try JSONValue(parsing: Array(body)) else {
            throw .malformed
        }
        guard names.isSuperset(of: members.keys) else { throw .unknownMember }
        var flags: Set<String> = []
        for (name, value) in members {
            guard case .bool(let isSet) = value else { throw .malformed }
            if isSet { flags.insert(name) }
        }
        return flags
    }
}
