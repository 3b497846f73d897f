import Synchronization
import WakeHTTP
import WakeStore
import WakeSystem

/// `/health`: for load balancers; says nothing else.
struct Health: Sendable {
    let store: StoreCounters

    private static let fields: [(StaticString, String)] =
        [("Content-Type", "text/plain")] + Response.privateFields
    private static let well = Response(200, fields: fields, body: .bytes(Array("ok\n".utf8)))
    private static let unwell = Response(
        503, fields: fields, body: .bytes(Array("unavailable\n".utf8)))

    /// A full store still deletes and answers: it is well enough to serve.
    func response() -> Response {
        switch store.condition {
        case .ready, .full: Self.well
        case .failing, .failed, .closed: Self.unwell
        }
    }
}

/// Logs once when the store stops taking registrations, and once when it takes them again.
final class StoreHealthLog: Sendable {
    private let counters: StoreCounters
    private let log: Log
    private let logged = Atomic<UInt8>(StoreCondition.ready.rawValue)

    init(_ counters: StoreCounters, log: Log) {
        self.counters = counters
        self.log = log
    }

    /// Called with every answer of the store: one comparison as long as nothing changes.
    func check() {
        let condition = counters.condition
        let before = logged.exchange(condition.rawValue, ordering: .relaxed)
        guard before != condition.rawValue else { return }
        switch condition {
        case .ready: log(.storeRecovered)
        case .full: log(.storeFull)
        case .failing: log(.storeFailing)
        case .failed, .closed: break
        }
    }
}
