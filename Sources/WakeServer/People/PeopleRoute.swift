import Synchronization
import WakeHTTP
import WakeModel
import WakeStore

/// What anybody may look at: the page, and the rounded counters behind it.
final class PeopleRoute: Sendable {
    private let page = PeoplePage()
    private let counters: @Sendable () -> PublicCounters
    private let audit = Mutex<AuditVerdict?>(nil)

    init(counters: @escaping @Sendable () -> PublicCounters) {
        self.counters = counters
    }

    func show() -> Response { page.answer(counters(), audit: audit.withLock { $0 }) }

    func count() -> Response { Answers.json(counters().encode()) }

    /// The operator's last audit is shown from now on, until the service ends.
    func take(_ verdict: AuditVerdict) { audit.withLock { $0 = verdict } }
}

extension PublicCounters {
    init(store: StoreCounters, broadcaster: Broadcaster) {
        self.init(
            deletes: store.deletes.load(ordering: .relaxed),
            broadcasts: broadcaster.broadcasts.load(ordering: .relaxed),
            pushes: broadcaster.totals)
    }

    /// - Parameter pushes: of all rounds since the start.
    init(deletes: Int, broadcasts: Int, pushes: RoundCounters) {
        add("deletes", "registrations deleted by their apps", deletes)
        add("gone", "registrations deleted because the app was gone", pushes.deleted)
        add("broadcasts", "times everybody was woken", broadcasts)
        add("accepted", "pushes that a push service took", pushes.accepted)
        add("abandoned", "pushes given up after several tries", pushes.abandoned)
        add("unsent", "pushes not sent because a push service could not be used", pushes.unsent)
    }
}
