private import Glibc
private import Synchronization
import WakeModel
import WakeSQLite

/// The one connection and everything done with it. Lives and dies on the writer's thread.
final class Writer {
    /// nil only while the file is replaced.
    var held: StoreConnection?
    private(set) var keys: KeyFile
    let reserve: Reserve
    let counters: StoreCounters
    let configuration: StoreConfiguration
    /// The rotation in work.
    var rotation: RotationWork?
    /// Pages in the log since it was last started over.
    private(set) var loggedPages = 0
    /// The log may hold what must be gone before the next answer.
    var owesTruncation = false
    /// Operations in the batch before.
    private var lastSize = 0
    private(set) var isDead = false

    var connection: StoreConnection {
        guard let held else { preconditionFailure("the file is being replaced") }
        return held
    }
    var database: Database { connection.database }
    var current: GenerationTable { connection.current }
    var previous: GenerationTable { connection.previous }

    init(
        _ configuration: StoreConfiguration, counters: StoreCounters
    ) throws(StoreOpenError) {
        let opened = try Self.open(configuration)
        self.configuration = configuration
        self.counters = counters
        reserve = Reserve(path: configuration.reserveFile, count: configuration.reserveBytes)
        keys = opened.keys
        do throws(SQLiteError) {
            held = try StoreConnection(opened.database, keys: keys)
        } catch {
            throw StoreOpenError(error)
        }
        try verifyKeys()
        try sweep()
        if configuration.keyFile == nil { try startAnew() }
        counters.generation.store(keys.generation, ordering: .relaxed)
        // Counts pages, for those who estimate rows.
        do throws(SQLiteError) {
            _ = try roomyPages()
        } catch {
            throw StoreOpenError(error)
        }
    }

    /// Serves the mailbox until it is closed and empty, then leaves the files at rest.
    func run(_ mailbox: Mailbox) {
        while let requests = mailbox.take(waits: rotation == nil) {
            if !requests.isEmpty { serve(requests) }
            advanceRotation()
        }
        stopRotation()
        guard !isDead else { return }
        do throws(SQLiteError) {
            try database.checkpointTruncate()
            counters.note(.closed)
        } catch {
            // The log stays and is emptied at the next start; nothing acknowledged is in danger.
            fail(error)
        }
    }

    // MARK: A batch

    private func serve(_ requests: [Request]) {
        guard !isDead else {
            for request in requests { request.answer(.unavailable) }
            return
        }
        var batch = Batch(requests)
        if !batch.operations.isEmpty {
            let size = batch.operations.count
            batch.isCalm = max(size, lastSize) <= Limits.discreetBatchOperations
            lastSize = size
            complete(&batch)
            counters.add(batch)
            batch.deliver()
            configuration.observe?(batch.report)
        }
        copyLogIfLong()
        for request in requests { isDead ? request.refuse() : attend(request) }
    }

    /// One attempt for all; when it fails, the attempts that keep one operation's failure from
    /// being another's.
    func complete(_ batch: inout Batch) {
        // A long log at this point could not be copied for lack of room; it must not grow.
        batch.mayGrow = reserve.hold() && loggedPages < logLimit
        // Whatever was given up is taken back before somebody else finds it.
        defer { _ = reserve.hold() }
        switch attempt(&batch) {
        case .durable:
            // Only a write shows that writing works.
            if batch.writes { counters.note(batch.mayGrow ? .ready : .full) }
        case .undone(let error) where isOutOfRoom(error):
            counters.note(.full)
            batch.mayGrow = false
            guard batch.hasDeletes else { return retryAlone(&batch) }
            let pages = loggedPages + batch.pages
            reserve.release(pages * Limits.pageBytes)
            guard case .durable = attempt(&batch) else {
                reserve.release(.max)
                return retryAlone(&batch)
            }
        case .undone:
            retryAlone(&batch)
        case .unknown:
            counters.note(isDead ? .failed : .failing)
            batch.fail()
        }
    }

    /// Every operation in a transaction of its own.
    private func retryAlone(_ batch: inout Batch) {
        for index in batch.operations.indices {
            var single = batch.alone(index)
            switch isDead ? .unknown : attempt(&single) {
            case .durable: break
            case .undone(let error):
                if !isOutOfRoom(error) { counters.note(.failing) }
                single.fail()
            case .unknown:
                counters.note(isDead ? .failed : .failing)
                single.fail()
            }
            batch.take(single, at: index)
        }
    }

