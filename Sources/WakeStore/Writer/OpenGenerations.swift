private import Glibc
private import Synchronization
import WakeModel
import WakeSystem

/// The open files of a store, one a generation, with the keys in force and the reserve; on the
/// writer's thread.
///
/// A row that is renewed goes into the current file, and in the same transaction its id in the
/// previous file into the table `moved`: within half a second the previous file loses it. So no row
/// is lost or there twice, whatever ends the process in between.
final class OpenGenerations {
    let configuration: StoreConfiguration
    let counters: StoreCounters
    let reserve: DiskReserve
    /// Open at all times: to remove a file durably needs no descriptor then.
    let directory: OpenFile
    private(set) var keys: KeyFile
    private(set) var current: GenerationFile
    private(set) var previous: GenerationFile
    /// Rows in `moved`, and some that were deleted since; 0: it is empty.
    private var movedRows = 0
    /// When the first of them came, or settling them failed.
    private var movedSince: UInt64?
    private var hasSettled = true
    /// A flush failed: nothing more is acknowledged.
    private(set) var isDead = false

    /// Refuses before it touches anything. The caller holds the `StoreLock`: closing a second
    /// descriptor would drop SQLite's own locks (sqlite.org/howtocorrupt.html §2.2).
    init(_ configuration: StoreConfiguration, counters: StoreCounters) throws(StoreOpenError) {
        let keys = try StoreFiles.examine(configuration)
        let reserve = try DiskReserve(configuration)
        if configuration.keyFile == nil {
            let rows = try StoreFiles.replaceByEmpty(configuration, for: keys, reserve)
            counters.strayRows.store(rows, ordering: .relaxed)
        }
        (self.configuration, self.counters, self.keys) = (configuration, counters, keys)
        self.reserve = reserve
        directory = try mapError({ StoreOpenError(.dataDirectory, $0) }) { () throws(FileError) in
            try OpenFile(
                configuration.dataDirectory, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
        }
        current = try GenerationFile(configuration, keys, .current, reserve)
        previous = try GenerationFile(configuration, keys, .previous, reserve)
        for file in [current, previous] { try StoreFiles.verifyKeys(file.rows, configuration) }
        try removeRemnants()
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            movedRows = try current.rows.moved().count
            try settleMoves()
            try emptyLogsIfUsed()
            // Counts pages, for estimates of the rows.
            _ = try roomyPages()
        }
        counters.generation.store(keys.generation, ordering: .relaxed)
    }

    /// Removes what a killed process left (logs, files of other generations, unused keys); fills up
    /// the reserve.
    private func removeRemnants() throws(StoreOpenError) {
        // First what gives room for the rest.
        try mapError({ StoreOpenError(.dataDirectory, $0) }) { () throws(FileError) in
            try StoreFiles.removeOthers(than: keys, configuration)
            try directory.synchronize()
        }
        try mapError(StoreOpenError.init, emptyLogs())
        _ = reserve.fill()
        try KeyFile.removeRemnant(configuration)
    }

    func file(_ generation: Generation) -> GenerationFile {
        generation == .current ? current : previous
    }

    /// A short read between two commits that never holds back a log. A row that is in both files
    /// is in the page of the current one.
    func page(
        of generation: Generation, in ranges: [IDRange], limit: Int, memory: PageMemory
    ) throws(SQLiteError) -> RawPage {
        let successor = generation == .previous && movedRows > 0 ? current.rows : nil
        return try file(generation).rows.page(
            in: ranges, limit: limit, memory: memory, without: successor)
    }

    // MARK: Rows that move

    /// Whether the previous file has the row, and the current one has not taken it over.
    func isInPrevious(_ id: [UInt8]) throws(SQLiteError) -> Bool {
        if movedRows > 0, try current.rows.isMoved(id) { return false }
        return try previous.rows.contains(id)
    }

    /// - Parameter rows: that a transaction has put into `moved`, and are durable.
    func countMoved(_ rows: Int) {
        guard rows > 0 else { return }
        movedRows += rows
        movedSince = movedSince ?? SystemClock.monotonicNanoseconds
    }

    /// Deletes the moved rows from the previous file, and only once that is durable forgets them.
    func settleMoves() throws(SQLiteError) {
        guard movedRows > 0 else { return }
        var limit = Limits.movedRows
        while true {
            do throws(SQLiteError) {
                guard try settleMoves(limit) else { break }
            } catch {
                // Parts that the logs have room for.
                guard isOutOfRoom(error), limit > 1, lendLogs() else { throw error }
                limit /= 4
            }
        }
        (movedRows, movedSince) = (0, nil)
    }

    /// - Returns: false when there is none.
    private func settleMoves(_ limit: Int) throws(SQLiteError) -> Bool {
        let ids = try current.rows.moved(limit: limit)
        guard let last = ids.last else { return false }
        try transaction(in: previous) { rows throws(SQLiteError) in
            for id in ids { _ = try rows.remove(id) }
        }
        try transaction(in: current) { rows throws(SQLiteError) in
            try rows.removeMoved(through: last)
        }
        if isLogLent { try emptyLogs() }
        return true
    }

    private func transaction(
        in file: GenerationFile, _ body: (GenerationTable) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        do throws(SQLiteError) {
            try file.beginTransaction()
            try body(file.rows)
            try file.commitTransaction(always: true)
        } catch {
            file.undo()
            throw error
        }
        _ = file.countLoggedPages()
    }

    // MARK: The logs

    /// Counts the pages of a commit; returns their number.
    func countLoggedPages() -> Int { current.countLoggedPages() + previous.countLoggedPages() }

