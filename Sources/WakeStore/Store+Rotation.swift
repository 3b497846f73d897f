private import Synchronization

extension Store {
    /// Drops the previous generation, makes the current one previous and begins a new one.
    ///
    /// Rows are erased in slices, with everybody's operations in between; then keys and roles
    /// change, and the database is written anew, while which operations wait in the mailbox.
    /// Whatever interrupts it, nothing of the current generation is in danger, and to begin again
    /// is always right.
    package func rotate() async -> RotationOutcome {
        await withCheckedContinuation { continuation in
            post(.rotation { continuation.resume(returning: $0) })
        }
    }

    /// Ends the rotation in work after its present slice; what is erased stays erased. Any thread.
    package func stopRotation() { counters.stopsRotation.store(true, ordering: .relaxed) }

    /// Writes the database anew: what a rotation put off for lack of room.
    package func compact() async -> Compaction {
        await withCheckedContinuation { continuation in
            post(.compaction { continuation.resume(returning: $0) })
        }
    }

    /// Estimates what is stored, and notes it in the counters.
    /// - Returns: nil when the files cannot be read.
    package func survey() async -> StoreSurvey? {
        await withCheckedContinuation { continuation in
            survey { continuation.resume(returning: $0) }
        }
    }

    /// The same for callers without a task of their own; answers on the writer's thread.
    package func survey(_ answer: @escaping @Sendable (StoreSurvey?) -> Void) {
        post(.survey(answer: answer))
    }
}
