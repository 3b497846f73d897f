import WakeSystem

/// The profile that this process holds: its directory, its database, and the feed's row as it was
/// saved last. The one place where that row changes.
final class ProfileState {
    let directory: StateDirectory
    let database: StateDatabase
    private(set) var record: FeedRecord
    /// Signalled when a save left something to deliver.
    let outboxEvent = AsyncEvent()
    /// A full disk was reported, and nothing was saved since.
    private(set) var hasReportedFullDisk = false

    /// Opens the profile, or makes it.
    /// - Parameter start: the position of a client that has seen nothing yet.
    init(
        _ path: String, start: FeedRecord.Position, in environment: ClientEnvironment
    ) throws(ClientError) {
        directory = try StateDirectory(path)
        let now = environment.wallSeconds()
        let (database, wasReset) = try Self.openDatabase(
            in: path, faultPoint: environment.faultPoint, now: now)
        self.database = database
        var record =
            try database.feed() ?? FeedRecord(position: start, health: FeedHealth(start: now))
        if wasReset { try database.save(record, warnings: [.stateReset], as: .feed) }
        guard let position = start.resumed(at: record.position) else {
            throw .configuration(.otherFeed)
        }
        record.position = position
        self.record = record
    }

    /// A damaged database is put aside and a new one made: checking everything again is harmless,
    /// not checking is not.
    private static func openDatabase(
        in directory: String, faultPoint: StateDatabase.FaultPoint?, now: Int64
    ) throws(ClientError) -> (StateDatabase, wasReset: Bool) {
        let path = try StateDirectory.checkedDatabase(in: directory)
        do throws(StateDatabase.OpenError) {
            let database = try StateDatabase(path: path, faultPoint: faultPoint)
            // A process that died between dropping something secret and scrubbing left that to us.
            // Without room it is left to the next start.
            try? database.scrub()
            return (database, false)
        } catch {
            guard case .damaged = error else { throw error.clientError }
        }
        for suffix in ["", "-wal", "-shm"] where Files.exists(path + suffix) {
            try? Files.rename(path + suffix, to: path + ".damaged-\(now)" + suffix)
        }
        do throws(StateDatabase.OpenError) {
            return (try StateDatabase(path: path, faultPoint: faultPoint), true)
        } catch {
            throw error.clientError
        }
    }

    /// Stores the row with what follows from it in one transaction; `record` moves only then.
    /// - Parameter dropBefore: tombstones of older matches are dropped.
    /// - Returns: the number of matches that are new.
    @discardableResult
    func save(
        _ next: FeedRecord, matches: [Match] = [], warnings: [Warning] = [],
        dropBefore: (sequence: UInt64, time: Int64)? = nil, as name: StatePoint.Write
    ) throws(ClientError) -> Int {
        let new = try database.save(
            next, matches: matches, warnings: warnings, dropBefore: dropBefore, as: name)
        record = next
        hasReportedFullDisk = false
        if new > 0 || !warnings.isEmpty { outboxEvent.signal() }
        return new
    }

    /// Warns once of an occasion, until it is over.
    /// - Parameter warning: nil when the occasion is over.
    func warnOnce(
        _ occasion: FeedRecord.Warned, _ warning: Warning?
    ) throws(ClientError) {
        guard record.warned.contains(occasion) != (warning != nil) else { return }
        var next = record
        if let warning {
            next.warned.insert(occasion)
            try save(next, warnings: [warning], as: .feed)
        } else {
            next.warned.remove(occasion)
            try save(next, as: .feed)
        }
    }

    /// Stops the cursor for good, and warns once.
    func recordFork(at sequence: UInt64) throws(ClientError) {
        var next = record
        next.isForked = true
        next.warned.insert(.fork)
        let isNew = !record.warned.contains(.fork)
        try save(next, warnings: isNew ? [.fork(sequence: sequence)] : [], as: .feed)
    }

    /// Keeps a row that the disk has no room for, until the process ends.
    func keepUnsaved(_ next: FeedRecord) { record = next }

    /// - Returns: false when it was reported before, and nothing was saved since.
    func reportFullDisk() -> Bool {
        defer { hasReportedFullDisk = true }
        return !hasReportedFullDisk
    }

    /// Erases everything but the directory's lock.
    func erase(start: FeedRecord.Position, now: Int64) throws(ClientError) {
        try database.eraseAll()
        for name in (try? Files.names(in: directory.path)) ?? []
        where name.hasPrefix("evidence-") || name.contains(".damaged-") {
            try? Files.remove(directory.path + "/" + name)
        }
        record = FeedRecord(position: start, health: FeedHealth(start: now))
    }
}
