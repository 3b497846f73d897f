private import CSQLite

/// One compiled statement: bind, step until it returns false, read columns between steps.
/// Parameters count from 1, columns from 0, as in SQLite. It is reset at its end and by a failure;
/// a caller that stops early calls `reset`.
@safe package final class Statement {
    private let handle: OpaquePointer
    /// Keeps the connection open as long as the statement lives.
    private let database: Database

    init(_ handle: OpaquePointer, of database: Database) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit { unsafe sqlite3_finalize(handle) }

    package func bind(_ index: Int32, blob: Span<UInt8>) throws(SQLiteError) {
        // SQLITE_TRANSIENT: SQLite copies before the call returns.
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code = unsafe blob.withUnsafeBytes { bytes in
            if unsafe bytes.isEmpty { return unsafe sqlite3_bind_zeroblob(handle, index, 0) }
            return unsafe sqlite3_bind_blob64(
                handle, index, bytes.baseAddress, UInt64(bytes.count), transient)
        }
        try check(code)
    }

    package func bind(_ index: Int32, integer: Int64) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_int64(handle, index, integer))
    }

    package func bind(_ index: Int32, text: String) throws(SQLiteError) {
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        try check(unsafe sqlite3_bind_text(handle, index, text, -1, transient))
    }

    package func bindNull(_ index: Int32) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_null(handle, index))
    }

    /// - Returns: true when a row can be read; false at the end, with the statement reset.
    package func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        default:
            reset()
            throw SQLiteError(code: code)
        }
    }

    /// Runs a statement that returns no rows.
    package func run() throws(SQLiteError) { while try step() {} }

    /// Ends a walk early and forgets the bound values.
    package func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: Columns of the current row

    package func blob(_ column: Int32) -> [UInt8] {
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        guard count > 0, let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Appends the bytes of a column.
    package func append(_ column: Int32, to bytes: inout [UInt8]) {
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        guard count > 0, let start = unsafe sqlite3_column_blob(handle, column) else { return }
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
    }

    package func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    package func text(_ column: Int32) -> String? {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe String(
            decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code) }
    }
}
