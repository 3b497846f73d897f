private import Glibc
import WakeModel
import WakeSystem

/// The open file of one generation with its write-ahead log; on the writer's thread.
final class GenerationFile {
    let rows: GenerationTable
    let path: String
    private let database: Database
    private let reserve: DiskReserve
    private let begin: Statement
    private let mark: Statement
    private let commit: Statement
    private let pageCount: Statement
    private let freeCount: Statement
    /// Pages in the log since it was last started over.
    private(set) var loggedPages = 0
    /// When something was first written to the log since it was emptied; nil: it is empty.
    private(set) var logUsed: UInt64?
    /// Set while the log has room of the reserve's.
    private var lentLog: LentLog?
    /// Free pages whose room the disk has back.
    private var returnedPages = 0
    private var auditLock: AuditLock
    /// The file once more, to lock it, and to give it room and take it: closed after the
    /// connection, whose locks go with any descriptor (sqlite.org/howtocorrupt.html §2.2).
    private let file: OpenFile

    /// No audit reads the file before the log has been emptied: a killed process may have copied
    /// half of it.
    /// - Parameter pagesAtMost: the hard cap, above the operator's: what lies between is for
    ///   deletes.
    init(
        path: String, keys: GenerationKeys, reserve: DiskReserve, pagesAtMost: Int
    ) throws(StoreOpenError) {
        let file = try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            try OpenFile(path, flags: O_RDWR)
        }
        var auditLock = AuditLock(file)
        auditLock.take()
        let database = try StoreSchema.openDatabase(at: path)
        try StoreSchema.verify(database)
        try Self.limit(database, pagesAtMost)
        (self.path, self.file, self.auditLock) = (path, file, auditLock)
        self.database = database
        self.reserve = reserve
        do throws(SQLiteError) {
            rows = try GenerationTable(keys: keys, in: database)
            begin = try database.prepare("BEGIN IMMEDIATE")
            mark = try database.prepare("PRAGMA user_version=\(StoreSchema.version)")
            commit = try database.prepare("COMMIT")
            pageCount = try database.prepare("PRAGMA page_count")
            freeCount = try database.prepare("PRAGMA freelist_count")
        } catch { throw StoreOpenError(error) }
    }

    private static func limit(_ database: Database, _ cap: Int) throws(StoreOpenError) {
        let (pages, limit) = try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            let pages = try database.integer("PRAGMA page_count")
            return (pages, try database.integer("PRAGMA max_page_count=\(cap)"))
        }
        // A file that is larger already keeps its size; it only cannot grow.
        guard let pages, limit == max(pages, Int64(cap)) else { throw .pageLimitRefused }
    }

    // MARK: Transactions

    func beginTransaction() throws(SQLiteError) { try begin.run() }

    /// Flushes, also when nothing was changed if `always`: a delete of nothing changes nothing, and
    /// SQLite would not flush. Rewriting the schema version dirties page 1, so that known and
    /// unknown take the same way.
    func commitTransaction(always: Bool) throws(SQLiteError) {
        if always { try mark.run() }
        try commit.run()
    }

    func undo() {
        // Frames of the attempt may lie in the log behind its valid end.
        noteLogUsed()
        // After some errors SQLite has rolled back by itself (lang_transaction.html §3).
        if database.isInTransaction { try? database.execute("ROLLBACK") }
        _ = database.takePagesWritten()
    }

    /// Counts the pages of a commit; returns their number.
    func countLoggedPages() -> Int {
        let pages = database.takePagesWritten()
        loggedPages += pages
        if pages > 0 { noteLogUsed() }
        return pages
    }

    /// An attempt to empty the log failed: the next comes after as long a time.
    func retryLater() { if logUsed != nil { logUsed = SystemClock.monotonicNanoseconds } }

    private func noteLogUsed() { logUsed = logUsed ?? SystemClock.monotonicNanoseconds }

    /// Pages of the file that hold something.
    func usedPages() throws(SQLiteError) -> Int {
        try pageCount.singleInteger() - freePages()
    }

    func freePages() throws(SQLiteError) -> Int { try freeCount.singleInteger() }

    func isOutOfRoom(_ error: SQLiteError) -> Bool {
        error.isFull || (error.isIOError && [ENOSPC, EDQUOT].contains(database.systemError))
    }

    // MARK: The log

    /// For a file whose log was never used.
    func admitAudits() { auditLock.release() }

    /// Copies the log into the file and empties it, durably.
    func emptyLog() throws(SQLiteError) {
        auditLock.take()
        defer { auditLock.release() }
        do throws(SQLiteError) {
            try copyAndEmptyLog()
        } catch {
            // The rows are in the log; the file had no room to grow for them.
            guard isOutOfRoom(error) else { throw error }
            lendGrowth()
            try copyAndEmptyLog()
        }
        logUsed = nil
        loggedPages = 0
    }

    private func copyAndEmptyLog() throws(SQLiteError) {
        guard let lentLog, !reserve.isComplete else {
            try database.checkpointTruncate()
            return lentLog = nil
        }
        try database.checkpoint()
        do throws(FileError) {
            try lentLog.erase()
        } catch {
            // The next attempt truncates: where this one stopped is not known.
            self.lentLog = nil
            throw error.call == .sync ? .flushFailure : .inputOutput
        }
    }

    /// Copies the log into the file and starts it over.
    func copyLog() throws(SQLiteError) {
        auditLock.take()
        defer { auditLock.release() }
        try database.checkpoint()
        loggedPages = 0
    }

    /// Everything acknowledged is in the log and stays there when this fails.
    func close() throws(SQLiteError) {
        lentLog = nil
        try emptyLog()
    }

    // MARK: A full disk

    /// Whether the log must be empty before the next answer, whatever it is about.
    var isLogLent: Bool { lentLog != nil }

    /// Gives the log, which is empty, a third of the reserve, which stays with it until the reserve
    /// is complete without.
    /// - Returns: false when there is nothing to give.
    func lendLog() -> Bool {
        guard lentLog == nil else { return true }
        guard reserve.held > 0, let file = try? OpenFile(path + "-wal", flags: O_RDWR)
        else { return false }
        reserve.lend(reserve.held / 3, to: file, behind: 0, keeping: reserve.held / 4)
        lentLog = LentLog(file)
        return true
    }

    /// Room for the pages that only the log holds.
    private func lendGrowth() {
        guard let pages = try? pageCount.singleInteger(), let size = try? file.status().size
        else { return reserve.release(.max) }
        let missing = pages * Limits.pageBytes - size
        if missing > 0 {
            reserve.lend(missing, to: file, behind: size)
        } else {
            // Free pages whose room was given back are used again.
            reserve.release(loggedPages * Limits.pageBytes)
        }
    }

    /// Gives the room of free pages, which are zeros, back to the disk: moved rows take as much
    /// elsewhere. The log must be empty.
    func returnFreePages() {
        guard let free = try? freePages(), free >= returnedPages + Self.returnedAtLeast,
            let header = try? file.read(at: 0, count: 100)
        else { return }
        // sqlite.org/fileformat2.html §1.5
        var trunk = Int(header.span.bigEndian(at: 32, as: UInt32.self))
        while trunk > 0,
            let page = try? file.read(
                at: (trunk - 1) * Limits.pageBytes, count: Limits.pageBytes),
            page.count == Limits.pageBytes
        {
            let leaves = Int(page.span.bigEndian(at: 4, as: UInt32.self))
            for index in 0..<min(leaves, Limits.pageBytes / 4 - 2) {
                let leaf = Int(page.span.bigEndian(at: 8 + 4 * index, as: UInt32.self))
                try? file.releaseRoom((leaf - 1) * Limits.pageBytes, Limits.pageBytes)
            }
            trunk = Int(page.span.bigEndian(at: 0, as: UInt32.self))
        }
        returnedPages = free
    }

    /// Fewer are not worth a walk over all.
    private static let returnedAtLeast = 64
}
