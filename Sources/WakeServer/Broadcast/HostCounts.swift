import WakeModel
import WakePush

/// The counts of a run at the hosts of Web Push, by their kind, since this process took it up.
package struct HostCounts: Sendable, Equatable {
    package enum Outcome: String, CaseIterable, Sendable {
        case accepted, gone, abandoned
        /// Not woken by a heartbeat, see ``Gateway/takesHeartbeats(_:)``.
        case skipped
    }

    private var counts: [PushHostKind: [Outcome: Int]] = [:]

    /// Rows of other push services are not counted.
    mutating func add(_ delivery: Delivery, _ token: PushToken) {
        switch delivery {
        case .accepted: count(.accepted, token)
        case .gone, .invalid: count(.gone, token)
        case .retry: count(.abandoned, token)
        }
    }

    mutating func skip(_ token: PushToken) { count(.skipped, token) }

    private mutating func count(_ outcome: Outcome, _ token: PushToken) {
        guard let kind = PushHostKind(token) else { return }
        counts[kind, default: [:]][outcome, default: 0] += 1
    }

    /// Kinds of host with rows in the run.
    var kinds: [PushHostKind] { PushHostKind.allCases.filter { counts[$0] != nil } }

    func count(_ outcome: Outcome, _ kind: PushHostKind) -> Int { counts[kind]?[outcome] ?? 0 }

    /// Writes the member `hosts` of a report.
    func addMember(to text: inout JSONText) {
        text.beginObject("hosts")
        for kind in kinds {
            text.beginObject(kind.name)
            for outcome in Outcome.allCases {
                text.member(named: outcome.rawValue, number: count(outcome, kind))
            }
            text.endObject()
        }
        text.endObject()
    }
}
