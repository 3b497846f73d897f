private import Glibc
import WakeModel
import WakeSystem

/// The files of generations in the data directory: `generation-7.db` with its log.
enum StoreFiles {
    private static let prefix = "generation-"
    /// The file itself and what SQLite may make next to it.
    private static let endings = ["", "-wal", "-shm", "-journal"]

    /// Paths of the databases in the directory.
    static func databases(_ configuration: StoreConfiguration) throws(FileError) -> [String] {
        try names(configuration).filter { $0.hasSuffix(".db") }
            .map { configuration.dataDirectory + "/" + $0 }.sorted()
    }

    private static func names(
        _ configuration: StoreConfiguration
    ) throws(FileError) -> [String] {
        try Files.names(in: configuration.dataDirectory).filter { $0.hasPrefix(prefix) }
    }

    /// What can be known before SQLite touches anything.
    static func examine(_ configuration: StoreConfiguration) throws(StoreOpenError) -> KeyFile {
        let keys = try KeyFile.read(configuration)
        let databases = try databases(of: keys, configuration)
        for path in databases { try check(path) }
        do throws(FileError) {
            try Files.checkWritable(configuration.dataDirectory)
        } catch {
            if error.number == EROFS { throw .readOnly }
            throw StoreOpenError(.dataDirectory, error)
        }
        _ = try DiskReserve(configuration)
        return keys
    }

    /// The previous file and the current one; with keys in memory whatever an earlier start left.
    static func databases(
        of keys: KeyFile, _ configuration: StoreConfiguration
    ) throws(StoreOpenError) -> [String] {
        guard configuration.keyFile == nil
        else { return keys.generations.map { configuration.file(of: $0) } }
        let databases = try mapError(
            { StoreOpenError(.dataDirectory, $0) }, databases(configuration))
        guard !databases.isEmpty else { throw .missing(.database) }
        return databases
    }

    private static func check(_ path: String) throws(StoreOpenError) {
        try StoreOpenError.Part.database.checkPrivate(at: path)
        let header: [UInt8]
        do throws(FileError) {
            // For writing: SQLite would fall back to reading only and fail later.
            header = try OpenFile(path, flags: O_RDWR).read(at: 0, count: 100)
        } catch {
            if error.number == EROFS { throw .readOnly }
            throw StoreOpenError(.database, error)
        }
        try StoreSchema.verify(header: header)
    }

    /// One row must open: other keys would make the service look empty to every client.
    static func verifyKeys(
        _ rows: GenerationTable, _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        guard configuration.keyFile != nil else { return }
        let page = try mapError(StoreOpenError.init, rows.page(in: [.all()], limit: 1))
        if page.count > 0, page.open().isEmpty { throw .foreignKeys }
    }

    // MARK: Making and removing

    /// Makes a file without rows, mode 0600, durably; on a full disk with room of the reserve's.
    static func makeEmpty(_ path: String, _ reserve: DiskReserve?) throws(StoreOpenError) {
        let bytes = try mapError(StoreOpenError.init, StoreSchema.emptyFile())
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            try Files.replace(path, with: bytes.span) { file in
                reserve?.lend(bytes.count, to: file, behind: 0)
            }
        }
    }

    /// With keys in memory, makes the files that those name; no key opens the rows of the others.
    /// - Returns: the number of these, estimated.
    static func replaceByEmpty(
        _ configuration: StoreConfiguration, for keys: KeyFile, _ reserve: DiskReserve
    ) throws(StoreOpenError) -> Int {
        var rows = 0
        for path in try databases(of: keys, configuration) {
            let database = try StoreSchema.openDatabase(at: path)
            try StoreSchema.verify(database)
            rows += try mapError(StoreOpenError.init) { () throws(SQLiteError) in
                try GenerationTable(keys: GenerationKeys(master: keys.current), in: database)
                    .estimate(Limits.surveyRows)
            }
        }
        for generation in keys.generations {
            try makeEmpty(configuration.file(of: generation), reserve)
        }
        return rows
    }

    /// Removes what belongs to neither generation of the keys; not yet durable.
    static func removeOthers(
        than keys: KeyFile, _ configuration: StoreConfiguration
    ) throws(FileError) {
        let kept = keys.generations.map { "\(prefix)\($0).db" }.flatMap { [$0, $0 + "-wal"] }
        for name in try names(configuration) where !kept.contains(name) {
            try Files.remove(configuration.dataDirectory + "/" + name)
        }
    }

    /// Removes a generation's file with its log; not yet durable.
    static func remove(
        _ configuration: StoreConfiguration, generation: UInt64
    ) throws(FileError) {
        for ending in endings { try Files.remove(configuration.file(of: generation) + ending) }
    }

    /// Whether the directory holds nothing but what a store's making leaves.
    static func holdsOnlyFirst(_ configuration: StoreConfiguration) throws(FileError) -> Bool {
        let made = [0, 1].map { "\(prefix)\($0).db" }
        return try Files.names(in: configuration.dataDirectory)
            .allSatisfy { name in made.contains { name.hasPrefix($0) } }
    }
}
