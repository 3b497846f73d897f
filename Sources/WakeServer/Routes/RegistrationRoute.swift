import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// `/v1/registration`: register, read, delete. Who knows the instance token may do all three: it is
/// the additional information of a subject access request (GDPR Art. 15 with Art. 11(2)).
struct RegistrationRoute: Sendable {
    let store: Store
    let health: HealthMonitor
    let settings: Settings
    let newRegistrations: NewRegistrations
    let peers: ShardPeers
    let testPushes: TestPushes

    static let path: StaticString = "/v1/registration"
    static let wakePath: StaticString = "/v1/registration/wake"

    /// What a request for this path says, however it came.
    struct Call: Sendable {
        let method: Method
        /// The token of the one `Authorization` field with the scheme Bearer.
        let bearerToken: ArraySlice<UInt8>?
        /// Whether there is one such field, of whatever scheme.
        let isAuthorized: Bool
        let body: ArraySlice<UInt8>
        let origin: RegistrationOrigin
        /// Whether another shard has handed it on, which is not done again.
        var isHandedOn = false
    }

    /// Takes the response when it is known, and gives what sends it, which is called when its time
    /// has come: see `Limits.answerTickMicroseconds`.
    typealias Preparation = @Sendable (Response) -> @Sendable () -> Void

    func handle(_ request: Request, _ responder: Responder) {
        let mark = request.onlyValue(of: ObliviousUpstream.mark)
        let isRelayed =
            mark?.span.equals(ObliviousUpstream.markValue) == true
            && settings.now.configuration.obliviousUpstream != nil
        perform(
            request, responder, from: isRelayed ? .oblivious : .network(responder.source),
            isHandedOn: false)
    }

    /// One push to the push token of the instance token, which shows a device that pushes arrive.
    /// The answer and its time are the same where nothing is registered.
    func handleWake(_ request: Request, _ responder: Responder) {
        guard request.method == .post else {
            return responder.respond(.methodNotAllowed(allow: "POST"))
        }
        guard let token = request.bearerToken.flatMap({ InstanceToken(text: $0.span) }) else {
            let isAuthorized = request.onlyValue(of: "authorization") != nil
            return responder.respond(
                .problem(isAuthorized ? .instanceTokenMalformed : .instanceTokenMissing))
        }
        switch testPushes.refusal(for: token) {
        case .tooSoon(let seconds):
            return responder.respond(.problem(.wakeTooSoon, retryAfter: seconds))
        case .tooMany: return responder.respond(.problem(.overloaded))
        case nil: break
        }
        store.perform(
            .read(token),
            preparing: { [health, testPushes] answer in
                health.storeAnswered()
                if case .stored(let stored?) = answer { testPushes.send(to: stored.token) }
                let response: Response =
                    switch answer {
                    case .unavailable: .problem(.storeUnavailable)
                    case .overloaded: .problem(.overloaded)
                    default: .accepted
                    }
                return { responder.respond(response) }
            })
    }

    /// The listener of `[cluster]`: deletions that other shards hand on, and nothing else.
    func handleHandedOn(_ request: Request, _ responder: Responder) {
        guard request.isPath(ShardPeers.path), request.query == nil else {
            return responder.respond(.problem(.notFound))
        }
        guard request.method == .delete else {
            return responder.respond(.methodNotAllowed(allow: "DELETE"))
        }
        perform(request, responder, from: .network(nil), isHandedOn: true)
    }

    private func perform(
        _ request: Request, _ responder: Responder, from origin: RegistrationOrigin,
        isHandedOn: Bool
    ) {
        let call = Call(
            method: request.method, bearerToken: request.bearerToken,
            isAuthorized: request.onlyValue(of: "authorization") != nil, body: request.body,
            origin: origin, isHandedOn: isHandedOn)
        perform(call) { response in { responder.respond(response) } }
    }

    func perform(_ call: Call, preparing prepare: @escaping Preparation) {
        switch call.method {
        case .put, .get, .delete: break
        default: return prepare(.methodNotAllowed(allow: "PUT, GET, DELETE"))()
        }
        guard let text = call.bearerToken, let token = InstanceToken(text: text.span) else {
            return prepare(
                .problem(call.isAuthorized ? .instanceTokenMalformed : .instanceTokenMissing))()
        }
        switch call.method {
        case .put: register(token, call, prepare)
        case .get: submit(.read(token), token, prepare)
        default:
            guard !call.isHandedOn else { return submit(.delete(token), token, prepare) }
            // The own row last: the answer leaves on the store's grid, also if a shard is away.
            peers.forget(token) { isDone in
                submit(.delete(token), token, prepare, insteadOfDone: isDone ? nil : .unavailable)
            }
        }
    }

    private func register(
        _ token: InstanceToken, _ call: Call, _ prepare: @escaping Preparation
    ) {
        var body = Array(call.body)
        defer { body.wipe() }
        do throws(RegistrationBodyError) {
            let registration = try RegistrationBody(decoding: body)
            if let problem = settings.now.admission.problem(with: registration.token) {
                return prepare(.problem(problem))()
            }
            guard
                let question = newRegistrations.question(
                    token, proof: registration.proof, from: call.origin)
            else { return prepare(newRegistrations.challenge(for: token))() }
            submit(.register(token, registration.token, ifNew: question), token, prepare)
        } catch { prepare(.problem(Problem(error)))() }
    }

    /// Answers when the store has: after the flush. What it says is rendered before its time has
    /// come: a row takes longer to render than none.
    private func submit(
        _ operation: StoreOperation, _ token: InstanceToken, _ prepare: @escaping Preparation,
        insteadOfDone: StoreAnswer? = nil
    ) {
        store.perform(
            operation,
            preparing: { [health, newRegistrations] answer in
                health.storeAnswered()
                let response: Response =
                    switch answer == .done ? insteadOfDone ?? .done : answer {
                    case .done: .done
                    case .stored(let stored): Self.response(stored)
                    case .notAdmitted: newRegistrations.challenge(for: token)
                    case .full: .problem(.storeFull)
                    case .unavailable: .problem(.storeUnavailable)
                    case .overloaded: .problem(.overloaded)
                    }
                return prepare(response)
            })
    }

    private static func response(_ stored: StoredRegistration?) -> Response {
        .json(RegistrationResponse(stored: stored, policyHash: PrivacyPolicy.hash).encode())
    }
}
