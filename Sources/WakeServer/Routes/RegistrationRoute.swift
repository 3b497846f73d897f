import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// `/v1/registration`: register, read, delete. Who knows the instance token may do all three.
struct RegistrationRoute: Sendable {
    let store: Store
    let health: StoreHealthLog
    let admission: Admission

    func handle(_ request: Request, _ responder: Responder) {
        switch request.method {
        case .put: register(request, responder)
        case .get: read(request, responder)
        case .delete: delete(request, responder)
        default: responder.respond(.methodNotAllowed(allow: "PUT, GET, DELETE"))
        }
    }

    private func register(_ request: Request, _ responder: Responder) {
        guard let token = token(of: request, responder) else { return }
        var body = Array(request.body)
        defer { body.wipe() }
        do throws(RegistrationBodyError) {
            let pushToken = try RegistrationBody.decode(body)
            if let problem = admission.problem(with: pushToken) {
                return responder.respond(.problem(problem))
            }
            submit(.register(token, pushToken), responder) { _ in .done }
        } catch { responder.respond(.problem(Problem(error))) }
    }

    private func delete(_ request: Request, _ responder: Responder) {
        guard let token = token(of: request, responder) else { return }
        submit(.delete(token), responder) { _ in .done }
    }

    /// Subject access (GDPR Art. 15 with Art. 11(2)): the token is the additional information.
    private func read(_ request: Request, _ responder: Responder) {
        guard let token = token(of: request, responder) else { return }
        submit(.read(token), responder) { stored in
            let answer = RegistrationResponse(stored: stored, policyHash: PrivacyPolicy.hash)
            return .json(answer.encode())
        }
    }

    /// Answers when the store has: on its thread, after the flush.
    private func submit(
        _ operation: StoreOperation, _ responder: Responder,
        _ success: @escaping @Sendable (StoredRegistration?) -> Response
    ) {
        store.submit(operation) { [health] answer in
            health.check()
            switch answer {
            case .done: responder.respond(success(nil))
            case .stored(let registration): responder.respond(success(registration))
            case .full: responder.respond(.problem(.storeFull))
            case .unavailable: responder.respond(.problem(.storeUnavailable))
            case .overloaded: responder.respond(.problem(.overloaded))
            }
        }
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