    func undo() {
        guard !isDead else { return }
        current.undo()
        previous.undo()
    }

    /// Whether the logs must be empty before the next answer, whatever it is about.
    var isLogLent: Bool { current.isLogLent || previous.isLogLent }

    /// When moves are to be settled and the logs emptied at the latest: what a renewal replaced may
    /// be in them.
    var logDue: UInt64? {
        guard !isDead,
            let first = [current.logUsed, previous.logUsed, movedSince]
                .compactMap(\.self).min()
        else { return nil }
        return first + UInt64(Limits.logMilliseconds) * 1_000_000
    }

    /// Settles moves and empties the logs in time, whatever is in them: otherwise they would show
    /// which clients renew. Many moves are settled before.
    func tidyIfDue() {
        guard !isDead else { return }
        let isDue = logDue.map { SystemClock.monotonicNanoseconds >= $0 } ?? false
        if isDue || (hasSettled && movedRows >= Limits.movedRows) {
            do throws(SQLiteError) {
                hasSettled = false
                try settleMoves()
                hasSettled = true
            } catch {
                fail(error)
                movedSince = SystemClock.monotonicNanoseconds
            }
        }
        guard isDue, !isDead else { return copyLogsIfLong() }
        do throws(SQLiteError) {
            try emptyLogsIfUsed()
            if !reserve.isComplete { previous.returnFreePages() }
        } catch {
            fail(error)
            // Tried again after as long a time.
            current.retryLater()
            previous.retryLater()
        }
    }

    func emptyLogs() throws(SQLiteError) {
        try previous.emptyLog()
        try current.emptyLog()
        counters.truncations.add()
    }

    func emptyLogsIfUsed() throws(SQLiteError) {
        if current.logUsed != nil || previous.logUsed != nil || isLogLent { try emptyLogs() }
    }

    /// Copies long logs into the files and starts them over, between two batches.
    func copyLogsIfLong() {
        guard isLogLong, !isDead else { return }
        do throws(SQLiteError) {
            try previous.copyLog()
            try current.copyLog()
        } catch {
            // Everything acknowledged is in the logs and stays there until a copy succeeds.
            fail(error)
        }
    }

    /// Half of the reserve is for a copy of all pages, the other half for the logs of the deletes.
    var isLogLong: Bool {
        var limit = Limits.logPages
        if configuration.reserveBytes > 0 {
            limit = min(limit, configuration.reserveBytes / 2 / Limits.pageBytes)
        }
        return current.loggedPages + previous.loggedPages >= limit
    }

    func close() {
        guard !isDead else { return }
        do throws(SQLiteError) {
            try settleMoves()
            try previous.close()
            try current.close()
            counters.set(.closed)
        } catch {
            // The logs stay and are emptied at the next start; nothing acknowledged is in danger.
            fail(error)
        }
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
        current.isOutOfRoom(error) || previous.isOutOfRoom(error)
    }

    // MARK: A full disk

    /// Empties the logs and gives them room of the reserve; meanwhile they are empty before every
    /// answer.
    /// - Returns: false when there is nothing to give.
    func lendLogs() -> Bool {
        if current.isLogLent, previous.isLogLent { return true }
        do throws(SQLiteError) {
            try emptyLogs()
        } catch {
            fail(error)
            return false
        }
        return current.lendLog() && previous.lendLog()
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

    /// What there is room for in the logs that are lent, and in the free pages of the current file
    /// or in what the reserve has beside the quarter that stays for deletes.
    func room(for pages: Int) -> Batch.Room {
        guard lendLogs(), let free = try? current.freePages() else { return .none }
        if free >= pages { return .new }
        let spare = reserve.held - configuration.reserveBytes / 4
        return spare >= (pages - free) * Limits.pageBytes ? .moved : .renewed
    }

    // MARK: Room

    /// Pages that new registrations may still fill.
    func roomyPages() throws(SQLiteError) -> Int {
        let (inCurrent, inPrevious) = (try current.usedPages(), try previous.usedPages())
        counters.pages.set(inCurrent + inPrevious)
        counters.previousPages.store(inPrevious, ordering: .relaxed)
        return configuration.newRowPages - inCurrent - inPrevious
    }

    /// Bytes that the file system has left; nil when that is not known.
    private var freeBytes: Int? { try? Files.freeBytes(at: configuration.dataDirectory) }

    /// Estimates what is stored; nil when the files cannot be read.
    func survey() -> StoreSurvey? { isDead ? nil : try? measure() }

    private func measure() throws(SQLiteError) -> StoreSurvey {
        let survey = StoreSurvey(
            generation: keys.generation, current: try current.rows.estimate(Limits.surveyRows),
            previous: try previous.rows.estimate(Limits.surveyRows))
        counters.currentRows.set(survey.current)
        counters.previousRows.set(survey.previous)
        return survey
    }

    // MARK: Rotation

    /// Puts keys and a file in force that are on the disk already, and closes the previous file.
    func begin(_ file: GenerationFile, with next: KeyFile) {
        (keys, previous, current) = (next, current, file)
        file.admitAudits()
        counters.generation.store(next.generation, ordering: .relaxed)
    }
}

extension GenerationFile {
    convenience init(
        _ configuration: StoreConfiguration, _ keys: KeyFile, _ generation: Generation,
        _ reserve: DiskReserve
    ) throws(StoreOpenError) {
        let isCurrent = generation == .current
        try self.init(
            path: configuration.file(of: isCurrent ? keys.generation : keys.generation - 1),
            keys: GenerationKeys(master: isCurrent ? keys.current : keys.previous),
            reserve: reserve, pagesAtMost: configuration.maxPages + Limits.headroomPages)
    }
}
