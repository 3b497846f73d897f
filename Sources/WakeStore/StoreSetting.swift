package import WakeSQLite

/// Every setting of the connection, set and then read back: SQLite ignores what it does not know,
/// and wrappers and builds change defaults silently.
package enum StoreSetting: String, CaseIterable, Sendable {
    // First: with it before any read, the log's index lives in memory and no `-shm` file is made
    // (sqlite.org/wal.html §8).
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

    /// What is set, and what a reading back must give.
    private var values: (set: String, read: String) {
        switch self {
        case .lockingMode: ("EXCLUSIVE", "exclusive")
        case .pageSize: ("4096", "4096")
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

    /// Sets everything, then reads everything back.
    package static func apply(to database: Database) throws(StoreOpenError) {
        do throws(SQLiteError) {
            for setting in allCases {
                try database.execute("PRAGMA \(setting.rawValue)=\(setting.values.set)")
            }
        } catch {
            throw StoreOpenError(error)
        }
        try verify(database)
    }

    /// - Throws: `.settingRefused` naming the first setting that is not in force.
    package static func verify(_ database: Database) throws(StoreOpenError) {
        for setting in allCases {
            let value: String?
            do throws(SQLiteError) {
                value = try database.text("PRAGMA \(setting.rawValue)")
            } catch {
                throw StoreOpenError(error)
            }
            guard value == setting.values.read else { throw .settingRefused(setting) }
        }
    }
}
