import WakeHTTP
import WakeModel
import WakeStore

/// `/v1/rotation` on the admin listener.
struct RotationRoute: Sendable {
    let rotator: Rotator
    let store: Store
    let broadcaster: Broadcaster

    /// GET: what the next rotation would do. POST with `{"now":true}`: it is done at the next
    /// opportunity; without, only if it is due anyway.
    func handle(_ request: Request, _ exchange: Exchange) {
        switch request.method {
        case .get, .head: answer(exchange)
        case .post:
            do throws(JSONError) {
                if try Self.isNow(Array(request.body)) { rotator.ask() }
                answer(exchange)
            } catch {
                exchange.respond(Answers.problem(Problem(.json(error))))
            }
        default: exchange.respond(.methodNotAllowed(allow: "GET, HEAD, POST"))
        }
    }

    private func answer(_ exchange: Exchange) {
        store.survey { survey in
            guard let survey else {
                return exchange.respond(Answers.problem(.storeUnavailable))
            }
            let status = RotationStatus(
                survey, rotator.now, isRoundRunning: broadcaster.report.isRunning)
            exchange.respond(Answers.json(status.encode()))
        }
    }

    /// The body: empty, `{}`, or `{"now":true}`.
    static func isNow(_ body: [UInt8]) throws(JSONError) -> Bool {
        guard !body.isEmpty else { return false }
        var now = false
        var scanner = try JSONScanner(body)
        try scanner.document { (scanner) throws(JSONError) in
            try scanner.object { (scanner, name) throws(JSONError) in
                guard name.span.equals("now") else { throw .unknownMember }
                now = try scanner.bool()
            }
        }
        return now
    }
}
