private import Glibc
import WakeFeed
import WakeModel
import WakeSystem

/// The client's durable state in one SQLite file, with one owner and one thread.
/// `synchronous=FULL`: commits outlive a power cut. `secure_delete` and `scrub`: no file holds a
/// wiped instance token, or the note of a delivered match
/// (sqlite.org/pragma.html#pragma_secure_delete).
final class StateDatabase {
    static let applicationID: Int64 = 0x5265_766C
    static let version: Int64 = 8

    enum OpenError: Error {
        /// No database of this library, or a broken one.
        case damaged
        case failed(ClientError)

        var clientError: ClientError {
            if case .failed(let error) = self { error } else { .state(.damaged) }
        }

        fileprivate init(_ error: SQLiteError) {
            self = error.isCorrupt ? .damaged : .failed(ClientError(error))
        }
    }

    private let database: Database
    /// Compiled statements by their text, none of them with values: a check runs the same few.
    private var statements: [String: Statement] = [:]

    /// Opens the file, or makes it.
    init(path: String) throws(OpenError) {
        // Made here and not by SQLite: for its owner alone, whatever the umask. SQLite gives its
        // log files the same mode (sqlite.org/src, `findCreateFileMode`).
        let status = try? FileStatus(of: path)
        if let status {
            // Below the least page (sqlite.org/fileformat.html §1.3.2) SQLite sees a new file.
            guard status.size >= 512 else { throw .damaged }
        } else {
            do throws(FileError) {
                _ = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
                try Files.synchronizeDirectory(of: path)
            } catch {
                throw .failed(error.isFull ? .diskFull : .state(.unusable(error.number)))
            }
        }
        do throws(SQLiteError) {
            database = try Database(path: path, access: .create)
            try Self.configure(database)
            // New, or a crash came while it was made.
            if try database.integer("SELECT count(*) FROM sqlite_schema") == 0 {
                try Self.createSchema(database)
            }
        } catch {
            // On a full disk SQLite cannot make the files beside the database, and reports any
            // error (sqlite.org/rescode.html#ioerr_shmsize).
            let free = try? Files.freeBytes(at: path)
            let isFull = !error.isCorrupt && (free ?? .max) < 65_536
            if status == nil { Self.removeEmpty(path) }
            guard !error.isCorrupt else { throw .damaged }
            throw .failed(isFull ? .diskFull : .state(.unusable(Self.obstacle(to: path))))
        }
        let version = try mapError(OpenError.init) { () throws(SQLiteError) in
            guard try database.integer("PRAGMA application_id") == Self.applicationID else {
                throw SQLiteError(code: 26)  // SQLITE_NOTADB
            }
            return try database.integer("PRAGMA user_version") ?? 0
        }
        guard version == Self.version else { throw .failed(.state(.otherVersion)) }
        let check = try mapError(OpenError.init) { () throws(SQLiteError) in
            try database.text("PRAGMA quick_check")
        }
        guard check == "ok" else { throw .damaged }
    }

    /// The reason of the system, where SQLite says that it cannot: 0 when none is seen.
    private static func obstacle(to path: String) -> Int32 {
        do throws(FileError) {
            _ = try OpenFile(path, flags: O_RDWR)
            try Files.checkWritable(Files.parent(of: path) ?? "/")
            return 0
        } catch { return error.number }
    }

    /// Removes files that nothing was written to: the next start would take them for damaged ones.
    private static func removeEmpty(_ path: String) {
        let sizes = ["", "-wal"].map { (try? FileStatus(of: path + $0))?.size ?? 0 }
        guard sizes == [0, 0] else { return }
        for suffix in ["", "-wal", "-shm"] { try? Files.remove(path + suffix) }
    }

    /// Opens the database of a profile that another process may hold.
    convenience init(inspecting directory: String) throws(ClientError) {
        let path = try StateDirectory.checkedDatabase(in: directory)
        do throws(OpenError) {
            try self.init(path: path)
        } catch {
            throw error.clientError
        }
    }

    private static func configure(_ database: Database) throws(SQLiteError) {
        // Another process may read for a moment (`status`), or change the desired registration.
        try database.execute("PRAGMA busy_timeout=5000")
        try database.execute("PRAGMA secure_delete=ON")
        _ = try database.text("PRAGMA journal_mode=WAL")
        try database.execute("PRAGMA synchronous=FULL")
        try database.execute("PRAGMA temp_store=MEMORY")
        try database.execute("PRAGMA trusted_schema=OFF")
    }

