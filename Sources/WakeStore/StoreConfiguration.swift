private import Glibc
import WakeModel

/// Where a store lives and how large it may grow.
package struct StoreConfiguration: Sendable {
    /// A directory of the daemon's own, mode 0700; nothing else lives there.
    package var dataDirectory: String
    /// The file with the master keys, mode 0600, outside `dataDirectory`: a copy of the data
    /// alone must open nothing. nil: the keys are in memory only, so what an earlier start left in
    /// the database can be opened by nobody and is removed at the next.
    package var keyFile: String?
    /// Pages of 4 KiB that registrations may fill: about 5 rows each. Deletes and renewals have
    /// `Limits.headroomPages` more.
    package var maxPages = 2_621_440
    /// Bytes kept allocated for deletes on a full disk; 0 keeps none.
    package var reserveBytes = Limits.reserveBytes
    /// Bytes that writing the database anew leaves free on its file system: others need some, too.
    package var spareBytes = 16 << 20
    /// Called once, on the writer's thread, when a flush failed: nothing written since the last
    /// acknowledgement can be trusted, so the process must end and be started again.
    package var onFatal: @Sendable () -> Void = { _exit(1) }
    /// Called on the writer's thread after every batch, with counts only.
    package var observe: (@Sendable (BatchReport) -> Void)?

    package init(dataDirectory: String, keyFile: String?) {
        self.dataDirectory = dataDirectory
        self.keyFile = keyFile
    }

    /// The one database file.
    package var databaseFile: String { dataDirectory + "/registrations.db" }
    /// Its write-ahead log: empty or missing whenever the store is closed.
    var logFile: String { databaseFile + "-wal" }
    /// Shared-memory index of the log; the store itself never makes one.
    var indexFile: String { databaseFile + "-shm" }
    /// The database while it is written anew; takes its place by rename.
    var freshFile: String { databaseFile + ".new" }
    /// Everything that a crash may have left of it.
    var freshRemnants: [String] { ["", "-wal", "-shm", "-journal"].map { freshFile + $0 } }
    /// Zeros: room on the disk for deletes.
    package var reserveFile: String { dataDirectory + "/reserve" }
}
