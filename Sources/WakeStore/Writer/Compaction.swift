private import Glibc
import WakeModel
import WakeSQLite
import WakeSystem

/// Writes the rows in the order of their ids into a new file that takes the place of the old one:
/// its bytes depend on the rows alone, not on their history. `VACUUM` in place would hold
/// everything in memory, write it twice, and count in the header how often.
///
/// The rows are copied some at a time, between the batches of callers. What a batch changes in rows
/// that were copied is changed in the copy as well, and what it deletes is durably gone from both
/// files before it is answered. The copy is one open transaction without a journal: it counts once
/// it is whole, and is removed when anything about it fails.
final class Compaction {
    private struct Copy {
        let connection: StoreConnection
        /// The same file, to flush it.
        let file: OpenFile
    }

    private let database: OpenDatabase
    private var replacement: DatabaseReplacement?
    private let start = ContinuousClock.now
    private let memory = PageMemory()
    private var copy: Copy?
    /// The table that is being copied; nil once all are.
    private var table: StoreSchema.TableName? = .a
    /// The last id of it that was copied; empty when none was.
    private var last: [UInt8] = []
    private var step: StepSize
    /// Bytes that the copy will have.
    private var bytes = 0
    /// When the copy is to be flushed.
    private var flushDue: UInt64 = 0
    /// Whether a part of the reserve was lent to the copy.
    private var hasBorrowed = false
    private var outcome: CompactionOutcome?

    /// Room for the copy's own log.
    private static let logBytes = 1 << 18

    private var configuration: StoreConfiguration { database.configuration }

    init(_ database: OpenDatabase) {
        self.database = database
        step = StepSize(fixed: database.configuration.copiedRows)
    }

    /// Makes one step, between two batches of callers; nil until the compaction has ended.
    func advance() -> CompactionOutcome? {
        if outcome == nil, database.isDead { outcome = .failed }
        if outcome == nil {
            do throws(StoreOpenError) {
                if copy == nil {
                    try begin()
                } else if table != nil {
                    try copyRows()
                } else {
                    try finish()
                }
            } catch { abandon(error) }
        }
        // The old file's room is the reserve's first.
        if outcome != nil { _ = database.reserve.fill() }
        return outcome
    }

    /// Ends it before it is done; the next one begins anew.
    func stop() -> CompactionOutcome {
        guard outcome == nil, removeCopy() else { return outcome ?? .failed }
        _ = database.reserve.fill()
        return .stopped
    }

    // MARK: The copy

    private func begin() throws(StoreOpenError) {
        bytes = try mapError(
            StoreOpenError.init, database.connection.usedPages() * Limits.pageBytes)
        var borrowed = 0
        if let free = database.freeBytes, free < bytes + configuration.spareBytes {
            borrowed = bytes
            // The other half is for deletes, should others be faster to what this frees.
            guard borrowed + Self.logBytes <= database.reserve.held / 2
            else { return outcome = noRoom(free) }
        }
        try makeCopy(borrowing: borrowed)
    }

    private func makeCopy(borrowing borrowed: Int) throws(StoreOpenError) {
        let path = configuration.compactedFile
        try mapError({ StoreOpenError(.database, $0) }, Files.remove(path))
        replacement = try DatabaseReplacement(of: database)
        let new = try StoreSchema.createCopy(at: path)
        let file = try mapError(
            { StoreOpenError(.database, $0) }, OpenFile(path, flags: O_RDWR))
        if borrowed > 0 {
            hasBorrowed = true
            database.reserve.lend(borrowed, to: file, behind: 0)
        }
        let connection = try mapError(
            StoreOpenError.init, StoreConnection(new, keys: database.keys))
        copy = Copy(connection: connection, file: file)
    }

