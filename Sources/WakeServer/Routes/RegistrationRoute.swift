import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// `/v1/registration`: register, read, delete. Who knows the instance token may do all three: it is
/// the additional information of a subject access request (GDPR Art. 15 with Art. 11(2)).
struct RegistrationRoute: Sendable {
    let store: Store
    let health: StoreHealthLog
    let settings: Settings
    let newRegistrations: NewRegistrations

    func handle(_ request: Request, _ responder: Responder) {
        switch request.method {
        case .put, .get, .delete: break
        default: return responder.respond(.methodNotAllowed(allow: "PUT, GET, DELETE"))
        }
        guard let token = token(of: request, responder) else { return }
        switch request.method {
        case .put: register(token, request, responder)
        case .get: submit(.read(token), token, responder)
        default: submit(.delete(token), token, responder)
        }
    }

    private func register(_ token: InstanceToken, _ request: Request, _ responder: Responder) {
        var body = Array(request.body)
        defer { body.wipe() }
        do throws(RegistrationBodyError) {
            let registration = try RegistrationBody(decoding: body)
            if let problem = settings.now.admission.problem(with: registration.token) {
                return responder.respond(.problem(problem))
            }
            let question = newRegistrations.question(
                token, proof: registration.proof, from: responder.source)
            submit(.register(token, registration.token, ifNew: question), token, responder)
        } catch { responder.respond(.problem(Problem(error))) }
    }

    /// Answers when the store has: after the flush. What it says is rendered before its time has
    /// come: a row takes longer to render than none.
    private func submit(
        _ operation: StoreOperation, _ token: InstanceToken, _ responder: Responder
    ) {
        store.perform(
            operation,
            preparing: { [health, newRegistrations] answer in
                health.check()
                let response: Response =
                    switch answer {
                    case .done: .done
                    case .stored(let stored): Self.response(stored)
                    case .notAdmitted: newRegistrations.challenge(for: token)
                    case .full: .problem(.storeFull)
                    case .unavailable: .problem(.storeUnavailable)
                    case .overloaded: .problem(.overloaded)
                    }
                return { responder.respond(response) }
            })
    }

    private static func response(_ stored: StoredRegistration?) -> Response {
        .json(RegistrationResponse(stored: stored, policyHash: PrivacyPolicy.hash).encode())
    }

    /// The instance token of the request; answers 401 itself when there is none.
    private func token(of request: Request, _ responder: Responder) -> InstanceToken? {
        if let text = request.bearerToken, let token = InstanceToken(text: text.span) {
            return token
        }
        let isMissing = request.onlyValue(of: "authorization") == nil
        responder.respond(
            .problem(isMissing ? .instanceTokenMissing : .instanceTokenMalformed))
        return nil
    }
}
