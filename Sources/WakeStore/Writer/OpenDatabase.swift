private import Glibc
private import Synchronization
import WakeModel
import WakeSQLite
import WakeSystem

/// The open files of a store, its keys in force and its reserve; on the writer's thread.
final class OpenDatabase {
    let configuration: StoreConfiguration
    let counters: StoreCounters
    let reserve: DiskReserve
    private(set) var keys: KeyFile
    /// nil only while the file is replaced, or cannot be opened for want of descriptors.
    private var openConnection: StoreConnection?
    /// Pages in the log since it was last started over.
    private(set) var loggedPages = 0
    /// Rows that rotations erased since the keys were last exchanged.
    private var dropped = 0
    /// Set while the log has room of the reserve's.
    private var lentLog: LentLog?
    /// The database once more, to lend it room; closed after the connection, see `init`.
    private var growingFile: OpenFile?
    /// When something was first written to the log since it was emptied; nil: it is empty.
    private var logUsed: UInt64?
    /// A flush failed: nothing more is acknowledged.
    private(set) var isDead = false

    var connection: StoreConnection {
        guard let openConnection else { preconditionFailure("the file is being replaced") }
        return openConnection
    }

    /// Refuses before it touches anything. The caller holds the `StoreLock`: closing a second
    /// descriptor would drop SQLite's own locks (sqlite.org/howtocorrupt.html §2.2).
    init(_ configuration: StoreConfiguration, counters: StoreCounters) throws(StoreOpenError) {
        let keys = try Self.examineFiles(configuration)
        let database = try Self.open(configuration)
        self.configuration = configuration
        self.counters = counters
        self.keys = keys
        reserve = try DiskReserve(configuration)
        openConnection = try mapError(StoreOpenError.init, StoreConnection(database, keys: keys))
        try Self.verifyKeys(connection, configuration)
        try removeRemnants()
        counters.generation.store(keys.generation, ordering: .relaxed)
    }

    // MARK: Opening

    /// What can be known before SQLite touches anything.
    static func examineFiles(_ configuration: StoreConfiguration) throws(StoreOpenError) -> KeyFile
    {
        let keys = try KeyFile.read(configuration)
        try checkDatabaseFile(configuration)
        do throws(FileError) {
            try Files.checkWritable(configuration.dataDirectory)
        } catch {
            if error.number == EROFS { throw .readOnly }
            throw StoreOpenError(.dataDirectory, error)
        }
        _ = try DiskReserve(configuration)
        return keys
    }

