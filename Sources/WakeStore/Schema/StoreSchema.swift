package import WakeSQLite
import WakeSystem

/// The two tables, to the letter: two opaque columns of fixed size each, and nothing else.
package enum StoreSchema {
    /// "RVLL": marks the file as ours at byte 68 (sqlite.org/fileformat2.html §1.2.15).
    package static let applicationID: Int64 = 0x5256_4C4C
    /// `user_version`, and the first byte of the data every row is sealed with.
    package static let version: Int64 = 1

    /// Pages of a store without rows: the schema, and the root of each table.
    package static let emptyPages = 3

    /// The two tables between which the generations alternate.
    package enum TableName: String, CaseIterable, Sendable {
        case a = "registration_a"
        case b = "registration_b"

        package var other: TableName { self == .a ? .b : .a }

        package var definition: String {
            "CREATE TABLE \(rawValue)(id BLOB PRIMARY KEY, sealed BLOB NOT NULL, "
                + "CHECK(length(id)=32 AND length(sealed)=632)) WITHOUT ROWID, STRICT"
        }
    }

    /// Makes an empty database, mode 0600, at a path where nothing is.
    static func createDatabase(at path: String) throws(StoreOpenError) {
        try createFile(at: path)
        let database = try openDatabase(at: path)
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            try createTables(in: database)
            try database.execute("COMMIT")
            try database.checkpointTruncate()
        }
        try verify(database)
    }

    /// Makes a file that is to become a database in one transaction, which is left open. Nothing is
    /// flushed, and an error leaves it of no use.
    static func createCopy(at path: String) throws(StoreOpenError) -> Database {
        try createFile(at: path)
        let database = try mapError(StoreOpenError.init, Database(path: path, access: .readWrite))
        try StoreSetting.apply(to: database, isCopy: true)
        try mapError(StoreOpenError.init, createTables(in: database))
        return database
    }

    private static func createFile(at path: String) throws(StoreOpenError) {
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            // SQLite would make the file with the umask's mode; the log takes the mode over.
            let nothing: [UInt8] = []
            try Files.create(path, with: nothing.span, mode: 0o600)
        }
    }

    /// Begins a transaction and leaves it open.
    private static func createTables(in database: Database) throws(SQLiteError) {
        try database.execute("BEGIN IMMEDIATE")
        try database.execute("PRAGMA application_id=\(applicationID)")
        try database.execute("PRAGMA user_version=\(version)")
        for table in TableName.allCases { try database.execute(table.definition) }
    }

    static func openDatabase(at path: String) throws(StoreOpenError) -> Database {
        let database = try mapError(StoreOpenError.init, Database(path: path, access: .readWrite))
        try StoreSetting.apply(to: database)
        return database
    }

    /// Compares marks and tables with those of a new database.
    static func verify(_ database: Database) throws(StoreOpenError) {
        let (application, version, definitions) = try mapError(StoreOpenError.init) {
            () throws(SQLiteError) in
            let application = try database.integer("PRAGMA application_id") ?? 0
            let version = try database.integer("PRAGMA user_version") ?? 0
            let statement = try database.prepare("SELECT sql FROM sqlite_schema ORDER BY name")
            var definitions: [String?] = []
            while try statement.step() { definitions.append(statement.text(0)) }
            return (application, version, definitions)
        }
        try verify(application: application, version: version)
        guard definitions == TableName.allCases.map(\.definition) else { throw .schemaDiffers }
    }

    /// Reads the marks from the first 100 bytes of the file, before SQLite may touch anything.
    static func verify(header: [UInt8]) throws(StoreOpenError) {
        guard header.count >= 100, header.contains(where: { $0 != 0 }) else { throw .empty }
        guard header.starts(with: "SQLite format 3\0".utf8) else { throw .notADatabase }
        let span = header.span
        try verify(
            application: Int64(span.bigEndian(at: 68, as: UInt32.self)),
            version: Int64(span.bigEndian(at: 60, as: UInt32.self)))
    }

    private static func verify(application: Int64, version: Int64) throws(StoreOpenError) {
        guard application == applicationID else { throw .foreignApplication(application) }
        guard version <= Self.version else { throw .newerSchema(version) }
        guard version == Self.version else { throw .schemaDiffers }
    }
}

/// Every setting of the connection, set and then read back: SQLite ignores unknown ones.
package enum StoreSetting: String, CaseIterable, Sendable {
    // First: set before any read, it makes no `-shm` (sqlite.org/wal.html §8).
    case lockingMode = "locking_mode"
    case pageSize = "page_size"
    case autoVacuum = "auto_vacuum"
    case secureDelete = "secure_delete"
    case journalMode = "journal_mode"
    case synchronous
    case automaticCheckpoint = "wal_autocheckpoint"
    case temporaryStore = "temp_store"
    case trustedSchema = "trusted_schema"
    case cellSizeCheck = "cell_size_check"

    /// The value to set, and the value that reading it back must give.
    private func values(isCopy: Bool) -> (set: String, read: String) {
        switch self {
        case .lockingMode: ("EXCLUSIVE", "exclusive")
        case .pageSize: ("4096", "4096")
        case .autoVacuum: ("NONE", "0")
        case .secureDelete: ("ON", "1")
        case .journalMode: isCopy ? ("OFF", "off") : ("WAL", "wal")
        // NORMAL lost 985 acknowledged inserts in simulated power cuts.
        case .synchronous: isCopy ? ("OFF", "0") : ("FULL", "2")
        case .automaticCheckpoint: ("0", "0")
        case .temporaryStore: ("MEMORY", "2")
        case .trustedSchema: ("OFF", "0")
        case .cellSizeCheck: ("ON", "1")
        }
    }

    /// - Parameter isCopy: for a file that counts only once it is whole, see ``Compaction``.
    package static func apply(
        to database: Database, isCopy: Bool = false
    ) throws(StoreOpenError) {
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            for setting in allCases {
                let value = setting.values(isCopy: isCopy).set
                try database.execute("PRAGMA \(setting.rawValue)=\(value)")
            }
        }
        try verify(database, isCopy: isCopy)
    }

    /// - Throws: `.settingRefused` with the first setting that is not in force.
    package static func verify(
        _ database: Database, isCopy: Bool = false
    ) throws(StoreOpenError) {
        for setting in allCases {
            let value = try mapError(
                StoreOpenError.init, database.text("PRAGMA \(setting.rawValue)"))
            guard value == setting.values(isCopy: isCopy).read
            else { throw .settingRefused(setting) }
        }
    }
}
