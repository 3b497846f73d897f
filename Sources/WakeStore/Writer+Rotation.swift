private import Synchronization
import WakeModel
import WakeSQLite

/// A rotation that erases, slice by slice.
struct RotationWork {
    var dropped = 0
    /// Rows in a slice; fewer when there is little room for the log.
    var slice = Limits.expiryRows
    let answer: @Sendable (RotationOutcome) -> Void
}

extension Writer {
    /// Less than this in one transaction would never end.
    private static let leastSlice = 32

    func beginRotation(_ answer: @escaping @Sendable (RotationOutcome) -> Void) {
        guard rotation == nil else { return answer(.failed(.inWork)) }
        counters.stopsRotation.store(false, ordering: .relaxed)
        rotation = RotationWork(answer: answer)
    }

    /// One step, between two batches.
    func advanceRotation() {
        guard var work = rotation else { return }
        if counters.stopsRotation.load(ordering: .relaxed) { return stopRotation() }
        var batch = Batch([.expiry(rows: work.slice)])
        batch.isCalm = false
        complete(&batch)
        guard batch.answers == [.done] else {
            if !isDead, counters.condition == .full, work.slice > Self.leastSlice {
                work.slice /= 4
                rotation = work
                return
            }
            return endRotation(.failed(.unavailable))
        }
        work.dropped += batch.report.erased
        counters.expired.add(batch.report.erased, ordering: .relaxed)
        rotation = work
        if batch.report.erased == 0 { turnOver(work) }
    }

    /// The store closes: what is erased is erased, and the next rotation goes on from there.
    func stopRotation() {
        if rotation != nil { endRotation(.failed(isDead ? .unavailable : .stopped)) }
    }

    /// The previous table is empty, durably: nothing in any file needs the older keys any more.
    private func turnOver(_ work: RotationWork) {
        do throws(SQLiteError) {
            // The last erased rows may be in the log even so.
            if owesTruncation || loggedPages > 0 { try truncate() }
        } catch {
            fail(error)
            return endRotation(.failed(.unavailable))
        }
        let next = keys.rotated()
        switch next.replace(configuration) {
        case .done: break
        case .refused(let number): return endRotation(.failed(.keysUnwritable(number)))
        case .unknown:
            die()
            return endRotation(.failed(.unavailable))
        }
        do throws(SQLiteError) {
            try turn(next)
        } catch {
            // The tables in hand have the keys of before.
            die()
            return endRotation(.failed(.unavailable))
        }
        counters.rotations.add(1, ordering: .relaxed)
        let compaction = compact()
        _ = survey()
        endRotation(
            .rotated(
                RotationReport(
                    generation: next.generation, dropped: work.dropped, compaction: compaction)))
    }

    private func endRotation(_ outcome: RotationOutcome) {
        let answer = rotation?.answer
        rotation = nil
        answer?(outcome)
    }
}
