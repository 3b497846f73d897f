private import Glibc
private import Synchronization
import WakeFiles
import WakeModel
import WakeSQLite

extension Writer {
    /// Writes the rows in the order of their ids into a new file, which takes the place of the old
    /// one: its bytes then depend on the rows alone, not on how they came about. Nothing else is
    /// done meanwhile.
    ///
    /// `VACUUM` in place would hold a copy of everything in memory (temp_store=MEMORY), write it
    /// twice, and count in the header how often that was done. `VACUUM INTO` writes once; what a
    /// crash leaves is removed at the next start.
    func compact() -> Compaction {
        guard !isDead else { return .failed }
        let start = ContinuousClock.now
        let needed: Int
        do throws(SQLiteError) {
            if owesTruncation || loggedPages > 0 { try truncate() }
            needed = try usedPages() * Limits.pageBytes + configuration.spareBytes
        } catch {
            fail(error)
            return .failed
        }
        if let free = freeBytes, free < needed {
            return .noRoom(needed: needed, free: free)
        }
        do throws(StoreOpenError) {
            try writeFresh()
            try Self.settle(configuration)
        } catch {
            guard removeFresh() else { return .failed }
            if case .sqlite(let error) = error, error.isFull {
                return .noRoom(needed: needed, free: freeBytes ?? 0)
            }
            return .failed
        }
        guard takeFresh() else { return .failed }
        return .done(
            bytes: (try? FileStatus(of: configuration.databaseFile).size) ?? 0,
            milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)))
    }

    /// With keys in memory: whatever the file holds is sealed with keys that nobody has.
    func startAnew() throws(StoreOpenError) {
        counters.strayRows.store(survey().map { $0.current + $0.previous } ?? 0, ordering: .relaxed)
        try Store.createDatabase(at: configuration.freshFile)
        try Self.settle(configuration)
        guard takeFresh() else { throw .sqlite(SQLiteError(code: EIO)) }
    }

    func survey() -> StoreSurvey? {
        do throws(SQLiteError) {
            let survey = StoreSurvey(
                generation: keys.generation,
                current: try current.estimate(Limits.surveyRows),
                previous: try previous.estimate(Limits.surveyRows),
                bytes: try usedPages() * Limits.pageBytes, free: freeBytes)
            counters.currentRows.store(survey.current, ordering: .relaxed)
            counters.previousRows.store(survey.previous, ordering: .relaxed)
            return survey
        } catch {
            return nil
        }
    }

    /// What `PRAGMA schema_version` is in every file, whichever way it came to be: otherwise it
    /// would count the rotations.
    private static let schemaCookie = 2

    private var freeBytes: Int? { try? Files.freeBytes(at: configuration.dataDirectory) }

    private func writeFresh() throws(StoreOpenError) {
        let path = configuration.freshFile
        do throws(FileError) {
            try Files.remove(path)
            // VACUUM INTO would make the file with the umask's mode; it takes an empty one.
            let nothing: [UInt8] = []
            try Files.create(path, with: nothing.span)
        } catch {
            throw StoreOpenError(.database, error)
        }
        do throws(SQLiteError) {
            let copy = try database.prepare("VACUUM INTO ?1")
            try copy.bind(1, text: path)
            try copy.run()
        } catch {
            throw StoreOpenError(error)
        }
    }

    /// Brings a fresh file into the state in which a store's file rests, and onto the disk.
    private static func settle(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        try setUp(configuration.freshFile)
        do throws(FileError) {
            // A log that stayed would not be found under the name the file is to have.
            guard isEmpty(configuration.freshFile + "-wal") else { throw FileError(.remove, EIO) }
            try OpenFile(configuration.freshFile, flags: O_RDWR).synchronize()
        } catch {
            throw StoreOpenError(.database, error)
        }
    }

    private static func setUp(_ path: String) throws(StoreOpenError) {
        let database: Database
        do throws(SQLiteError) {
            database = try Database(path: path, access: .readWrite)
        } catch {
            throw StoreOpenError(error)
        }
        try StoreSetting.apply(to: database)
        try StoreSchema.verify(database)
        do throws(SQLiteError) {
            try database.execute("PRAGMA schema_version=\(schemaCookie)")
            try database.checkpointTruncate()
        } catch {
            throw StoreOpenError(error)
        }
    }

    /// Closes the database, puts the fresh file in its place and opens that. From the rename on
    /// there is no way back: what fails ends the process, and the next start finds either file.
    private func takeFresh() -> Bool {
        held = nil
        do throws(StoreOpenError) {
            // The log of one file is poison to another (sqlite.org/howtocorrupt.html §2.4).
            guard Self.isEmpty(configuration.logFile) else { throw .locked }
            try rename()
            let database = try Self.openDatabase(configuration)
            do throws(SQLiteError) {
                held = try StoreConnection(database, keys: keys)
                _ = try roomyPages()
            } catch {
                throw StoreOpenError(error)
            }
            return true
        } catch {
            die()
            return false
        }
    }

    private func rename() throws(StoreOpenError) {
        do throws(FileError) {
            try Files.rename(configuration.freshFile, to: configuration.databaseFile)
        } catch {
            throw StoreOpenError(.database, error)
        }
    }

    /// - Returns: false when rows stay in a file that nothing would erase them from.
    private func removeFresh() -> Bool {
        do throws(FileError) {
            for file in configuration.freshRemnants { try Files.remove(file) }
            return true
        } catch {
            die()
            return false
        }
    }

    /// Missing counts as empty.
    private static func isEmpty(_ path: String) -> Bool {
        guard Files.exists(path) else { return true }
        return (try? FileStatus(of: path).size) == 0
    }
}
