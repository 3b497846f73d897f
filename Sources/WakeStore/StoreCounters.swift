package import Synchronization

/// Counts of what the store did since it was opened, in memory only.
package final class StoreCounters: Sendable {
    /// Registrations written or renewed.
    package let registers = Atomic<Int>(0)
    /// Registrations deleted that were there, by their apps or because the app was gone.
    package let deletes = Atomic<Int>(0)
    package let reads = Atomic<Int>(0)
    /// Operations refused because the queue was full.
    package let overloads = Atomic<Int>(0)
    /// Registers refused for lack of room.
    package let refusals = Atomic<Int>(0)
    /// Operations answered unavailable.
    package let failures = Atomic<Int>(0)
    /// Transactions made durable.
    package let commits = Atomic<Int>(0)
    /// Times the log was emptied.
    package let truncations = Atomic<Int>(0)
    /// Pages in use in both files, and in the previous one, as of the last batch.
    package let pages = Atomic<Int>(0)
    package let previousPages = Atomic<Int>(0)
    /// Registrations of either generation, estimated by the last survey.
    package let currentRows = Atomic<Int>(0)
    package let previousRows = Atomic<Int>(0)
    /// Rows of an earlier start, found at the opening with keys in memory.
    package let strayRows = Atomic<Int>(0)
    package let rotations = Atomic<Int>(0)
    /// Rows dropped by them, estimated where there were many.
    package let expired = Atomic<Int>(0)
    let generation = Atomic<UInt64>(0)
    private let conditionCode = Atomic<UInt8>(StoreCondition.ready.rawValue)

    package init() {}

    /// The state after the last batch with a write.
    package var condition: StoreCondition {
        StoreCondition(rawValue: conditionCode.load(ordering: .relaxed)) ?? .failed
    }

    func add(_ batch: Batch) {
        // A batch fails as a whole or not at all.
        if batch.answers.contains(.done) {
            deletes.add(batch.report.removed, ordering: .relaxed)
        }
        for (message, answer) in zip(batch.operations, batch.answers) {
            switch message {
            case .operation(.register, _) where answer == .done:
                registers.add(1, ordering: .relaxed)
            case .operation(.read, _): reads.add(1, ordering: .relaxed)
            case .operation, .removal: break
            case .page, .rotation, .survey, .room: break
            }
            switch answer {
            case .full: refusals.add(1, ordering: .relaxed)
            case .unavailable: failures.add(1, ordering: .relaxed)
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
