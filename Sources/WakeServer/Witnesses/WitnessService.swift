import WakeFeed
package import WakeHTTP
import WakeModel
import WakePublish
import WakeSystem

/// The HTTP service of a witness (C2SP tlog-witness): `POST /add-checkpoint`, and for monitors
/// `GET /<origin hash>/checkpoint`, both below one prefix that a front may take away.
package final class WitnessService: Sendable {
    /// Requests that wait for the disk; more are answered 503.
    private static let waitingRequests = 256

    private let store: WitnessStore
    private let report: @Sendable (WitnessEvent) -> Void
    private let server: HTTPServer
    private let work: WitnessWork

    /// Binds and listens; `run` answers.
    package init(
        _ store: WitnessStore, listen: ListenerConfiguration.Address, proxyProtocol: Bool,
        report: @escaping @Sendable (WitnessEvent) -> Void
    ) throws(HTTPServerError) {
        self.store = store
        self.report = report
        let work = WitnessWork(capacity: Self.waitingRequests)
        self.work = work
        let handler: RequestHandler = { request, responder in
            Self.handle(request, responder, store, work)
        }
        server = try HTTPServer(
            listeners: [
                ListenerConfiguration(listen, proxyProtocol: proxyProtocol, handler: handler)
            ],
            limits: Self.limits)
    }

    package var port: UInt16 { server.ports.first ?? 0 }

    private static var limits: HTTPLimits {
        var limits = HTTPLimits()
        limits.request.bodyBytes = AddCheckpointRequest.byteLimit
        limits.connections = 500
        limits.connectionsPerSource = 100
        limits.streams = 0
        return limits
    }

    /// Serves until the task is cancelled, then answers what is in flight.
    package func run() async {
        report(.started(port: port, logs: store.logCount))
        await server.run()
        work.close()
        report(.stopped)
    }

    /// Returns once the event loop and the thread that cosigns have answered.
    package func proveLife() async {
        while !Task.isCancelled {
            if await server.isServing, await work.isAnswering() { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    // MARK: Routes

    private static func handle(
        _ request: Request, _ responder: Responder, _ store: WitnessStore, _ work: WitnessWork
    ) {
        guard request.query == nil else { return responder.respond(badRequest) }
        if request.isPath("/add-checkpoint") {
            guard request.method == .post else {
                return responder.respond(.methodNotAllowed(allow: "POST"))
            }
            let body = Array(request.body)
            // Not here: the store waits for the disk.
            let isPosted = work.post { responder.respond(response(to: store.add(body))) }
            if !isPosted { responder.respond(unavailable) }
        } else if let identifier = identifier(request.path) {
            guard request.method == .get || request.method == .head else {
                return responder.respond(.methodNotAllowed(allow: "GET, HEAD"))
            }
            responder.respond(store.checkpoint(identifier).map(checkpoint) ?? unknown)
        } else {
            responder.respond(unknown)
        }
    }

    /// `/<64 lower-case hexadecimal digits>/checkpoint`
    private static func identifier(_ path: ArraySlice<UInt8>) -> String? {
        let end = Array("/checkpoint".utf8)
        guard path.count == 1 + 64 + end.count, path.suffix(end.count).elementsEqual(end) else {
            return nil
        }
        let digits = path.dropFirst().prefix(64)
        guard digits.allSatisfy({ $0.isHexDigit && $0 == $0.lowercased }) else { return nil }
        return String(decoding: digits, as: UTF8.self)
    }

    // MARK: Responses

    static func response(to outcome: WitnessStore.Outcome) -> Response {
        switch outcome {
        case .cosigned(let line): text(200, line)
        case .unavailable: unavailable
        case .tooMany: tooMany
        case .refused(.malformed): badRequest
        case .refused(.unknownOrigin): unknown
        case .refused(.notSigned):
            text(403, "no signature of a key that is known for this origin\n")
        case .refused(.conflict(let size)):
            Response(
                409, fields: [("Content-Type", WitnessedSize.contentType)] + fields,
                body: .bytes(WitnessedSize(size).bytes))
        case .refused(.inconsistent), .refused(.forked):
            text(422, "not consistent with the checkpoint that was cosigned last\n")
        // Never refused: it is what leads to the other outcomes.
        case .refused(.consistent): unavailable
        }
    }

    private static let fields: [(StaticString, String)] = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ]

    private static func text(
        _ status: UInt16, _ body: [UInt8], _ more: [(StaticString, String)] = fields
    ) -> Response {
        Response(
            status, fields: [("Content-Type", "text/plain; charset=utf-8")] + more,
            body: .bytes(body))
    }

    private static func text(
        _ status: UInt16, _ line: String, _ more: [(StaticString, String)] = fields
    ) -> Response { text(status, Array(line.utf8), more) }

    private static func checkpoint(_ note: [UInt8]) -> Response {
        // A monitor's view may be a minute old; the specification allows an hour.
        text(
            200, note,
            [("Cache-Control", "public, max-age=60"), ("X-Content-Type-Options", "nosniff")])
    }

    private static let badRequest = text(400, "not a request of tlog-witness\n")
    private static let unknown = text(404, "not known here\n")
    private static let tooMany = text(429, "too often\n", fields + [("Retry-After", "1")])
    private static let unavailable = text(
        503, "nothing was cosigned; try again later\n", fields + [("Retry-After", "10")])
}

/// The one thread that cosigns: it waits for the disk, which the event loop must not.
private final class WitnessWork: Sendable {
    private let mailbox: Mailbox<@Sendable () -> Void>

    init(capacity: Int) {
        let posted = Semaphore()
        let mailbox = Mailbox<@Sendable () -> Void>(capacity: capacity) { posted.post() }
        self.mailbox = mailbox
        do throws(SystemError) {
            try SystemThread.start {
                while let jobs = mailbox.drain() {
                    for job in jobs { job() }
                    if jobs.isEmpty { posted.wait() }
                }
            }
        } catch { preconditionFailure("the system gives no thread") }
    }

    /// - Returns: false when too many wait.
    func post(_ job: @escaping @Sendable () -> Void) -> Bool { mailbox.post(job) == .posted }

    func isAnswering() async -> Bool {
        await withCheckedContinuation { continuation in
            if !post({ continuation.resume(returning: true) }) {
                continuation.resume(returning: false)
            }
        }
    }

    func close() { mailbox.close() }
}
