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
}
