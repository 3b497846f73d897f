/// What a rotation did.
package struct RotationReport: Sendable, Equatable {
    /// Number of the generation that is current now.
    package let generation: UInt64
    /// Rows of the generation that is no more.
    package let dropped: Int
    package let compaction: Compaction

    package init(generation: UInt64, dropped: Int, compaction: Compaction) {
        self.generation = generation
        self.dropped = dropped
        self.compaction = compaction
    }
}

/// How a rotation ended.
package enum RotationOutcome: Sendable, Equatable {
    case rotated(RotationReport)
    /// Nothing has changed but that rows which would have been dropped may be gone already.
    case failed(RotationFailure)
}

/// Why the generations are what they were.
package enum RotationFailure: Sendable, Equatable {
    /// One is in work.
    case inWork
    /// The store closed before it was done.
    case stopped
    /// The files cannot be written now.
    case unavailable
    /// The key file cannot be replaced: errno.
    case keysUnwritable(Int32)
}

/// How writing the database anew ended: afterwards its bytes depend on its rows alone.
package enum Compaction: Sendable, Equatable {
    /// - Parameters:
    ///   - bytes: of the file now.
    ///   - milliseconds: nothing else was done in.
    case done(bytes: Int, milliseconds: Int)
    /// Not enough room for a second file: bytes.
    case noRoom(needed: Int, free: Int)
    /// The file is what it was.
    case failed
}

/// What the store holds, about.
package struct StoreSurvey: Sendable, Equatable {
    package let generation: UInt64
    /// Rows, exact below `Limits.surveyRows`.
    package let current: Int
    package let previous: Int
    /// Bytes that the database takes once it has been written anew, and needs for it.
    package let bytes: Int
    /// Bytes that its file system has left; nil when that is not known.
    package let free: Int?
}
