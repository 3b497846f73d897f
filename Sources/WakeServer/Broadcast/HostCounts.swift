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

    mutating func add(_ delivery: Delivery, _ kind: PushHostKind) {
        switch delivery {
        case .accepted: record(.accepted, kind)
        case .gone, .invalid: record(.gone, kind)
        case .retry: record(.abandoned, kind)
        }
    }

    /// Rows of other push services are not counted.
    mutating func skip(_ token: PushToken) {
        if let kind = PushHostKind(token) { record(.skipped, kind) }
    }

    private mutating func record(_ outcome: Outcome, _ kind: PushHostKind) {
        counts[kind, default: [:]][outcome, default: 0] += 1
    }

    mutating func add(_ other: HostCounts) {
        for (kind, counts) in other.counts {
            self.counts[kind, default: [:]].merge(counts, uniquingKeysWith: +)
        }
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
