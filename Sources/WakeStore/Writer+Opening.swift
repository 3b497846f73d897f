private import Glibc
import WakeFiles
import WakeModel
import WakeSQLite

extension Writer {
    struct Opened {
        let database: Database
        let keys: KeyFile
    }

    /// Everything that can be refused is refused before anything is touched. The caller holds the
    /// `StoreLock`: closing a second descriptor of the database would drop SQLite's own locks on
    /// it in this process (sqlite.org/howtocorrupt.html §2.2).
    static func open(_ configuration: StoreConfiguration) throws(StoreOpenError) -> Opened {
        let keys = try KeyFile.read(configuration)
        return Opened(database: try openDatabase(configuration), keys: keys)
    }

    /// The same when the keys are known.
    static func openDatabase(_ configuration: StoreConfiguration) throws(StoreOpenError) -> Database
    {
        try checkDatabaseFile(configuration)
        let database: Database
        do throws(SQLiteError) {
            database = try Database(path: configuration.databaseFile, access: .readWrite)
        } catch {
            throw StoreOpenError(error)
        }
        try StoreSetting.apply(to: database)
        try StoreSchema.verify(database)
        try limit(database, configuration)
        return database
    }

    private static func checkDatabaseFile(
        _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        let path = configuration.databaseFile
        try StoreOpenError.Part.database.checkPrivate(at: path)
        let header: [UInt8]
        do throws(FileError) {
            // For writing, though nothing is written: SQLite would fall back to reading only and
            // fail later, with a number that says less.
            header = try OpenFile(path, flags: O_RDWR).read(at: 0, count: 100)
        } catch {
            if error.number == EROFS { throw .readOnly }
            throw StoreOpenError(.database, error)
        }
        try StoreSchema.verify(header: header)
    }

    /// The hard cap, above the operator's: what lies between is for deletes and renewals.
    private static func limit(
        _ database: Database, _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        let cap = Int64(configuration.maxPages + Limits.headroomPages)
        let (pages, taken): (Int64?, Int64?)
        do throws(SQLiteError) {
            pages = try database.integer("PRAGMA page_count")
            taken = try database.integer("PRAGMA max_page_count=\(cap)")
        } catch {
            throw StoreOpenError(error)
        }
        // A file that is larger already keeps its size; it only cannot grow.
        guard let pages, taken == max(pages, cap) else { throw .pageLimitRefused }
    }

    /// One row of each table must open: with other keys the service would look empty to everyone.
    func verifyKeys() throws(StoreOpenError) {
        guard configuration.keyFile != nil else { return }
        for table in [current, previous] {
            let rows: [(id: [UInt8], sealed: [UInt8])]
            do throws(SQLiteError) {
                rows = try table.rows(after: [], limit: 1)
            } catch {
                throw StoreOpenError(error)
            }
            for row in rows where table.keys.open(row.sealed, id: row.id) == nil {
                throw .foreignKeys
            }
        }
    }

    /// What a kill may have left: a log with bytes of erased rows, an index of the log, a database
    /// that was being written anew, keys that were not yet in force, room not taken.
    func sweep() throws(StoreOpenError) {
        do throws(SQLiteError) {
            try database.checkpointTruncate()
        } catch {
            throw StoreOpenError(error)
        }
        do throws(FileError) {
            try Files.remove(configuration.indexFile)
            for file in configuration.freshRemnants { try Files.remove(file) }
            _ = reserve.hold()
        } catch {
            throw StoreOpenError(.dataDirectory, error)
        }
        try KeyFile.removeRemnant(configuration)
    }
}