    private enum Attempt {
        /// Flushed, and what was erased is in no file: the answers may go out.
        case durable
        /// Nothing happened.
        case undone(SQLiteError)
        /// Committed but perhaps not flushed or not erased: nothing may be acknowledged.
        case unknown
    }

    /// One transaction, one flush, and the log emptied if anything was erased.
    private func attempt(_ batch: inout Batch) -> Attempt {
        batch.restart()
        do throws(SQLiteError) {
            guard batch.writes else {
                try perform(&batch)
                return .durable
            }
            try connection.begin.run()
            try perform(&batch)
            // A delete of nothing changes nothing, and SQLite would not flush. Rewriting the
            // schema version dirties page 1, so that known and unknown take the same way.
            if batch.hasDeletes { try connection.mark.run() }
            try connection.commit.run()
        } catch {
            fail(error)
            undo()
            return isDead ? .unknown : .undone(error)
        }
        batch.report.pages = database.takePagesWritten()
        loggedPages += batch.report.pages
        counters.commits.add(1, ordering: .relaxed)
        guard batch.mustTruncate || owesTruncation else { return .durable }
        do throws(SQLiteError) {
            try truncate()
            batch.report.truncated = true
            return .durable
        } catch {
            fail(error)
            return .unknown
        }
    }

    func truncate() throws(SQLiteError) {
        owesTruncation = true
        do throws(SQLiteError) {
            try database.checkpointTruncate()
        } catch {
            // The rows are in the log; the database file had no room to grow for them.
            guard isOutOfRoom(error) else { throw error }
            reserve.release(2 * loggedPages * Limits.pageBytes)
            try database.checkpointTruncate()
        }
        owesTruncation = false
        loggedPages = 0
        counters.truncations.add(1, ordering: .relaxed)
    }

    private func undo() {
        // Frames of the attempt may lie in the log behind its valid end.
        owesTruncation = true
        // After some errors SQLite has rolled back by itself (lang_transaction.html §3).
        if !isDead, database.isInTransaction { try? database.execute("ROLLBACK") }
        _ = database.takePagesWritten()
    }

    /// Copies a long log into the database and starts it over, between two batches.
    private func copyLogIfLong() {
        guard loggedPages >= logLimit else { return }
        do throws(SQLiteError) {
            try database.checkpoint()
            loggedPages = 0
        } catch {
            // Everything acknowledged is in the log and stays there until a copy succeeds.
            fail(error)
        }
    }

    /// Keys and roles that are on the disk already.
    func turn(_ next: KeyFile) throws(SQLiteError) {
        keys = next
        try connection.turn(next)
        counters.generation.store(next.generation, ordering: .relaxed)
    }

    // MARK: Failure

    /// A flush that failed is the end: never acknowledged, never retried.
    func fail(_ error: SQLiteError) {
        if error.isFlushFailure { die() }
    }

    /// What is on the disk is unknown: the process must end and be started again.
    func die() {
        guard !isDead else { return }
        isDead = true
        counters.note(.failed)
        configuration.onFatal()
    }

    /// Pages at which the log is copied. On a disk that fills up meanwhile, half of the reserve
    /// takes the copy of all of them, and the other half the log of the deletes.
    private var logLimit: Int {
        guard configuration.reserveBytes > 0 else { return Limits.logPages }
        return min(Limits.logPages, configuration.reserveBytes / 2 / Limits.pageBytes)
    }

    func isOutOfRoom(_ error: SQLiteError) -> Bool {
        error.isFull || (error.isIOError && [ENOSPC, EDQUOT].contains(database.systemError))
    }

    // MARK: Room

    /// Pages that new registrations may still take.
    func roomyPages() throws(SQLiteError) -> Int {
        let used = try usedPages()
        counters.pages.store(used, ordering: .relaxed)
        return configuration.maxPages - used
    }

    func usedPages() throws(SQLiteError) -> Int {
        try value(connection.pageCount) - value(connection.freePages)
    }

    private func value(_ statement: Statement) throws(SQLiteError) -> Int {
        defer { statement.reset() }
        return try statement.step() ? Int(statement.integer(0)) : 0
    }
}
