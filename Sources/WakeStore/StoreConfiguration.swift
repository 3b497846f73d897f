private import Glibc
import WakeModel
import WakeSystem

/// The paths of a store and its size limits.
package struct StoreConfiguration: Sendable {
    /// A directory of the daemon's own, mode 0700; nothing else lives there.
    package var dataDirectory: String
    /// The file with the master keys, mode 0600, outside `dataDirectory`. nil: keys in memory only,
    /// and an empty database at every start.
    package var keyFile: String?
    /// Pages of 4 KiB for registrations; deletes have `Limits.headroomPages` more.
    package var maxPages = 2_621_440
    /// Pages that new registrations may fill, so that every renewal fits. A page holds 6 rows at
    /// most, and 3 at least: with 2 more than two thirds of it are free, and SQLite joins it with
    /// its neighbours (`balance` in btree.c). So all rows of one table, moved to the other in
    /// whatever order, never take twice the pages they took; in a random order 1.3 times.
    package var newRowPages: Int { maxPages / 2 }
    /// Bytes kept allocated for deletes on a full disk; 0 keeps none.
    package var reserveBytes = Limits.reserveBytes
    /// Answers leave at multiples of it, see `AnswerGrid`; zero: at once.
    package var answerTick = Duration.microseconds(Limits.answerTickMicroseconds)
    /// Bytes that a compaction leaves free on the file system for other uses.
    package var spareBytes = 16 << 20
    /// Rows that a compaction copies at once; nil: as many as a step has time for.
    package var copiedRows: Int?
    /// Called once, on the writer's thread, when a flush failed: the process must end.
    package var onFatal: @Sendable () -> Void = { _exit(1) }
    /// Called on the writer's thread after every batch, with counts only.
    package var observe: (@Sendable (BatchReport) -> Void)?

    package init(dataDirectory: String, keyFile: String?) {
        self.dataDirectory = dataDirectory
        self.keyFile = keyFile
    }

    /// With the key file in place of a link to it: a rotation replaces the file.
    var namingKeyFileItself: StoreConfiguration {
        var named = self
        named.keyFile = keyFile.map { (try? Files.resolve($0)) ?? $0 }
        return named
    }

    package var databaseFile: String { dataDirectory + "/registrations.db" }
    /// Its write-ahead log: empty or missing whenever the store is closed.
    var logFile: String { databaseFile + "-wal" }
    /// Shared-memory index of the log; the store itself never makes one.
    var indexFile: String { databaseFile + "-shm" }
    /// The new database of a compaction; takes the place of the old one by rename.
    var compactedFile: String { databaseFile + ".new" }
    var compactedRemnants: [String] { ["", "-wal", "-shm", "-journal"].map { compactedFile + $0 } }
    /// Zeros: room on the disk for deletes.
    package var reserveFile: String { dataDirectory + "/reserve" }
}

/// Counts of one batch.
package struct BatchReport: Sendable, Equatable {
    package var operations = 0
    package var registers = 0
    package var deletes = 0
    /// Statements run between BEGIN and COMMIT.
    package var statements = 0
    /// Rows deleted or overwritten.
    package var erased = 0
    /// Deletes that found a registration.
    package var removed = 0
    /// Pages written to the log.
    package var pages = 0
    /// Whether the log was emptied before the answers.
    package var truncated = false
}
