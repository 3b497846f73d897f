/// All refusals, rendered once.
struct RefusalResponses: Sendable {
    private let responses: [Response]

    init(retryAfterSeconds: Int) {
        responses = Refusal.allCases.map { $0.response(retryAfterSeconds: retryAfterSeconds) }
    }

    subscript(refusal: Refusal) -> Response {
        guard let index = Refusal.allCases.firstIndex(of: refusal) else {
            preconditionFailure("allCases names every refusal")
        }
        return responses[index]
    }
}
