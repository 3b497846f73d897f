import Dispatch
import Synchronization
import WakeFetch
import WakeHTTP
import WakeModel
import WakeSystem

/// The gateway of Oblivious HTTP (RFC 9458): `POST /v1/oblivious` takes a registration request that
/// a relay forwards without saying whose it is, and `/.well-known/ohttp-gateway` names the keys.
/// Inside, only the routes of registrations are reached, and every answer has one size. What is
/// strangers' work for curves and ciphers is done on a thread of its own, and bounded.
final class ObliviousRoute: Sendable {
    static let path: StaticString = "/v1/oblivious"
    /// The well-known path of a gateway's keys (RFC 9540 §6).
    static let keysPath: StaticString = "/.well-known/ohttp-gateway"

    private struct State {
        /// nil: the gateway is off.
        var ring: ObliviousKeyRing?
        var keys = Response.problem(.notFound)
        var upstream: ServiceAddress?
        /// Requests that wait to be opened, or are.
        var waiting = 0
    }

    /// Some 12 ms of work.
    private static let mostWaiting = 256

    private let state: Mutex<State>
    private let registration: RegistrationRoute
    private let client: ServiceClient
    private let queue = DispatchQueue(label: "oblivious")

    let opened = Counter("oblivious_opened", "encapsulated requests that were opened")
    let refused = Counter("oblivious_refused", "encapsulated requests that could not be opened")
    let overloaded = Counter(
        "oblivious_overloaded", "encapsulated requests refused for a full queue")

    init(
        _ ring: ObliviousKeyRing?, upstream: ServiceAddress?, registration: RegistrationRoute,
        client: ServiceClient
    ) {
        state = Mutex(State())
        self.registration = registration
        self.client = client
        change(to: ring, upstream: upstream)
    }

    /// Takes other keys, or none.
    /// - Returns: whether they differ from those before.
    @discardableResult
    func change(to ring: ObliviousKeyRing?, upstream: ServiceAddress?) -> Bool {
        state.withLock { state in
            defer { (state.ring, state.upstream) = (ring, upstream) }
            let isOther = ring?.configurations != state.ring?.configurations
            state.keys =
                ring.map { ring in
                    Response(
                        200,
                        fields: [
                            ("Content-Type", "\(KeyConfiguration.mediaType)"),
                            ("Cache-Control", "public, max-age=300"),
                            ("X-Content-Type-Options", "nosniff"),
                        ], body: .bytes(ring.configurations))
                } ?? .problem(.notFound)
            return isOther
        }
    }

    var isOn: Bool { state.withLock { $0.ring != nil } }

    func handleKeys(_ request: Request, _ responder: Responder) {
        let keys = state.withLock { $0.keys }
        responder.respond(.read(request) { keys })
    }

    func handle(_ request: Request, _ responder: Responder) {
        guard let ring = state.withLock({ $0.ring }) else {
            return responder.respond(.problem(.notFound))
        }
        guard request.method == .post else {
            return responder.respond(.methodNotAllowed(allow: "POST"))
        }
        guard request.hasType(ObliviousRequest.mediaType) else {
            return responder.respond(.problem(.obliviousTypeUnsupported))
        }
        let hasRoom = state.withLock { state in
            guard state.waiting < Self.mostWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard hasRoom else {
            overloaded.add()
            return responder.respond(.problem(.overloaded))
        }
        queue.async { [self] in
            open(request, with: ring, responder)
            state.withLock { $0.waiting -= 1 }
        }
    }

    private func open(
        _ request: Request, with ring: ObliviousKeyRing, _ responder: Responder
    ) {
        switch ring.open(request.body.span) {
        case .failure(let failure):
            refused.add()
            // RFC 9458 §5.2: unprotected, as nothing can protect it.
            responder.respond(.problem(failure == .malformed ? .obliviousMalformed : .obliviousKey))
        case .success(let opened):
            self.opened.add()
            let response = opened.response
            withExtendedLifetime(opened.message) {
                serve(opened.message.bytes) { answer in
                    let sealed = Self.encapsulate(answer, response)
                    return { responder.respond(sealed) }
                }
            }
        }
    }

    /// Answers what was inside. RFC 9458 §5.2: also its mistakes are answered inside.
    private func serve(_ message: [UInt8], _ prepare: @escaping RegistrationRoute.Preparation) {
        do throws(BinaryMessageError) {
            let inner = try BinaryMessage(message)
            switch try Self.call(inner, message) {
            case .success(let call):
                let address = state.withLock { $0.upstream }
                let upstream = address.map { ObliviousUpstream(address: $0, client: client) }
                if upstream?.perform(call, preparing: prepare) != true {
                    registration.perform(call, preparing: prepare)
                }
            case .failure(let refusal): prepare(refusal)()
            }
        } catch { prepare(.problem(.obliviousMalformed))() }
    }

    /// The request of a registration that a message holds; a problem where it is another one.
    private static func call(
        _ message: BinaryMessage, _ bytes: [UInt8]
    ) throws(BinaryMessageError) -> CallResult {
        guard case .request(let method, _, _, let path) = message.control else {
            throw .control
        }
        let span = bytes.span
        // RFC 9458 §5.1: an expectation cannot be met.
        guard !message.has("expect", in: span) else {
            return .failure(.problem(.obliviousMalformed))
        }
        guard span.extracting(path).equals(RegistrationRoute.path) else {
            return .failure(.problem(bytes[path].contains(0x3F) ? .queryNotAllowed : .notFound))
        }
        let body =
            message.content.count == 1
            ? bytes[message.content[0]] : message.content(in: span)[...]
        if !body.isEmpty, message.has("content-encoding", in: span) {
            return .failure(.contentEncoding)
        }
        if !body.isEmpty, message.has("content-type", in: span) {
            guard let type = message.onlyValue(of: "content-type", in: span),
                Request.isJSON(bytes[type])
            else { return .failure(.problem(.contentTypeUnsupported)) }
        }
        let authorization = message.onlyValue(of: "authorization", in: span)
        return .success(
            RegistrationRoute.Call(
                method: Method(named: span.extracting(method)),
                bearerToken: authorization.flatMap { Request.bearerToken(in: bytes[$0]) },
                isAuthorized: authorization != nil, body: body, origin: .oblivious))
    }

    private enum CallResult {
        case success(RegistrationRoute.Call)
        case failure(Response)
    }

    /// A response as `message/ohttp-res`, of one size whatever it says.
    private static func encapsulate(
        _ answer: Response, _ protection: ResponseProtection
    ) -> Response {
        let count = Limits.obliviousAnswerBytes - protection.overhead
        var sealed: [UInt8]?
        if var message = message(answer, paddedTo: count) {
            sealed = protection.seal(message)
            message.wipe()
        }
        guard let sealed else { return .problem(.overloaded) }
        return Response(200, fields: fields, body: .bytes(sealed))
    }

    private static let fields: [(StaticString, String)] = [
        ("Content-Type", "\(ResponseProtection.mediaType)"),
        ("Cache-Control", "private, no-store"), ("X-Content-Type-Options", "nosniff"),
    ]

    private static func message(_ answer: Response, paddedTo count: Int) -> [UInt8]? {
        var writer = BinaryMessageWriter(status: answer.status, capacity: count)
        for line in answer.fieldLines {
            let name = line.name.map(\.lowercased)
            writer.add(name.span, line.value.span)
        }
        guard case .bytes(let body) = answer.body else {
            let nothing: [UInt8] = []
            return writer.finish(content: nothing.span, paddedTo: count)
        }
        return writer.finish(content: body.span, paddedTo: count)
    }
}
