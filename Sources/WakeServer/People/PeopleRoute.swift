import Synchronization
import WakeHTTP

/// What anybody may look at: the page, and the rounded counters behind it.
final class PeopleRoute: Sendable {
    private struct State {
        var counters = PublicCounters()
        var audit: AuditVerdict?
    }

    private let page: PeoplePage
    private let state = Mutex(State())

    /// - Parameter retentionDays: after which a row that nobody renews is gone for certain.
    init(retentionDays: Int) { page = PeoplePage(retentionDays: retentionDays) }

    func show() -> Response {
        let state = state.withLock { $0 }
        return page.answer(state.counters, audit: state.audit)
    }

    func count() -> Response { Answers.json(state.withLock { $0.counters }.encode()) }

    /// A broadcast has ended: what was counted until then may be told.
    func take(_ counts: ExactCounts) {
        var random = SystemRandomNumberGenerator()
        state.withLock { $0.counters.take(counts, using: &random) }
    }

    /// The operator's last audit is shown from now on, until the service ends.
    func take(_ verdict: AuditVerdict) { state.withLock { $0.audit = verdict } }
}
