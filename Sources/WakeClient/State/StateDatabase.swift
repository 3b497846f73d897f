private import Glibc
import WakeFiles
import WakeSQLite

/// Everything the client must remember, in one SQLite file: the wish about the registration, the
/// cursor of the feed, and the matches that are or were told. One owner, one thread.
///
/// `synchronous=FULL`: what was committed outlives a power cut. `secure_delete` and, after
/// something secret was dropped, VACUUM and a truncating checkpoint: a wiped instance token is in
/// no file any more (sqlite.org/pragma.html#pragma_secure_delete).
final class StateDatabase {
    static let applicationID: Int64 = 0x5265_766C
    static let version: Int64 = 2

    /// Called at every point where a process may die between two writes; tests throw here.
    typealias FaultPoint = @Sendable (StatePoint) throws(InjectedFault) -> Void

    let database: Database
    private let faultPoint: FaultPoint?

    /// Opens the file, or makes it.
    init(path: String, faultPoint: FaultPoint? = nil) throws(StateError) {
        self.faultPoint = faultPoint
        // Made here and not by SQLite: for its owner alone from the first moment, whatever the
        // umask. SQLite gives its log files the same mode (sqlite.org/src, `findCreateFileMode`).
        if let status = try? FileStatus(of: path) {
            // Less than the smallest page (sqlite.org/fileformat.html §1.3.2): SQLite would take it
            // for a new one, and everything would be forgotten in silence.
            guard status.size >= 512 else { throw StateError(.corrupt) }
        } else {
            do throws(FileError) {
                _ = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
                try Files.synchronizeDirectory(of: path)
            } catch {
                throw StateError(error.isFull ? .full : .other(error.number))
            }
        }
        do throws(SQLiteError) {
            database = try Database(path: path, access: .create)
            try Self.prepare(database)
            // New, or a crash came while it was made.
            if try database.integer("SELECT count(*) FROM sqlite_schema") == 0 {
                try Self.createSchema(database)
            }
        } catch {
            throw StateError(error, of: path)
        }
        try check()
        do throws(SQLiteError) {
            try Self.migrate(database)
        } catch {
            throw StateError(error)
        }
    }

    private static func prepare(_ database: Database) throws(SQLiteError) {
        // Another process may look for a moment (`status`), or leave a wish.
        try database.execute("PRAGMA busy_timeout=5000")
        try database.execute("PRAGMA secure_delete=ON")
        _ = try database.text("PRAGMA journal_mode=WAL")
        try database.execute("PRAGMA synchronous=FULL")
        try database.execute("PRAGMA temp_store=MEMORY")
        try database.execute("PRAGMA trusted_schema=OFF")
    }

    private func check() throws(StateError) {
        do throws(SQLiteError) {
            guard try database.integer("PRAGMA application_id") == Self.applicationID else {
                throw SQLiteError(code: 26)  // SQLITE_NOTADB
            }
            let version = try database.integer("PRAGMA user_version") ?? 0
            if version > Self.version { throw SQLiteError(code: -1) }
            guard try database.text("PRAGMA quick_check") == "ok" else {
                throw SQLiteError(code: 11)  // SQLITE_CORRUPT
            }
        } catch {
            throw error.code == -1 ? StateError(.newerVersion) : StateError(error)
        }
    }

    private static func createSchema(_ database: Database) throws(SQLiteError) {
        try database.transaction { () throws(SQLiteError) in
            try database.execute(
                """
                CREATE TABLE feed(
                  one INTEGER PRIMARY KEY CHECK(one=1), cursor BLOB NOT NULL,
                  orders_seen INTEGER NOT NULL, verified INTEGER NOT NULL,
                  has_verified INTEGER NOT NULL, warned_days INTEGER NOT NULL,
                  trouble INTEGER NOT NULL, trouble_since INTEGER NOT NULL,
                  trouble_warned INTEGER NOT NULL, forked INTEGER NOT NULL,
                  warned INTEGER NOT NULL, generation INTEGER) STRICT;
                CREATE TABLE wish(
                  one INTEGER PRIMARY KEY CHECK(one=1), instance_token BLOB NOT NULL,
                  service INTEGER NOT NULL, push_token BLOB NOT NULL, revision INTEGER NOT NULL,
                  acknowledged INTEGER NOT NULL, failures INTEGER NOT NULL,
                  not_before INTEGER NOT NULL, refused INTEGER NOT NULL) STRICT;
                CREATE TABLE match(
                  id BLOB PRIMARY KEY, sequence INTEGER NOT NULL, secret_id TEXT NOT NULL,
                  note BLOB NOT NULL, told INTEGER NOT NULL, failures INTEGER NOT NULL,
                  not_before INTEGER NOT NULL) WITHOUT ROWID, STRICT;
                CREATE TABLE warning(
                  id INTEGER PRIMARY KEY, code INTEGER NOT NULL, first INTEGER NOT NULL,
                  second INTEGER NOT NULL) STRICT;
                PRAGMA application_id=\(applicationID);
                PRAGMA user_version=1;
                """)
        } failure: {
            $0
        }
    }

