import Synchronization
import WakeStore

/// Says once when the store stops taking registrations, and once when it takes them again: an
/// operator must not learn it from users, nor from a thousand lines.
final class StoreWatch: Sendable {
    private let counters: StoreCounters
    private let log: Log
    private let said = Atomic<UInt8>(StoreCondition.ready.rawValue)

    init(_ counters: StoreCounters, log: Log) {
        self.counters = counters
        self.log = log
    }

    /// Called with every answer of the store: one comparison as long as nothing changes.
    func look() {
        let condition = counters.condition
        let before = said.exchange(condition.rawValue, ordering: .relaxed)
        guard before != condition.rawValue else { return }
        switch condition {
        case .ready: log(.storeRecovered)
        case .full: log(.storeFull)
        case .failing: log(.storeFailing)
        case .failed, .closed: break
        }
    }
}
