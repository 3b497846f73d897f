private import Dispatch
private import Glibc
private import Synchronization
import WakeModel
import WakeSQLite
import WakeSystem

/// A new file that takes the database's place by rename.
struct DatabaseReplacement {
    private let database: OpenDatabase
    /// Open from before there is a file: to remove that again needs no descriptor.
    private let directory: OpenFile

    private var configuration: StoreConfiguration { database.configuration }
    private var path: String { configuration.compactedFile }

    init(of database: OpenDatabase) throws(StoreOpenError) {
        self.database = database
        directory = try mapError({ StoreOpenError(.dataDirectory, $0) }) {
            () throws(FileError) in
            try OpenFile(
                database.configuration.dataDirectory, flags: O_RDONLY | O_DIRECTORY,
                followsLink: true)
        }
    }

    /// With keys in memory, replaces the database by an empty one: no key opens its rows.
    func replaceByEmpty() throws(StoreOpenError) {
        let rows = database.survey().map { $0.current + $0.previous } ?? 0
        database.counters.strayRows.store(rows, ordering: .relaxed)
        try StoreSchema.createDatabase(at: path)
        try settle()
        guard adopt(), database.attach() else { throw .sqlite(.inputOutput) }
    }

    /// Brings the new file into the state in which a store's file rests, and onto the disk.
    func settle() throws(StoreOpenError) {
        try setUp()
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            // A log that stayed would not be found under the name the file is to have.
            guard isEmpty(path + "-wal") else { throw FileError(.remove, EIO) }
            try OpenFile(path, flags: O_RDWR).synchronize()
        }
    }

    private func setUp() throws(StoreOpenError) {
        let new = try StoreSchema.openDatabase(at: path)
        try StoreSchema.verify(new)
        try mapError(StoreOpenError.init, new.checkpointTruncate())
    }

    /// Puts the new file in the database's place and opens it. From the rename on there is no way
    /// back: when it may not last the process ends, and the next start finds either file.
    /// - Parameter freesAtOnce: whether the old file's room is wanted now. To give back gigabytes
    ///   takes a second, for which nobody else need wait.
    func adopt(freesAtOnce: Bool = true) -> Bool {
        do throws(StoreOpenError) {
            try database.reopen { () throws(StoreOpenError) in
                // The log of one file is poison to another (sqlite.org/howtocorrupt.html §2.4).
                guard isEmpty(configuration.logFile) else { throw .locked }
                let name = configuration.databaseFile
                let old = freesAtOnce ? nil : try? OpenFile(name, flags: O_RDONLY)
                try mapError({ StoreOpenError(.database, $0) }, Files.rename(path, to: name))
                if let old { DispatchQueue.global(qos: .utility).async { _ = old } }
            }
            return true
        } catch {
            if case .file(_, let error) = error, error.call == .syncDirectory {
                database.die()
            } else {
                _ = remove()
            }
            return false
        }
    }

    /// Removes the new file, durably: after a power cut it must not be there again with rows that
    /// were deleted since.
    /// - Returns: false when rows stay in a file that nothing would erase them from.
    func remove() -> Bool {
        do throws(FileError) {
            for file in configuration.compactedRemnants { try Files.remove(file) }
            try directory.synchronize()
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