    private static func createSchema(_ database: Database) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute(
                """
                CREATE TABLE state(
                  key TEXT PRIMARY KEY, value ANY NOT NULL, secret BLOB NOT NULL)
                  WITHOUT ROWID, STRICT;
                CREATE TABLE match(
                  id BLOB PRIMARY KEY, sequence INTEGER NOT NULL, secret_id TEXT NOT NULL,
                  note BLOB, delivered INTEGER NOT NULL, failures INTEGER NOT NULL,
                  not_before INTEGER NOT NULL) WITHOUT ROWID, STRICT;
                CREATE TABLE warning(
                  id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL,
                  first INTEGER NOT NULL, last INTEGER NOT NULL, since INTEGER NOT NULL) STRICT;
                PRAGMA application_id=\(applicationID);
                PRAGMA user_version=\(version);
                """)
        } failure: {
            $0
        }
    }

    // MARK: Reading and writing

    /// Runs `body` in one durable transaction.
    func write<Result>(
        _ body: () throws(ClientError) -> Result
    ) throws(ClientError) -> Result {
        try database.transaction(body) { ClientError($0) }
    }

    enum Value {
        case null
        case integer(Int64)
        case text(String)
        case blob([UInt8])
        case secret(SecretBytes)
    }

    /// Runs one statement in a durable transaction of its own.
    func write(_ sql: String, _ values: Value...) throws(ClientError) {
        try write { () throws(ClientError) in try execute(sql, rows: [values]) }
    }

    /// Runs one statement; for use inside a transaction.
    func execute(_ sql: String, _ values: Value...) throws(ClientError) {
        try execute(sql, rows: [values])
    }

    func execute(_ sql: String, rows: [[Value]]) throws(ClientError) {
        try mapError(ClientError.init) { () throws(SQLiteError) in
            let statement = try take(sql)
            for row in rows {
                try statement.bind(row)
                try statement.run()
            }
            statements[sql] = statement
        }
    }

    @discardableResult
    func first<Result>(
        _ sql: String, _ values: Value..., row: (Statement) throws(ClientError) -> Result
    ) throws(ClientError) -> Result? {
        let (statement, isFound) = try mapError(ClientError.init) {
            () throws(SQLiteError) -> (Statement, Bool) in
            let statement = try take(sql)
            try statement.bind(values)
            return (statement, try statement.step())
        }
        defer {
            statement.reset()
            statements[sql] = statement
        }
        return isFound ? try row(statement) : nil
    }

    /// Takes a statement that is compiled already, and in use by nobody else; one that fails is
    /// compiled again.
    private func take(_ sql: String) throws(SQLiteError) -> Statement {
        if let statement = statements.removeValue(forKey: sql) { return statement }
        return try database.prepare(sql)
    }

    /// The first column of the first row; nil when there is none.
    func integer(_ sql: String) throws(ClientError) -> Int64? { try first(sql) { $0.integer(0) } }

    /// Something secret was dropped and may still lie in free space or in the log.
    private(set) var needsScrub = false

    /// Leaves no byte of dropped rows in any file. A failed attempt stays to be repeated.
    func scrub() throws(ClientError) {
        needsScrub = true
        try wipeFreeSpace()
        needsScrub = false
    }

    /// The same; a failed attempt is the caller's to repeat.
    func wipeFreeSpace() throws(ClientError) {
        try mapError(ClientError.init) { () throws(SQLiteError) in
            // A full disk has no room for a copy, but emptying the log needs none.
            let copied = Result { () throws(SQLiteError) in try database.execute("VACUUM") }
            try database.checkpointTruncate()
            try copied.get()
        }
    }

    /// Leaves an empty database.
    func eraseAll() throws(ClientError) {
        try write { () throws(ClientError) in
            for table in ["state", "match", "warning"] { try execute("DELETE FROM \(table)") }
        }
        try scrub()
    }
}

extension ClientError {
    init(_ error: SQLiteError) { self = error.isFull ? .diskFull : .state(.unusable(0)) }

    /// A row that this library cannot have written.
    static let corruptRow = ClientError.state(.unusable(0))
}

extension Statement {
    fileprivate func bind(_ values: [StateDatabase.Value]) throws(SQLiteError) {
        for (index, value) in values.enumerated() { try bind(Int32(index + 1), value) }
    }

    private func bind(_ index: Int32, _ value: StateDatabase.Value) throws(SQLiteError) {
        switch value {
        case .null: try bindNull(index)
        case .integer(let number): try bind(index, integer: number)
        case .text(let text): try bind(index, text: text)
        case .blob(let bytes): try bind(index, blob: bytes.span)
        case .secret(let secret):
            try secret.withSpan { (bytes) throws(SQLiteError) in try bind(index, blob: bytes) }
        }
    }
}
