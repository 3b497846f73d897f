import WakeHTTP
import WakeModel
import WakePush
import WakeStore

/// What apps reach.
struct PublicRoutes: Sendable {
    let registration: RegistrationRoute
    let feed: FeedRoute?
    let relay: RelayRoute?
    let wakes: StreamHub
    let sequence: @Sendable () -> UInt64
    let health: Health
    let people: PeopleRoute

    private static let policy = Response(
        200,
        fields: [
            ("Content-Type", "application/json"), ("Cache-Control", "public, max-age=300"),
            ("X-Content-Type-Options", "nosniff"),
        ],
        body: .bytes(PrivacyPolicy.document))

    private static let streamHead = Response(
        200,
        fields: [
            ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
            ("X-Accel-Buffering", "no"), ("X-Content-Type-Options", "nosniff"),
        ])

    func handle(_ request: Request, _ exchange: Exchange) {
        // A query is how a client would be told apart; none of our paths takes one.
        guard request.query == nil else {
            return exchange.respond(Answers.problem(.queryNotAllowed))
        }
        if request.isPath("/v1/registration") {
            registration.handle(request, exchange)
        } else if request.isPath("/v1/wakes") {
            subscribe(request, exchange)
        } else if request.isPath("/v1/policy") {
            exchange.respond(read(request) { Self.policy })
        } else if request.isPath("/") {
            exchange.respond(read(request) { people.show() })
        } else if request.isPath("/v1/counters") {
            exchange.respond(read(request) { people.count() })
        } else if request.isPath("/health") {
            exchange.respond(read(request) { health.answer() })
        } else if let relay, request.isPath(RelayRequest.path) {
            relay.handle(request, exchange)
        } else if let feed, request.path.starts(with: FeedRoute.prefix) {
            feed.handle(request, exchange)
        } else {
            exchange.respond(Answers.problem(.notFound))
        }
    }

    private func subscribe(_ request: Request, _ exchange: Exchange) {
        guard request.method == .get else {
            return exchange.respond(.methodNotAllowed(allow: "GET"))
        }
        let first = WakeEvent(sequence: sequence()).encode()
        exchange.subscribe(to: wakes, head: Self.streamHead, first: first)
    }

    private func read(_ request: Request, _ answer: () -> Response) -> Response {
        guard request.method == .get || request.method == .head else {
            return .methodNotAllowed(allow: "GET, HEAD")
        }
        return answer()
    }
}
