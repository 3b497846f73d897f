import WakeHTTP
import WakeModel
import WakeStore

/// `/v1/registration`: register, look, forget. Whoever knows the instance token may do all three.
struct RegistrationRoute: Sendable {
    let store: Store
    let watch: StoreWatch
    let admission: Admission

    func handle(_ request: Request, _ exchange: Exchange) {
        switch request.method {
        case .put: register(request, exchange)
        case .get: read(request, exchange)
        case .delete: delete(request, exchange)
        default: exchange.respond(.methodNotAllowed(allow: "PUT, GET, DELETE"))
        }
    }

    private func register(_ request: Request, _ exchange: Exchange) {
        guard let token = token(of: request, exchange) else { return }
        var body = Array(request.body)
        defer { wipe(&body) }
        do throws(RegistrationBodyError) {
            let pushToken = try RegistrationBody.decode(body)
            if let problem = admission.problem(with: pushToken) {
                return exchange.respond(Answers.problem(problem))
            }
            submit(.register(token, pushToken), exchange) { _ in Answers.done }
        } catch {
            exchange.respond(Answers.problem(Problem(error)))
        }
    }

    private func delete(_ request: Request, _ exchange: Exchange) {
        guard let token = token(of: request, exchange) else { return }
        submit(.delete(token), exchange) { _ in Answers.done }
    }

    /// Subject access (GDPR Art. 15 with Art. 11(2)): the token is the additional information.
    private func read(_ request: Request, _ exchange: Exchange) {
        guard let token = token(of: request, exchange) else { return }
        submit(.read(token), exchange) { stored in
            let answer = RegistrationAnswer(stored: stored, policyHash: PrivacyPolicy.hash)
            return Answers.json(answer.encode())
        }
    }

    /// Answers when the store has: on its thread, after the flush.
    private func submit(
        _ operation: StoreOperation, _ exchange: Exchange,
        _ success: @escaping @Sendable (StoredRegistration?) -> Response
    ) {
        store.submit(operation) { [watch] answer in
            watch.look()
            switch answer {
            case .done: exchange.respond(success(nil))
            case .stored(let registration): exchange.respond(success(registration))
            case .full: exchange.respond(Answers.problem(.storeFull))
            case .unavailable: exchange.respond(Answers.problem(.storeUnavailable))
            case .overloaded: exchange.respond(Answers.problem(.overloaded))
            }
        }
    }

    /// The bearer token of the request (RFC 6750 §2.1); answers 401 itself when there is none.
    private func token(of request: Request, _ exchange: Exchange) -> InstanceToken? {
        let values = request.values(of: "authorization")
        guard let value = values.first, values.count == 1 else {
            exchange.respond(Answers.problem(.instanceTokenMissing))
            return nil
        }
        guard let token = Self.bearer(value) else {
            exchange.respond(Answers.problem(.instanceTokenMalformed))
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
