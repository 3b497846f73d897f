import Synchronization
import WakeStore

/// What the public may know of the service: a number for each, in this order, and nothing else.
enum PublicCounter: Int, CaseIterable, Sendable {
    case currentRegistrations
    case previousRegistrations
    case broadcasts
    case accepted
    case gone
    case abandoned
    case unsent
    case deletes
    case expiries

    /// For scripts.
    var name: StaticString {
        switch self {
        case .currentRegistrations: "registrations_current"
        case .previousRegistrations: "registrations_previous"
        case .broadcasts: "broadcasts"
        case .accepted: "accepted"
        case .gone: "gone"
        case .abandoned: "abandoned"
        case .unsent: "unsent"
        case .deletes: "deletes"
        case .expiries: "expiries"
        }
    }

    /// For people.
    var words: StaticString {
        switch self {
        case .currentRegistrations: "registrations written or renewed since the last rotation"
        case .previousRegistrations: "registrations not renewed since"
        case .broadcasts: "times everybody was woken"
        case .accepted: "pushes that a push service took"
        case .gone: "pushes for apps that were gone"
        case .abandoned: "pushes given up after several tries"
        case .unsent: "pushes not sent because a push service could not be used"
        case .deletes: "registrations deleted, by their apps or because the app was gone"
        case .expiries: "registrations that expired because nobody renewed them"
        }
    }

    /// Whether it is how things stood at a broadcast, and not a sum since the start.
    var isOfLastBroadcast: Bool {
        self == .currentRegistrations || self == .previousRegistrations
    }
}

/// What was counted when a broadcast had ended; nil is what that broadcast could not count.
struct ExactCounts: Sendable {
    private var values: [Int?]

    init() { values = PublicCounter.allCases.map { _ in nil } }

    subscript(counter: PublicCounter) -> Int? {
        get { values[counter.rawValue] }
        set { values[counter.rawValue] = newValue }
    }
}

extension ExactCounts {
    init(store: StoreCounters, broadcaster: Broadcaster) {
        self.init()
        let report = broadcaster.report
        // A round reads every row once; one that a restart cut in two has not counted all of them.
        if report.isComplete, let previous = report.previousRows {
            self[.previousRegistrations] = Int(clamping: previous)
            self[.currentRegistrations] = Int(clamping: report.counters.rows - previous)
        }
        let pushes = broadcaster.totals
        self[.broadcasts] = broadcaster.broadcasts.load(ordering: .relaxed)
        self[.accepted] = Int(clamping: pushes.accepted)
        self[.gone] = Int(clamping: pushes.gone)
        self[.abandoned] = Int(clamping: pushes.abandoned)
        self[.unsent] = Int(clamping: pushes.unsent)
        self[.deletes] = store.deletes.load(ordering: .relaxed)
        self[.expiries] = store.expired.load(ordering: .relaxed)
    }
}
