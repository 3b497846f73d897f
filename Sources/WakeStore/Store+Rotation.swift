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
            post(.survey { continuation.resume(returning: $0) })
        }
    }
}
