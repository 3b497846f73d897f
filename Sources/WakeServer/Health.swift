import WakeHTTP
import WakeStore

/// `/health`: for load balancers; says nothing else.
struct Health: Sendable {
    let store: StoreCounters

    private static let fields: [(StaticString, String)] =
        [("Content-Type", "text/plain")] + Answers.privateFields
    private static let well = Response(200, fields: fields, body: .bytes(Array("ok\n".utf8)))
    private static let unwell = Response(
        503, fields: fields, body: .bytes(Array("unavailable\n".utf8)))

    /// A full store still deletes and answers: it is well enough to serve.
    func answer() -> Response {
        switch store.condition {
        case .ready, .full: Self.well
        case .failing, .failed, .closed: Self.unwell
        }
    }
}
