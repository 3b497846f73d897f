private import Glibc
private import Synchronization
import WakeModel
import WakeSQLite
import WakeSystem

/// A rotation: erases the previous generation step by step, then exchanges keys and roles. A
/// ``Compaction`` follows.
struct Rotation {
    enum Step {
        case goesOn
        case failed(RotationFailure)
        case rotated(generation: UInt64, dropped: Int)
    }

    /// Room for an entry in the keys' directory, and how often it is asked for.
    private static let keyBytes = 1 << 16
    private static let keyAttempts = 16

    private let database: OpenDatabase
    private var step = StepSize()

    init(_ database: OpenDatabase) {
        self.database = database
        database.counters.stopsRotation.store(false, ordering: .relaxed)
    }

    /// Makes one step, between two batches of callers.
    /// - Parameter commit: commits a batch; its answers say how that went.
    mutating func advance(commit: (inout Batch) -> Void) -> Step {
        if database.counters.stopsRotation.load(ordering: .relaxed) { return .failed(stop()) }
        let begun = SystemClock.monotonicNanoseconds
        var batch = Batch([.expiry(rows: step.rows)])
        commit(&batch)
        guard batch.answers == [.done] else {
            // There may be room for a shorter log.
            if !database.isDead, database.counters.condition == .full, step.shrink() {
                return .goesOn
            }
            return .failed(.unavailable)
        }
        step.adapt(toStepSince: begun)
        database.countDropped(batch.report.erased)
        database.counters.expired.add(batch.report.erased, ordering: .relaxed)
        return batch.report.erased == 0 ? switchGenerations() : .goesOn
    }

    /// Ends it before it is done; the next one continues.
    func stop() -> RotationFailure { database.isDead ? .unavailable : .stopped }

    /// The previous table is empty, durably: nothing in any file needs the older keys any more.
    private func switchGenerations() -> Step {
        do throws(SQLiteError) {
            // The last erased rows may be in the log even so.
            try database.truncateLogIfUsed()
        } catch {
            database.fail(error)
            return .failed(.unavailable)
        }
        let next = database.keys.rotated()
        switch replaceKeys(by: next) {
        case .done: break
        case .refused(let number): return .failed(.keysUnwritable(number))
        case .unknown:
            database.die()
            return .failed(.unavailable)
        }
        do throws(SQLiteError) {
            try database.switchKeys(to: next)
        } catch {
            // The open tables have the keys of before.
            database.die()
            return .failed(.unavailable)
        }
        database.counters.rotations.add(1, ordering: .relaxed)
        return .rotated(generation: next.generation, dropped: database.takeDropped())
    }

    /// On a full disk the room of the reserve goes straight to the new file, which is open by then:
    /// another process has no more than the moment between two system calls to take it.
    private func replaceKeys(by next: KeyFile) -> KeyFile.Replacement {
        let reserve = database.reserve
        defer { _ = reserve.fill() }
        for _ in 0..<Self.keyAttempts {
            let result = next.replace(database.configuration) { file in
                reserve.lend(KeyFile.byteCount, to: file, behind: 0)
            }
            guard result.isOutOfRoom, reserve.held > 0 else { return result }
            // There was no room for its name, or it is on another disk.
            reserve.release(Self.keyBytes)
        }
        return .refused(ENOSPC)
    }
}

package enum RotationOutcome: Sendable, Equatable {
    case rotated(RotationReport)
    /// Nothing has changed except that rows which would have been dropped may be gone already; the
    /// next report counts them.
    case failed(RotationFailure)
}

package struct RotationReport: Sendable, Equatable {
    /// Number of the generation that is current now.
    package let generation: UInt64
    package let dropped: Int
    package let compaction: CompactionOutcome
}

package enum RotationFailure: Sendable, Equatable {
    /// Another rotation is running.
    case running
    /// The store closed before it was done.
    case stopped
    /// The files cannot be written now.
    case unavailable
    /// The key file cannot be replaced: errno.
    case keysUnwritable(Int32)
}
