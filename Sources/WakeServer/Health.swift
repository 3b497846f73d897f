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

/// Says once that the store stopped taking registrations, and once that it takes them again.
final class StoreHealthLog: Sendable {
    private let counters: StoreCounters
    private let log: Log
    private let isTroubled = Atomic<Bool>(false)
    private let watch = Mutex(StoreWatch())

    init(_ counters: StoreCounters, log: Log) {
        self.counters = counters
        self.log = log
    }

    /// Called with every answer of the store: two comparisons as long as all is well.
    func check() {
        let condition = counters.condition
        guard condition != .ready || isTroubled.load(ordering: .relaxed) else { return }
        let said = watch.withLock { watch in
            let said = watch.note(condition, now: SystemClock.monotonicMilliseconds)
            isTroubled.store(watch.said != .ready, ordering: .relaxed)
            return said
        }
        switch said {
        case .ready: log(.storeRecovered)
        case .full: log(.storeFull)
        case .failing: log(.storeFailing)
        case .failed, .closed, nil: break
        }
    }
}

/// What is worth saying of the store's condition: what is worse at once, what is better once it has
/// lasted. Near a full disk every other request may find room.
struct StoreWatch {
    /// Milliseconds that something better must last.
    static let quietTime: UInt64 = 60_000

    private(set) var said = StoreCondition.ready
    private var betterSince: UInt64?

    /// - Parameter now: milliseconds of a steady clock.
    /// - Returns: what to say now.
    mutating func note(_ condition: StoreCondition, now: UInt64) -> StoreCondition? {
        let isBetter = condition.rawValue < said.rawValue
        let since = betterSince ?? now
        betterSince = isBetter ? since : nil
        guard condition != said, !isBetter || now - since >= Self.quietTime else { return nil }
        betterSince = nil
        said = condition
        return condition
    }
}
