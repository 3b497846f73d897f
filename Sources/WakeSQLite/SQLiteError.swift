private import CSQLite

/// A result code of SQLite (sqlite.org/rescode.html). Never carries SQL text or values.
package struct SQLiteError: Error, Equatable, Sendable {
    /// The extended result code.
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// The low byte: the primary result code.
    package var primary: Int32 { code & 0xFF }

    /// No room: the disk, or `max_page_count`.
    package var isFull: Bool { primary == SQLITE_FULL }
    /// Another process holds the file, or a reader blocks a checkpoint.
    package var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }
    /// The file is damaged or is no database.
    package var isCorrupt: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }
    package var isReadOnly: Bool { primary == SQLITE_READONLY }
    package var isIOError: Bool { primary == SQLITE_IOERR }
    /// A flush failed: what reached the disk is unknown, and no retry can tell
    /// (the kernel reports a lost page once and then forgets it; fsync(2), "BUGS" and "NOTES").
    package var isFlushFailure: Bool {
        code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC
    }

    // Macros with shifts are not imported.
    private var SQLITE_IOERR_FSYNC: Int32 { SQLITE_IOERR | 4 << 8 }
    private var SQLITE_IOERR_DIR_FSYNC: Int32 { SQLITE_IOERR | 5 << 8 }
}
