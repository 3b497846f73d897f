private import Glibc
private import Synchronization
import WakeModel
import WakeSQLite
import WakeSystem

/// Writes the rows in the order of their ids into a new file that takes the place of the old one:
/// its bytes depend on the rows alone, not on their history. `VACUUM` in place would hold
/// everything in memory, write it twice, and count in the header how often.
struct Compaction {
    let database: OpenDatabase

    /// `PRAGMA schema_version` of every file: otherwise it would count the rotations.
    private static let schemaCookie = 2
    /// Room for the copy's own log.
    private static let logBytes = 1 << 18

    private var configuration: StoreConfiguration { database.configuration }

    func run() -> CompactionOutcome {
        guard !database.isDead else { return .failed }
        let start = ContinuousClock.now
        let bytes: Int
        do throws(SQLiteError) {
            try database.truncateLogIfUsed()
            bytes = try database.connection.usedPages() * Limits.pageBytes
        } catch {
            database.fail(error)
            return .failed
        }
        var borrowed = 0
        if let free = database.freeBytes, free < bytes + configuration.spareBytes {
            borrowed = bytes
            // The other half is for deletes, should others be faster to what this frees.
            guard borrowed + Self.logBytes <= database.reserve.held / 2
            else { return .noRoom(needed: bytes + configuration.spareBytes, free: free) }
        }
        // The old file's room is the reserve's first.
        defer { _ = database.reserve.fill() }
        do throws(StoreOpenError) {
            try copy(borrowing: borrowed)
            try settle()
        } catch {
            guard removeCopy() else { return .failed }
            if case .sqlite(let error) = error, error.isFull {
                return .noRoom(
                    needed: bytes + configuration.spareBytes, free: database.freeBytes ?? 0)
            }
            return .failed
        }
        guard adoptCopy() else { return .failed }
        return .done(
            bytes: (try? FileStatus(of: configuration.databaseFile).size) ?? 0,
            milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)))
    }

    /// With keys in memory, replaces the database by an empty one: no key opens its rows.
    func replaceByEmpty() throws(StoreOpenError) {
        let rows = database.survey().map { $0.current + $0.previous } ?? 0
        database.counters.strayRows.store(rows, ordering: .relaxed)
        try StoreSchema.createDatabase(at: configuration.compactedFile)
        try settle()
        guard adoptCopy(), database.attach() else { throw .sqlite(.inputOutput) }
    }

    /// - Parameter borrowed: bytes of the reserve, for the copy.
    private func copy(borrowing borrowed: Int) throws(StoreOpenError) {
        let path = configuration.compactedFile
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            try Files.remove(path)
            // VACUUM INTO would make the file with the umask's mode; it takes an empty one.
            let nothing: [UInt8] = []
            try Files.create(path, with: nothing.span)
            guard borrowed > 0 else { return }
            database.reserve.lend(borrowed, to: try OpenFile(path, flags: O_RDWR), behind: 0)
            database.reserve.release(Self.logBytes)
        }
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            let copy = try database.connection.database.prepare("VACUUM INTO ?1")
            try copy.bind(1, text: path)
            try copy.run()
        }
    }

    /// Brings the copy into the state in which a store's file rests, and onto the disk.
    private func settle() throws(StoreOpenError) {
        let path = configuration.compactedFile
        try setUp(path)
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            // A log that stayed would not be found under the name the file is to have.
            guard isEmpty(path + "-wal") else { throw FileError(.remove, EIO) }
            try OpenFile(path, flags: O_RDWR).synchronize()
        }
    }

    private func setUp(_ path: String) throws(StoreOpenError) {
        let copy = try StoreSchema.openDatabase(at: path)
        try StoreSchema.verify(copy)
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            try copy.execute("PRAGMA schema_version=\(Self.schemaCookie)")
            try copy.checkpointTruncate()
        }
    }

    /// Puts the copy in the database's place and opens it. From the rename on there is no way back:
    /// when it may not last the process ends, and the next start finds either file.
    private func adoptCopy() -> Bool {
        do throws(StoreOpenError) {
            try database.reopen { () throws(StoreOpenError) in
                // The log of one file is poison to another (sqlite.org/howtocorrupt.html §2.4).
                guard isEmpty(configuration.logFile) else { throw .locked }
                try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
                    try Files.rename(configuration.compactedFile, to: configuration.databaseFile)
                }
            }
            return true
        } catch {
            if case .file(_, let error) = error, error.call == .syncDirectory {
                database.die()
            } else {
                _ = removeCopy()
            }
            return false
        }
    }

    /// - Returns: false when rows stay in a file that nothing would erase them from.
    private func removeCopy() -> Bool {
        do throws(FileError) {
            for file in configuration.compactedRemnants { try Files.remove(file) }
            return true
        } catch {
            database.die()
            return false
        }
    }

    /// Missing counts as empty.
    private func isEmpty(_ path: String) -> Bool {
        guard Files.exists(path) else { return true }
        return (try? FileStatus(of: path).size) == 0
    }
}

/// The outcome of a compaction.
package enum CompactionOutcome: Sendable, Equatable {
    /// `bytes`: size of the new file. `milliseconds`: the time in which nothing else was done.
    case done(bytes: Int, milliseconds: Int)
    /// Not enough room for a second file, in bytes.
    case noRoom(needed: Int, free: Int)
    case failed
}

/// An estimate of what the store holds.
package struct StoreSurvey: Sendable, Equatable {
    package let generation: UInt64
    /// Rows, exact below `Limits.surveyRows`.
    package let current: Int
    package let previous: Int
    /// Size of the database after a compaction, and the room a compaction needs, in bytes.
    package let bytes: Int
    /// Bytes that its file system has left; nil when that is not known.
    package let free: Int?
}
