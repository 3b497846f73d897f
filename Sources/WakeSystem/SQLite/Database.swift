private import CSQLite

/// One connection to one SQLite file. Its owner keeps it on one thread: SQLite's own mutexes are
/// off (sqlite.org/threadsafe.html, "multi-thread" mode).
@safe package final class Database {
    fileprivate let handle: OpaquePointer

    package enum Access {
        case readOnly
        case readWrite
        case create
        /// The file alone, for one that does not change: no lock is taken or heeded, no log is
        /// read, nothing is made beside it (sqlite.org/uri.html, "immutable").
        case asItLies
    }

    /// - Parameter path: a file path; `:memory:` is allowed in tests only. Links above the file are
    ///   followed, a link in its place is not.
    package init(path: String, access: Access) throws(SQLiteError) {
        _ = Self.memory
        var handle: OpaquePointer?
        let mode =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .asItLies: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
        // SQLite refuses a link in any part of a path (sqlite.org/c3ref/open.html).
        let plain = Files.resolvingParents(of: path)
        let name = access == .asItLies ? Self.immutable(plain) : plain
        let code = unsafe sqlite3_open_v2(name, &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            // sqlite.org/c3ref/open.html: the handle must be closed even after a failure.
            unsafe sqlite3_close_v2(handle)
            throw SQLiteError(code: code)
        }
        unsafe self.handle = handle
        // What cannot be opened for writing, for want of a descriptor too, is opened for reading.
        guard unsafe mode & SQLITE_OPEN_READWRITE == 0 || sqlite3_db_readonly(handle, "main") == 0
        else { throw SQLiteError(code: SQLITE_READONLY) }
    }

    deinit { unsafe sqlite3_close_v2(handle) }

    /// Set once for the process: a program that overwrites what is freed then overwrites rows.
    private static let memory: Void = sqlite_without_pools()

    /// sqlite.org/uri.html §3.1: everything that is not plain is escaped.
    private static func immutable(_ path: String) -> String {
        var name = "file:"
        for byte in path.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D...0x2F, 0x5F:
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                name += byte < 16 ? "%0" + digits : "%" + digits
            }
        }
        return name + "?immutable=1"
    }

    /// Closing leaves the log as it is, and copies nothing of it into the database.
    package func keepLog() throws(SQLiteError) {
        try check(unsafe sqlite_keep_log(handle))
    }

    package func execute(_ sql: String) throws(SQLiteError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Compiles one statement, to be kept and reused.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil))
        guard let statement = unsafe statement else { throw SQLiteError(code: SQLITE_MISUSE) }
        return unsafe Statement(statement, of: self)
    }

    /// Runs `body` between `BEGIN IMMEDIATE` and `COMMIT`; any error rolls everything back.
    package func transaction<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result, failure: (SQLiteError) -> Failure
    ) throws(Failure) -> Result {
        try mapError(failure, execute("BEGIN IMMEDIATE"))
        do {
            let result = try body()
            try mapError(failure, execute("COMMIT"))
            return result
        } catch {
            // After some errors SQLite has rolled back by itself (lang_transaction.html §3).
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }
    /// Rows changed by the last INSERT, UPDATE or DELETE.
    package var changes: Int { Int(unsafe sqlite3_changes64(handle)) }

    /// The single value of a query such as `PRAGMA page_size`, as text.
    package func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    package func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Copies the log into the database and empties it, durably.
    /// - Throws: busy when a reader held it back: the log still holds the old bytes
    ///   (sqlite.org/pragma.html#pragma_wal_checkpoint).
    package func checkpointTruncate() throws(SQLiteError) {
        let statement = try prepare("PRAGMA wal_checkpoint(TRUNCATE)")
        guard try statement.step() else { throw SQLiteError(code: SQLITE_ERROR) }
        guard statement.integer(0) == 0, statement.integer(1) == 0, statement.integer(2) == 0
        else { throw SQLiteError(code: SQLITE_BUSY) }
        try synchronizeLog()
    }

    /// SQLite cuts the log without a flush: after a power cut its bytes could be there again. This
    /// flushes it by SQLite's own descriptor (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html,
    /// SQLITE_FCNTL_JOURNAL_POINTER).
    private func synchronizeLog() throws(SQLiteError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let operation = SQLITE_FCNTL_JOURNAL_POINTER
        try check(unsafe sqlite3_file_control(handle, "main", operation, &file))
        guard let file = unsafe file, let methods = unsafe file.pointee.pMethods,
            let synchronize = unsafe methods.pointee.xSync
        else { throw SQLiteError(code: SQLITE_MISUSE) }
        try check(unsafe synchronize(file, SQLITE_SYNC_NORMAL))
    }

    /// Copies the log into the database; the next transaction overwrites the log from its start,
    /// which costs less than growing a new one.
    /// - Throws: busy when a page stayed behind.
    package func checkpoint() throws(SQLiteError) {
        let statement = try prepare("PRAGMA wal_checkpoint(PASSIVE)")
        guard try statement.step() else { throw SQLiteError(code: SQLITE_ERROR) }
        guard statement.integer(0) == 0, statement.integer(1) == statement.integer(2)
        else { throw SQLiteError(code: SQLITE_BUSY) }
    }

    /// The bytes that a file with this content has (sqlite.org/c3ref/serialize.html).
    package func serialized() throws(SQLiteError) -> [UInt8] {
        var count: sqlite3_int64 = 0
        guard let bytes = unsafe sqlite3_serialize(handle, "main", &count, 0)
        else { throw SQLiteError(code: SQLITE_NOMEM) }
        defer { unsafe sqlite3_free(bytes) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The library's version as every file names the last that wrote it, 3.40.1 as 3040001.
    package static var libraryVersion: UInt32 { UInt32(sqlite3_libversion_number()) }

    /// Pages written since the last call (in WAL mode: to the log).
    package func takePagesWritten() -> Int {
        var count: Int32 = 0
        var highest: Int32 = 0
        unsafe sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, 1)
        return Int(count)
    }

    /// `errno` of the last failed system call, 0 if none (sqlite.org/c3ref/system_errno.html).
    package var systemError: Int32 { unsafe sqlite3_system_errno(handle) }

    fileprivate func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code) }
    }
}

/// A result code of SQLite (sqlite.org/rescode.html). Never carries SQL text or values.
package struct SQLiteError: Error, Equatable, Sendable {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    package static let inputOutput = SQLiteError(code: SQLITE_IOERR)
    package static let flushFailure = SQLiteError(code: SQLITE_IOERR | 4 << 8)

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
    /// A flush failed: what reached the disk is unknown, and no retry can tell (fsync(2), "NOTES").
    package var isFlushFailure: Bool {
        code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC
    }

    // Macros with shifts are not imported.
    private var SQLITE_IOERR_FSYNC: Int32 { SQLITE_IOERR | 4 << 8 }
    private var SQLITE_IOERR_DIR_FSYNC: Int32 { SQLITE_IOERR | 5 << 8 }
}