    private func copyRows() throws(StoreOpenError) {
        guard let copy, let table else { return }
        let begun = SystemClock.monotonicNanoseconds
        let generation: Generation = table == database.keys.currentTable ? .current : .previous
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            var page = try database.connection.table(generation).page(
                in: [.all(after: last)], limit: step.rows, memory: memory)
            defer { page.release(to: memory) }
            let target = copy.connection.table(generation)
            try page.forEachRow { (id, sealed) throws(SQLiteError) in
                try target.add(id, sealed)
            }
            try copy.connection.database.writeChangedPages()
            if let id = page.last {
                last = id
            } else {
                (self.table, last) = (table == .a ? .b : nil, [])
            }
        }
        // The whole at once would hold up everybody's flushes for seconds.
        copy.file.beginWriting()
        // As long as the log may keep what a renewal replaced; and before the end, where everybody
        // waits for all of it.
        if SystemClock.monotonicNanoseconds >= flushDue || self.table == nil { try flush(copy) }
        step.adapt(toStepSince: begun)
    }

    private func flush(_ copy: Copy) throws(StoreOpenError) {
        try mapError({ StoreOpenError(.database, $0) }, copy.file.synchronize())
        flushDue = SystemClock.monotonicNanoseconds + UInt64(Limits.logMilliseconds) * 1_000_000
    }

    /// Repeats in the copy what a committed batch has done, before it is answered. An error ends
    /// the compaction and is none of the batch.
    /// - Parameter isDurable: whether something must not come back after a power cut.
    func apply(_ changes: [RowChange], isDurable: Bool) {
        guard outcome == nil, let copy else { return }
        do throws(StoreOpenError) {
            try mapError(StoreOpenError.init) { () throws(SQLiteError) in
                for change in changes where isCopied(change) {
                    let table = copy.connection.table(change.generation)
                    if let sealed = change.sealed {
                        _ = try table.put(change.id, sealed, ifNew: { true })
                    } else {
                        _ = try table.remove(change.id)
                    }
                }
                try copy.connection.database.writeChangedPages()
            }
            // Also what earlier batches have replaced, of the same person perhaps.
            if isDurable { try flush(copy) }
        } catch { abandon(error) }
    }

    private func isCopied(_ change: RowChange) -> Bool {
        let current = database.keys.currentTable
        let changed = change.generation == .current ? current : current.other
        guard let table else { return true }
        guard changed == table else { return changed == .a }
        return !last.lexicographicallyPrecedes(change.id)
    }

    // MARK: The end

    private func finish() throws(StoreOpenError) {
        try mapError(StoreOpenError.init) { () throws(SQLiteError) in
            try copy?.connection.commit.run()
            try database.truncateLogIfUsed()
        }
        // Closed before another connection opens the file.
        copy = nil
        if hasBorrowed { database.reserve.release(Self.logBytes) }
        try replacement?.settle()
        guard let replacement, replacement.adopt(freesAtOnce: hasBorrowed)
        else { return outcome = .failed }
        outcome = .done(
            bytes: (try? FileStatus(of: configuration.databaseFile).size) ?? 0,
            milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)))
    }

    private func abandon(_ error: StoreOpenError) {
        outcome = .failed
        guard removeCopy() else { return }
        switch error {
        case .sqlite(let error) where error.isFull: outcome = noRoom(database.freeBytes ?? 0)
        case .sqlite(let error): database.fail(error)
        case .file(_, let error) where error.isFull: outcome = noRoom(database.freeBytes ?? 0)
        default: break
        }
    }

    /// - Returns: false when the process must end.
    private func removeCopy() -> Bool {
        copy = nil
        return replacement?.remove() ?? true
    }

    private func noRoom(_ free: Int) -> CompactionOutcome {
        .noRoom(needed: bytes + configuration.spareBytes, free: free)
    }
}

/// The outcome of a compaction.
package enum CompactionOutcome: Sendable, Equatable {
    /// `bytes`: size of the new file. `milliseconds`: from its first row to its last.
    case done(bytes: Int, milliseconds: Int)
    /// Not enough room for a second file, in bytes.
    case noRoom(needed: Int, free: Int)
    /// The store closed before it was done, or was told to stop.
    case stopped
    case failed
}
