import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// `/v1/registration`: register, read, delete. Who knows the instance token may do all three: it is
/// the additional information of a subject access request (GDPR Art. 15 with Art. 11(2)).
struct RegistrationRoute: Sendable {
    let store: Store
    let health: StoreHealthLog
    let admission: Admission
    let new: NewRegistrations

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
            let wish = try RegistrationBody(decoding: body)
            if let problem = admission.problem(with: wish.token) {
                return responder.respond(.problem(problem))
            }
            let question = new.question(token, proof: wish.proof, from: responder.source)
            submit(.register(token, wish.token, ifNew: question), token, responder)
        } catch { responder.respond(.problem(Problem(error))) }
    }

    /// Answers when the store has: after the flush. What it says is rendered before its time has
    /// come: a row takes longer to render than none.
    private func submit(
        _ operation: StoreOperation, _ token: InstanceToken, _ responder: Responder
    ) {
        store.perform(
            operation,
            preparing: { [health, new] answer in
                health.check()
                let response: Response =
                    switch answer {
                    case .done: .done
                    case .stored(let stored): Self.response(stored)
                    case .notAdmitted: new.challenge(for: token)
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

    /// The bearer token of the request (RFC 6750 §2.1); answers 401 itself when there is none.
    private func token(of request: Request, _ responder: Responder) -> InstanceToken? {
        let values = request.values(of: "authorization")
        guard let value = values.first, values.count == 1 else {
            responder.respond(.problem(.instanceTokenMissing))
            return nil
        }
        guard let token = Self.bearer(value) else {
            responder.respond(.problem(.instanceTokenMalformed))
            return nil
        }
        return token
    }

    /// RFC 9110 §11.1: the scheme's case does not matter.
    private static func bearer(_ value: ArraySlice<UInt8>) -> InstanceToken? {
        let scheme = Array("bearer ".utf8)
        guard value.count == scheme.count + InstanceToken.textCount,
            zip(value, scheme).allSatisfy({ $0 | 0x20 == $1 })
        else { return nil }
        let text = value.dropFirst(scheme.count)
        return InstanceToken(text: text.span)
    }
}
