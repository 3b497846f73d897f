import Synchronization
import WakeModel
import WakeStore
import WakeSystem

/// The counts of this process for everybody: in memory only, rounded, nothing about one person.
///
/// They change only when a broadcast has ended, so two readings cannot be taken around what one
/// person does. An unchanged count is not drawn again: many draws would give it away.
struct PublicCounters {
    private var published: [PublicCounter: (exact: Int, count: RoundedCount)] = [:]
    subscript(counter: PublicCounter) -> RoundedCount? { published[counter]?.count }

    mutating func update(_ counts: ExactCounts, using random: inout some RandomNumberGenerator) {
        for counter in PublicCounter.allCases {
            guard let exact = counts[counter], published[counter]?.exact != exact else { continue }
            published[counter] = (exact, RoundedCount(exact, using: &random))
        }
    }

    /// One object; a count too small to publish is null, one not counted yet is missing.
    func encode() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        text.member("rounded_to", number: RoundedCount.step)
        text.member("null_under", number: RoundedCount.least)
        for isOfLastBroadcast in [true, false] {
            text.beginObject(isOfLastBroadcast ? "last_broadcast" : "since_start")
            for counter in PublicCounter.allCases {
                guard counter.isOfLastBroadcast == isOfLastBroadcast, let count = self[counter]
                else { continue }
                text.member(counter.name, raw: count.value.map(String.init) ?? "null")
            }
            text.endObject()
        }
        text.endObject()
        return text.bytes + [UInt8(ascii: "\n")]
    }
}

enum PublicCounter: Int, CaseIterable, Sendable {
    case currentRegistrations, previousRegistrations
    case broadcasts, accepted, gone, abandoned, unsent, deletes, expiries

    private static let texts: [(name: StaticString, label: StaticString)] = [
        ("registrations_current", "registrations written or renewed since the last rotation"),
        ("registrations_previous", "registrations not renewed since"),
        ("broadcasts", "times everybody was woken"),
        ("accepted", "pushes that a push service took"),
        ("gone", "pushes for apps that were gone"),
        ("abandoned", "pushes given up after several tries"),
        ("unsent", "pushes not sent because a push service could not be used"),
        ("deletes", "registrations deleted, by their apps or because the app was gone"),
        ("expiries", "registrations that expired because nobody renewed them"),
    ]

    var name: StaticString { Self.texts[rawValue].name }
    var label: StaticString { Self.texts[rawValue].label }
    /// Whether it is the state at the last broadcast, and not a sum since the start.
    var isOfLastBroadcast: Bool { self == .currentRegistrations || self == .previousRegistrations }
}

/// The exact counts at the end of a broadcast, without those that it could not count.
typealias ExactCounts = [PublicCounter: Int]

extension ExactCounts {
    init(store: StoreCounters, broadcaster: Broadcaster) {
        let report = broadcaster.report
        let pushes = broadcaster.totals
        self = [
            .broadcasts: broadcaster.broadcasts.load(ordering: .relaxed),
            .accepted: Int(clamping: pushes.accepted), .gone: Int(clamping: pushes.gone),
            .abandoned: Int(clamping: pushes.abandoned), .unsent: Int(clamping: pushes.unsent),
            .deletes: store.deletes.load(ordering: .relaxed),
            .expiries: store.expired.load(ordering: .relaxed),
        ]
        // A run reads every row once; one that a restart cut in two has not counted all of them.
        guard report.isComplete, let previous = report.previousRows else { return }
        self[.previousRegistrations] = Int(clamping: previous)
        self[.currentRegistrations] = Int(clamping: report.counters.rows - previous)
    }
}

/// A count rounded to one of the two nearest tens at random, and withheld under 20.
///
/// Plain rounding has edges: somebody who makes the count reach one, by events of their own, sees
/// the next event of somebody else. Here one event more or less changes the probability of any
/// result by at most one in ten, whatever the count.
struct RoundedCount: Equatable {
    /// nil: withheld.
    let value: Int?

    static let least = 20
    static let step = 10

    /// - Parameter draw: drawn evenly from `0..<step`.
    init(_ exact: Int, draw: Int) {
        precondition(exact >= 0 && (0..<Self.step).contains(draw), "a count, and one of ten")
        // The same draw decides both: two of them would let two in ten through at some counts.
        guard exact - draw >= Self.least else {
            value = nil
            return
        }
        let raised = min(exact, Int.max - Self.step) + Self.step - 1 - draw
        value = raised - raised % Self.step
    }

    init(_ exact: Int, using random: inout some RandomNumberGenerator) {
        self.init(exact, draw: Int.random(in: 0..<Self.step, using: &random))
    }

    var text: String { value.map(String.init) ?? "fewer than \(Self.least)" }
}
