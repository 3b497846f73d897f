import WakeHTTP
import WakeModel
import WakePush
import WakeStore
import WakeSystem

struct PublicRoutes: Sendable {
    let registration: RegistrationRoute
    let feed: FeedRoute?
    let relay: RelayRoute?
    let oblivious: ObliviousRoute
    let wakes: StreamHub
    let sequence: @Sendable () -> UInt64
    let health: Health
    let transparency: TransparencyRoute
    let crossOrigin: CrossOriginResponses

    private static let streamHead = Response(
        200,
        fields: [
            ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
            ("X-Accel-Buffering", "no"), ("X-Content-Type-Options", "nosniff"),
        ])

    func handle(_ request: Request, _ responder: Responder) {
        let responder = responder.adding(crossOrigin.fields(for: request))
        // A query could tell clients apart; none of the paths takes one.
        guard request.query == nil else { return responder.respond(.problem(.queryNotAllowed)) }
        // What is signed for the relay has a type of its own, which its signature covers; what was
        // encapsulated has one as well.
        guard
            request.hasJSONBody || request.isPath(RelayRequest.path)
                || request.isPath(ObliviousRoute.path)
        else {
            return responder.respond(.problem(.contentTypeUnsupported))
        }
        if let permission = crossOrigin.preflight(request) { return responder.respond(permission) }
        if request.isPath(RegistrationRoute.path) {
            registration.handle(request, responder)
        } else if request.isPath(RegistrationRoute.wakePath) {
            registration.handleWake(request, responder)
        } else if request.isPath(ObliviousRoute.path) {
            oblivious.handle(request, responder)
        } else if request.isPath(ObliviousRoute.keysPath) {
            oblivious.handleKeys(request, responder)
        } else if request.isPath("/v1/wakes") {
            subscribe(request, responder)
        } else if request.isPath("/v1/policy") {
            responder.respond(.read(request) { transparency.policy() })
        } else if request.isPath("/") {
            let language = PageText.preferred(request.values(of: "accept-language"))
            responder.respond(.read(request) { transparency.page(language) })
        } else if request.isPath("/v1/webpush") {
            responder.respond(.read(request) { webPush() })
        } else if request.isPath("/v1/counters") {
            responder.respond(.read(request) { transparency.counters() })
        } else if request.isPath("/health") {
            responder.respond(.read(request) { health.response() })
        } else if let relay, request.isPath(RelayRequest.path) {
            relay.handle(request, responder)
        } else if let feed, request.path.starts(with: FeedRoute.prefix) {
            feed.handle(request, responder)
        } else {
            responder.respond(.problem(.notFound))
        }
    }

    /// The key that a web page or a UnifiedPush app subscribes with.
    private func webPush() -> Response {
        guard let key = registration.settings.now.admission.webPushKey else {
            return .problem(.notFound)
        }
        var text = JSONText()
        text.beginObject()
        text.member("applicationServerKey", string: key)
        text.endObject()
        return .json(text.bytes)
    }

    private func subscribe(_ request: Request, _ responder: Responder) {
        guard request.method == .get else {
            return responder.respond(.methodNotAllowed(allow: "GET"))
        }
        let first = WakeEvent(sequence: sequence()).encode()
        responder.subscribe(to: wakes, head: Self.streamHead, first: first)
    }
}
