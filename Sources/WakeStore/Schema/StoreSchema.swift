import WakeModel
package import WakeSystem

/// The tables of a generation's file, to the letter: opaque columns of fixed size, no other.
package enum StoreSchema {
    /// "RVLL": marks the file as ours at byte 68 (sqlite.org/fileformat2.html §1.2.15).
    package static let applicationID: Int64 = 0x5256_4C4C
    /// `user_version`, and the first byte of the data every row is sealed with.
    package static let version: Int64 = 1

    /// Pages of both files without rows: the schema, and the root of each table.
    package static let emptyPages = 6

    package enum Table: String, CaseIterable, Sendable {
        case registration
        /// Ids of the previous generation whose rows are in this file by now, and are to be deleted
        /// from the previous file: within half a second.
        case moved

        package var definition: String {
            switch self {
            case .registration:
                "CREATE TABLE registration(id BLOB PRIMARY KEY, sealed BLOB NOT NULL, "
                    + "CHECK(length(id)=32 AND length(sealed)=632)) WITHOUT ROWID, STRICT"
            case .moved:
                "CREATE TABLE moved(id BLOB PRIMARY KEY, CHECK(length(id)=32)) "
                    + "WITHOUT ROWID, STRICT"
            }
        }
    }

    /// The content of a file without rows, the same at all times: one write makes it.
    static func emptyFile() throws(SQLiteError) -> [UInt8] {
        let database = try Database(path: ":memory:", access: .create)
        try database.execute("PRAGMA page_size=\(Limits.pageBytes)")
        try database.execute("PRAGMA application_id=\(applicationID)")
        try database.execute("PRAGMA user_version=\(version)")
        for table in Table.allCases { try database.execute(table.definition) }
        var bytes = try database.serialized()
        // What SQLite writes to files alone (sqlite.org/fileformat2.html §1.3): a write-ahead log,
        // a change counter twice, and its own version.
        bytes.replaceSubrange(18..<20, with: [2, 2])
        for (place, number) in [(24, 1), (92, 1), (96, Database.libraryVersion)] {
            var field: [UInt8] = []
            field.append(bigEndian: number)
            bytes.replaceSubrange(place..<place + 4, with: field)
        }
        return bytes
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
            let statement = try database.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")
            var definitions: [String?] = []
            while try statement.step() { definitions.append(statement.text(0)) }
            return (application, version, definitions)
        }
        try verify(application: application, version: version)
        guard definitions == Table.allCases.map(\.definition) else { throw .schemaDiffers }
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
    private var values: (set: String, read: String) {
        switch self {
        case .lockingMode: ("EXCLUSIVE", "exclusive")
        case .pageSize: ("\(Limits.pageBytes)", "\(Limits.pageBytes)")
        case .autoVacuum: ("NONE", "0")
        case .secureDelete: ("ON", "1")
        case .journalMode: ("WAL", "wal")
        // NORMAL lost 985 acknowledged inserts in simulated power cuts.
        case .synchronous: ("FULL", "2")
        case .automaticCheckpoint: ("0", "0")
        case .temporaryStore: ("MEMORY", "2")
        case .trustedSchema: ("OFF", "0")
        case .cellSizeCheck: ("ON", "1")
        }
    }

    package static func apply(to database: Database) throws(StoreOpenError) {
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            for setting in allCases {
                try database.execute("PRAGMA \(setting.rawValue)=\(setting.values.set)")
            }
        }
        try verify(database)
    }

    /// - Throws: `.settingRefused` with the first setting that is not in force.
    package static func verify(_ database: Database) throws(StoreOpenError) {
        for setting in allCases {
            let value = try mapError(
                StoreOpenError.init, database.text("PRAGMA \(setting.rawValue)"))
            guard value == setting.values.read else { throw .settingRefused(setting) }
        }
    }
}
