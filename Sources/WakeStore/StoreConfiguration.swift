private import Glibc
import WakeModel
import WakeSystem

/// The paths of a store and its size limits.
package struct StoreConfiguration: Sendable {
    /// A directory of the daemon's own, mode 0700; nothing else lives there.
    package var dataDirectory: String
    /// The file with the master keys, mode 0600, outside `dataDirectory`. nil: keys in memory only,
    /// and empty files at every start.
    package var keyFile: String?
    /// Pages that registrations fill in both files together; deletes have
    /// `Limits.headroomPages` more. Free pages of the previous file come on top of it.
    package var maxPages = 2_621_440
    /// Pages that new registrations may fill, so that every renewal fits. A page holds 6 rows at
    /// most, and 3 at least: with 2 more than two thirds of it are free, and SQLite joins it with
    /// its neighbours (`balance` in btree.c). So all rows of one file, moved to the other in
    /// whatever order, never take twice the pages they took; in a random order 1.3 times.
    package var newRowPages: Int { maxPages / 2 }
    /// Bytes kept allocated for deletes on a full disk; 0 keeps none.
    package var reserveBytes = Limits.reserveBytes
    /// Answers leave at multiples of it, see `AnswerGrid`; zero: at once.
    package var answerTick = Duration.microseconds(Limits.answerTickMicroseconds)
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

    package func file(of generation: UInt64) -> String {
        dataDirectory + "/generation-\(generation).db"
    }
    /// Bytes of the files there are.
    package var fileBytes: Int {
        ((try? StoreFiles.databases(self)) ?? [])
            .reduce(0) { $0 + ((try? FileStatus(of: $1).size) ?? 0) }
    }
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
    /// Registers whose former row is to be deleted from the previous file, if there is one.
    package var moved = 0
    /// Pages written to the logs.
    package var pages = 0
    /// Whether the logs were emptied before the answers.
    package var truncated = false
}
