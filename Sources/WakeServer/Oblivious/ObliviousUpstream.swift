import WakeFetch
import WakeHTTP
import WakeModel

/// The front of several shards (`[oblivious] upstream`): what was inside an encapsulated request is
/// passed on to it, so that it reaches the shard that its instance token belongs to. Of the inner
/// request the method, the token and the body are passed on, to one path: it cannot come back here.
struct ObliviousUpstream: Sendable {
    let address: ServiceAddress
    let client: ServiceClient

    /// Marks a request that came through a relay, which the shard counts with those. Whoever sends
    /// it gains nothing: anybody may send encapsulated requests.
    static let mark: StaticString = "Reveille-Through"
    static let markValue: StaticString = "relay"

    private static let patience = Duration.seconds(15)

    /// - Returns: false where the call is none to be passed on: it is refused here.
    func perform(
        _ call: RegistrationRoute.Call, preparing prepare: @escaping RegistrationRoute.Preparation
    ) -> Bool {
        let method: FetchRequest.Method
        switch call.method {
        case .put: method = .put
        case .get: method = .get
        case .delete: method = .delete
        default: return false
        }
        guard let text = call.bearerToken, let token = InstanceToken(text: text.span) else {
            return false
        }
        var fields = [FetchField(Self.mark, Self.markValue)]
        if method == .put { fields.append(FetchField("Content-Type", "application/json")) }
        client.send(
            method, RegistrationRoute.path, to: address, token: token, fields: fields,
            body: method == .put ? Array(call.body) : nil, within: Self.patience
        ) { prepare(Self.response($0))() }
        return true
    }

    /// The shard's answer as a shard would give it here; else that of a front without a shard.
    private static func response(_ result: ServiceClient.Result) -> Response {
        guard case .success(let (answer, body)) = result else { return .problem(.storeUnavailable) }
        switch (answer.status, answer.contentType) {
        case (204, _): return .done
        case (200, .json): return .json(body)
        case (400..<600, .problem):
            let wait = answer.retryAfter.map { [("Retry-After" as StaticString, String($0))] }
            return Response(
                UInt16(answer.status),
                fields: [
                    ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
                ] + (wait ?? []), body: .bytes(body))
        default: return .problem(.storeUnavailable)
        }
    }
}
