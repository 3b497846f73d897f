import WakeSystem

extension Store {
    /// Finds what `init(opening:)` would refuse, as that finds it, and changes nothing.
    /// - Returns: whether another process has the store open, whose database is not read then.
    package static func examine(
        _ configuration: StoreConfiguration
    ) throws(StoreOpenError) -> Bool {
        let isOpen = try isOpen(configuration)
        let keys = try StoreFiles.examine(configuration)
        guard !isOpen else { return true }
        let masters = [keys.previous, keys.current]
        for (path, master) in zip(try StoreFiles.databases(of: keys, configuration), masters) {
            let database = try mapError(StoreOpenError.init, try atRest(path))
            try StoreSchema.verify(database)
            let keys = GenerationKeys(master: master)
            let rows = try mapError(
                StoreOpenError.init, GenerationTable(keys: keys, in: database))
            try StoreFiles.verifyKeys(rows, configuration)
        }
        return false
    }

    /// The lock is given back at once: a service that starts now must find it free.
    private static func isOpen(_ configuration: StoreConfiguration) throws(StoreOpenError) -> Bool {
        do throws(StoreOpenError) {
            _ = try StoreLock(configuration)
            return false
        } catch {
            guard error == .locked else { throw error }
            return true
        }
    }

    /// A log that a killed process left is read into memory, and left as it is.
    private static func atRest(_ path: String) throws(SQLiteError) -> Database {
        guard let log = try? FileStatus(of: path + "-wal"), log.size > 0 else {
            return try Database(path: path, access: .asItLies)
        }
        let database = try Database(path: path, access: .readWrite)
        try database.keepLog()
        // Before any read: the index of the log is in memory then (sqlite.org/wal.html §8).
        try database.execute("PRAGMA locking_mode=EXCLUSIVE")
        return database
    }
}
