package import Synchronization
package import WakeSystem

/// Counts of what the store did since it was opened, in memory only.
package final class StoreCounters: Sendable {
    package let registers = Counter("registers", "registrations written or renewed")
    /// That were there, by their apps or because the app was gone.
    package let deletes = Counter("deletes", "registrations deleted")
    package let reads = Counter("reads", "subject access requests")
    package let overloads = Counter("store_overloads", "operations refused for a full queue")
    package let refusals = Counter("store_refusals", "registrations refused for lack of room")
    package let failures = Counter("store_failures", "operations answered unavailable")
    package let commits = Counter("store_commits", "transactions made durable")
    package let truncations = Counter("store_truncations", "times the log was emptied")
    /// Of both files, as of the last batch.
    package let pages = Counter("store_pages", "pages of the database", .gauge)
    /// Estimated by the last survey, as the next.
    package let currentRows = Counter(
        "registrations_current", "registrations of the current generation, about", .gauge)
    package let previousRows = Counter(
        "registrations_previous", "registrations that the next rotation drops, about", .gauge)
    package let rotations = Counter("rotations", "rotations done")
    package let expired = Counter(
        "registrations_expired", "registrations dropped by rotations, about")
    /// Pages in use in the previous file.
    package let previousPages = Atomic<Int>(0)
    /// Rows of an earlier start, found at the opening with keys in memory.
    package let strayRows = Atomic<Int>(0)
    let generation = Atomic<UInt64>(0)
    private let conditionCode = Atomic<UInt8>(StoreCondition.ready.rawValue)

    package init() {}

    package var all: [Counter] {
        [
            currentRows, previousRows, registers, deletes, reads, commits, truncations, refusals,
            overloads, failures, pages, rotations, expired,
        ]
    }

    /// The state after the last batch with a write.
    package var condition: StoreCondition {
        StoreCondition(rawValue: conditionCode.load(ordering: .relaxed)) ?? .failed
    }

    func add(_ batch: Batch) {
        // A batch fails as a whole or not at all.
        if batch.answers.contains(.done) {
            deletes.add(batch.report.removed)
        }
        for (message, answer) in zip(batch.operations, batch.answers) {
            switch message {
            case .operation(.register, _) where answer == .done:
                registers.add()
            case .operation(.read, _): reads.add()
            case .operation, .removal: break
            case .page, .rotation, .survey, .room: break
            }
            switch answer {
            case .full: refusals.add()
            case .unavailable: failures.add()
            case .done, .stored, .notAdmitted, .overloaded: break
            }
        }
    }

    func set(_ condition: StoreCondition) {
        conditionCode.store(condition.rawValue, ordering: .relaxed)
    }
}

/// The state of the store as `/health` reports it.
package enum StoreCondition: UInt8, Sendable {
    case ready
    /// Registers are refused; deletes and reads work.
    case full
    /// The last batch could not be written.
    case failing
    /// A flush failed: the process must end.
    case failed
    case closed
}

/// An estimate of what the store holds.
package struct StoreSurvey: Sendable, Equatable {
    package let generation: UInt64
    /// Rows, exact below `Limits.surveyRows`.
    package let current: Int
    package let previous: Int
}