    /// Brings what an older version wrote, or `createSchema` just made, to this one.
    private static func migrate(_ database: Database) throws(SQLiteError) {
        guard try database.integer("PRAGMA user_version") == 1 else { return }
        try database.transaction { () throws(SQLiteError) in
            // Another process may have been faster.
            guard try database.integer("PRAGMA user_version") == 1 else { return }
            // `source`: how far an app's own `DataSource` was checked. `traffic`: bytes fetched on
            // the day that is counted since 1970, and batches that wait for another.
            // `distributor`: who brings this profile's pushes, and the name it knows us by.
            try database.execute(
                """
                CREATE TABLE source(
                  one INTEGER PRIMARY KEY CHECK(one=1), cursor BLOB NOT NULL) STRICT;
                CREATE TABLE traffic(
                  one INTEGER PRIMARY KEY CHECK(one=1), day INTEGER NOT NULL,
                  bytes INTEGER NOT NULL, waiting INTEGER NOT NULL) STRICT;
                CREATE TABLE distributor(
                  one INTEGER PRIMARY KEY CHECK(one=1), name TEXT NOT NULL,
                  token BLOB NOT NULL) STRICT;
                PRAGMA user_version=2;
                """)
        } failure: {
            $0
        }
    }

    // MARK: Writing

    /// Runs `body` in one durable transaction.
    func write<Result>(
        _ name: StatePoint.Write, _ body: () throws(SQLiteError) -> Result
    ) throws(StateError) -> Result {
        try reach(.before(name))
        do throws(SQLiteError) {
            let result = try database.transaction { () throws(SQLiteError) in
                let result = try body()
                try reachInside(.inside(name))
                return result
            } failure: {
                $0
            }
            try reachInside(.after(name))
            return result
        } catch {
            throw StateError(error)
        }
    }

    func read<Result>(_ body: () throws(SQLiteError) -> Result) throws(StateError) -> Result {
        do {
            return try body()
        } catch {
            throw StateError(error)
        }
    }

    /// Something secret was dropped and may still lie in free space or in the log.
    private(set) var needsScrub = false

    /// Leaves no byte of dropped rows in any file. What fails stays to be done.
    func scrub() throws(StateError) {
        needsScrub = true
        try reach(.before(.scrub))
        do throws(SQLiteError) {
            // A full disk has no room for a copy, but emptying the log needs none.
            let copied = Result { () throws(SQLiteError) in try database.execute("VACUUM") }
            try database.checkpointTruncate()
            try copied.get()
        } catch {
            throw StateError(error)
        }
        needsScrub = false
    }

    /// Leaves an empty database.
    func eraseAll() throws(StateError) {
        try write(.feed) { () throws(SQLiteError) in
            let tables = [
                "feed", "wish", "match", "warning", "source", "traffic", "distributor",
            ]
            for table in tables { try database.execute("DELETE FROM \(table)") }
        }
        try scrub()
    }

    private func reach(_ point: StatePoint) throws(StateError) {
        do throws(SQLiteError) {
            try reachInside(point)
        } catch {
            throw StateError(error)
        }
    }

    private func reachInside(_ point: StatePoint) throws(SQLiteError) {
        guard let faultPoint else { return }
        do {
            try faultPoint(point)
        } catch {
            throw SQLiteError(code: error.code)
        }
    }
}

/// Where a write to the state stands.
package enum StatePoint: Sendable, Equatable {
    package enum Write: Sendable, Equatable {
        case feed, head, batch, recheck, wish, answer, telling, told, warning, scrub, traffic
        case distributor
    }

    /// Nothing of it happened.
    case before(Write)
    /// In the transaction, not committed.
    case inside(Write)
    /// Durable, and nobody knows yet.
    case after(Write)
}

/// What tests throw at a `StatePoint`: a result code of SQLite.
package struct InjectedFault: Error {
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }
}