    private static func open(_ configuration: StoreConfiguration) throws(StoreOpenError) -> Database
    {
        try checkDatabaseFile(configuration)
        let database = try StoreSchema.openDatabase(at: configuration.databaseFile)
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
            // For writing: SQLite would fall back to reading only and fail later.
            header = try OpenFile(path, flags: O_RDWR).read(at: 0, count: 100)
        } catch {
            if error.number == EROFS { throw .readOnly }
            throw StoreOpenError(.database, error)
        }
        try StoreSchema.verify(header: header)
    }

    /// The hard cap, above the operator's: what lies between is for deletes.
    private static func limit(
        _ database: Database, _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        let cap = Int64(configuration.maxPages + Limits.headroomPages)
        let (pages, limit) = try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            let pages = try database.integer("PRAGMA page_count")
            return (pages, try database.integer("PRAGMA max_page_count=\(cap)"))
        }
        // A file that is larger already keeps its size; it only cannot grow.
        guard let pages, limit == max(pages, cap) else { throw .pageLimitRefused }
    }

    /// One row of each table must open: other keys would make the service look empty to everyone.
    static func verifyKeys(
        _ connection: StoreConnection, _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        guard configuration.keyFile != nil else { return }
        for table in [connection.current, connection.previous] {
            let page = try mapError(
                StoreOpenError.init, table.page(in: [.all()], limit: 1))
            if page.count > 0, page.open().isEmpty { throw .foreignKeys }
        }
    }

    /// Removes what a killed process left (log, index, copy, unused keys); fills up the reserve.
    private func removeRemnants() throws(StoreOpenError) {
        // First what gives room for the rest.
        try mapError({ StoreOpenError(.dataDirectory, $0) }) { () throws(FileError) in
            try Files.remove(configuration.indexFile)
            for file in configuration.compactedRemnants { try Files.remove(file) }
        }
        // SQLite's first flush of a log flushes the directory too (`unixSync` in os_unix.c): what
        // was removed is not there again after a power cut.
        try mapError(StoreOpenError.init, truncateLog())
        _ = reserve.fill()
        try KeyFile.removeRemnant(configuration)
    }

    // MARK: The log

    /// Counts the pages of a commit; returns their number.
    func countLoggedPages() -> Int {
        let pages = connection.database.takePagesWritten()
        loggedPages += pages
        if pages > 0 { noteLogUsed() }
        return pages
    }

    func undo() {
        // Frames of the attempt may lie in the log behind its valid end.
        noteLogUsed()
        // After some errors SQLite has rolled back by itself (lang_transaction.html §3).
        if !isDead, connection.database.isInTransaction {
            try? connection.database.execute("ROLLBACK")
        }
        _ = connection.database.takePagesWritten()
    }

    /// Whether the log must be empty before the next answer, whatever it is about.
    var isLogLent: Bool { lentLog != nil }

    private func noteLogUsed() { logUsed = logUsed ?? SystemClock.monotonicNanoseconds }

    /// When the log is to be emptied at the latest: what a renewal replaced may be in it.
    var logDue: UInt64? {
        isDead ? nil : logUsed.map { $0 + UInt64(Limits.logMilliseconds) * 1_000_000 }
    }

    /// Empties the log in time, whatever is in it: otherwise it would show who renews.
    func emptyLogIfDue() {
        guard let logDue, SystemClock.monotonicNanoseconds >= logDue else { return }
        do throws(SQLiteError) {
            try truncateLog()
        } catch {
            fail(error)
            // Tried again after as long a time.
            logUsed = SystemClock.monotonicNanoseconds
        }
    }

    func truncateLog() throws(SQLiteError) {
        do throws(SQLiteError) {
            try emptyLog()
        } catch {
            // The rows are in the log; the database file had no room to grow for them.
            guard isOutOfRoom(error) else { throw error }
            lendGrowth()
            try emptyLog()
        }
        logUsed = nil
        loggedPages = 0
        counters.truncations.add(1, ordering: .relaxed)
    }

    func truncateLogIfUsed() throws(SQLiteError) {
        if logUsed != nil || isLogLent { try truncateLog() }
    }

    private func emptyLog() throws(SQLiteError) {
        guard let lentLog, !reserve.isComplete else {
            try connection.database.checkpointTruncate()
            return lentLog = nil
        }
        try connection.database.checkpoint()
        do throws(FileError) {
            try lentLog.erase()
        } catch {
            if error.call == .sync { die() }
            // The next attempt truncates: where this one stopped is not known.
            self.lentLog = nil
            throw .inputOutput
        }
    }

    /// Copies a long log into the database and starts it over, between two batches.
    func copyLogIfLong() {
        guard isLogLong else { return }
        do throws(SQLiteError) {
            try connection.database.checkpoint()
            loggedPages = 0
        } catch {
            // Everything acknowledged is in the log and stays there until a copy succeeds.
            fail(error)
        }
    }

    /// Half of the reserve is for a copy of all pages, the other half for the log of the deletes.
    var isLogLong: Bool {
        var limit = Limits.logPages
        if configuration.reserveBytes > 0 {
            limit = min(limit, configuration.reserveBytes / 2 / Limits.pageBytes)
        }
        return loggedPages >= limit
    }

    func close() {
        guard attach() else { return }
        do throws(SQLiteError) {
            lentLog = nil
            try truncateLog()
            counters.set(.closed)
        } catch {
            // The log stays and is emptied at the next start; nothing acknowledged is in danger.
            fail(error)
        }
    }

    // MARK: Replacing keys and file

    func countDropped(_ rows: Int) { dropped += rows }

    /// Those of a rotation that did not get to its end count for the next.
    func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    /// Puts keys and roles in force that are on the disk already.
    func switchKeys(to next: KeyFile) throws(SQLiteError) {
        keys = next
        try connection.switchKeys(to: next)
        counters.generation.store(next.generation, ordering: .relaxed)
    }

    /// Closes the connection, calls `replace`, and opens the file that is there then.
    func reopen(after replace: () throws(StoreOpenError) -> Void) throws(StoreOpenError) {
        (openConnection, growingFile, lentLog, logUsed) = (nil, nil, nil, nil)
        defer { _ = attach() }
        try replace()
    }

    /// Opens the file unless it is open; ends the process when that fails, but not for want of
    /// descriptors: the next message tries again, and until then nothing can be done.
    func attach() -> Bool {
        guard openConnection == nil, !isDead else { return !isDead }
        do throws(StoreOpenError) {
            let database = try Self.open(configuration)
            openConnection = try mapError(
                StoreOpenError.init, StoreConnection(database, keys: keys))
            _ = try mapError(StoreOpenError.init, roomyPages())
        } catch {
            if error.isOutOfDescriptors { counters.set(.failing) } else { die() }
            openConnection = nil
        }
        return openConnection != nil
    }

    // MARK: Failure

    /// A flush that failed is the end: never acknowledged, never retried.
    func fail(_ error: SQLiteError) { if error.isFlushFailure { die() } }

    /// The state on the disk is unknown: the process must end and be started again.
    func die() {
        guard !isDead else { return }
        isDead = true
        counters.set(.failed)
        configuration.onFatal()
    }

    func isOutOfRoom(_ error: SQLiteError) -> Bool {
        error.isFull
            || (error.isIOError && [ENOSPC, EDQUOT].contains(connection.database.systemError))
    }

    // MARK: A full disk

    /// Room for the pages that only the log holds.
    private func lendGrowth() {
        guard let pages = try? connection.database.integer("PRAGMA page_count"),
            let file = growingFile ?? (try? OpenFile(configuration.databaseFile, flags: O_RDWR)),
            let size = try? file.status().size
        else { return reserve.release(.max) }
        growingFile = file
        let missing = Int(pages) * Limits.pageBytes - size
        if missing > 0 { reserve.lend(missing, to: file, behind: size) }
    }

    /// Empties the log and gives it half of the reserve, which stays with it until the reserve is
    /// complete without; meanwhile the log is empty before every answer.
    /// - Returns: false when there is nothing to give.
    func lendLog() -> Bool {
        if lentLog != nil { return true }
        do throws(SQLiteError) {
            try truncateLog()
        } catch {
            fail(error)
            return false
        }
        guard reserve.held > 0,
            let file = try? OpenFile(configuration.logFile, flags: O_RDWR)
        else { return false }
        reserve.lend(reserve.held / 2, to: file, behind: 0, keeping: reserve.held / 4)
        lentLog = LentLog(file)
        return true
    }

    /// Gives room of the reserve to a file beside the database; a quarter stays for deletes.
    /// - Returns: false when there is none to give, or when no room is missing.
    func giveRoom(_ bytes: Int) -> Bool {
        guard let free = freeBytes, free < bytes,
            reserve.held - bytes >= configuration.reserveBytes / 4
        else { return false }
        reserve.release(bytes)
        return true
    }

    /// What there is room for in the log that is lent, and in the free pages of the file or in what
    /// the reserve has beside the quarter that stays for deletes.
    func room(for pages: Int) -> Batch.Room {
        guard lendLog(), let free = try? connection.freePages() else { return .none }
        if free >= pages { return .new }
        let spare = reserve.held - configuration.reserveBytes / 4
        return spare >= (pages - free) * Limits.pageBytes ? .moved : .renewed
    }

    // MARK: Room

    /// Pages that new registrations may still fill.
    func roomyPages() throws(SQLiteError) -> Int {
        let used = try connection.usedPages()
        counters.pages.store(used, ordering: .relaxed)
        return configuration.newRowPages - used
    }

    /// Bytes that the file system has left; nil when that is not known.
    var freeBytes: Int? { try? Files.freeBytes(at: configuration.dataDirectory) }

    /// Estimates what is stored; nil when the files cannot be read.
    func survey() -> StoreSurvey? { attach() ? try? measure() : nil }

    private func measure() throws(SQLiteError) -> StoreSurvey {
        let survey = StoreSurvey(
            generation: keys.generation,
            current: try connection.current.estimate(Limits.surveyRows),
            previous: try connection.previous.estimate(Limits.surveyRows),
            bytes: try connection.usedPages() * Limits.pageBytes, free: freeBytes)
        counters.currentRows.store(survey.current, ordering: .relaxed)
        counters.previousRows.store(survey.previous, ordering: .relaxed)
        return survey
    }
}
