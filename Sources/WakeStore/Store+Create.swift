private import Glibc
import WakeFiles
import WakeSQLite

extension Store {
    /// Makes a new store: the data directory (0700) with an empty database, and the key file
    /// (0600) with two random masters. Overwrites nothing; what it made is removed when it fails.
    package static func create(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        let directory = configuration.dataDirectory
        if let file = configuration.keyFile, Files.exists(file) { throw .exists(.keyFile) }
        guard !Files.exists(configuration.databaseFile) else { throw .exists(.database) }
        do throws(FileError) {
            try Files.makeDirectory(directory, mode: 0o700)
        } catch {
            throw StoreOpenError(.dataDirectory, error)
        }
        // Two at once would each find nothing: the lock decides.
        let lock = try StoreLock(configuration)
        try withExtendedLifetime(lock) { () throws(StoreOpenError) in
            try checkEmpty(directory)
            try makeKeyDirectory(configuration)
            try KeyFile.checkPlace(configuration)
            do throws(StoreOpenError) {
                try createDatabase(at: configuration.databaseFile)
                try KeyFile.random().create(configuration)
            } catch {
                remove(configuration, after: error)
                throw error
            }
        }
    }

    private static func checkEmpty(_ directory: String) throws(StoreOpenError) {
        do throws(FileError) {
            guard try Files.names(in: directory).isEmpty else { throw FileError(.open, EEXIST) }
        } catch {
            throw StoreOpenError(.dataDirectory, error)
        }
    }

    /// The directory was empty and is locked, so what is in it now is ours.
    private static func remove(
        _ configuration: StoreConfiguration, after error: StoreOpenError
    ) {
        var files = [configuration.databaseFile, configuration.logFile]
        if error != .exists(.keyFile), let file = configuration.keyFile { files.append(file) }
        for file in files { try? Files.remove(file) }
    }

    private static func makeKeyDirectory(
        _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        guard let parent = configuration.keyFile.flatMap(Files.parent(of:)) else { return }
        do throws(FileError) {
            try Files.makeDirectory(parent, mode: 0o700)
        } catch {
            throw StoreOpenError(.keyFile, error)
        }
    }

    /// An empty database, mode 0600, at a path where nothing is.
    static func createDatabase(at path: String) throws(StoreOpenError) {
        do throws(FileError) {
            // SQLite would make the file with the umask's mode; the log takes the mode over.
            let nothing: [UInt8] = []
            try Files.create(path, with: nothing.span, mode: 0o600)
        } catch {
            throw StoreOpenError(.database, error)
        }
        let database: Database
        do throws(SQLiteError) {
            database = try Database(path: path, access: .readWrite)
        } catch {
            throw StoreOpenError(error)
        }
        try StoreSetting.apply(to: database)
        do throws(SQLiteError) {
            try StoreSchema.create(in: database)
            try database.checkpointTruncate()
        } catch {
            throw StoreOpenError(error)
        }
        try StoreSchema.verify(database)
    }
}
