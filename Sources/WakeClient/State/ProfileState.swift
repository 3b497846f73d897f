import WakeSystem

/// The profile that this process holds: directory, database, and the feed's row as last saved.
final class ProfileState {
    let directory: StateDirectory
    let database: StateDatabase
    private(set) var record: FeedRecord
    /// Signalled when a save left something to deliver.
    let outboxEvent = AsyncEvent()
    /// A full disk was reported, and nothing was saved since.
    private var hasReportedFullDisk = false

    /// Opens the profile, or makes it; `start` is the position of a client that has seen nothing.
    init(
        _ path: String, start: FeedRecord.Position, in environment: ClientEnvironment
    ) throws(ClientError) {
        directory = try StateDirectory(path)
        let now = environment.wallSeconds()
        let (database, wasReset) = try Self.openDatabase(
            in: path, faultPoint: environment.faultPoint, now: now)
        self.database = database
        var record =
            try database.feed() ?? FeedRecord(position: start, health: FeedHealth(verified: now))
        guard let position = start.resumed(at: record.position) else {
            throw .configuration(.otherFeed)
        }
        record.position = position
        self.record = record
        if wasReset { try save(record, warnings: [.stateReset], as: .feed) }
    }

    /// Puts a damaged database aside and makes a new one: everything is then checked again.
    private static func openDatabase(
        in directory: String, faultPoint: StateDatabase.FaultPoint?, now: Int64
    ) throws(ClientError) -> (StateDatabase, wasReset: Bool) {
        let path = try StateDirectory.checkedDatabase(in: directory)
        do throws(StateDatabase.OpenError) {
            let database = try StateDatabase(path: path, faultPoint: faultPoint)
            // The process before may have died first. Without room it is left to the next start.
            try? database.scrub()
            return (database, false)
        } catch {
            guard case .damaged = error else { throw error.clientError }
        }
        for suffix in ["", "-wal", "-shm"] where Files.exists(path + suffix) {
            try? Files.rename(path + suffix, to: path + ".damaged-\(now)" + suffix)
        }
        return try mapError(\.clientError) { () throws(StateDatabase.OpenError) in
            (try StateDatabase(path: path, faultPoint: faultPoint), true)
        }
    }

    /// Stores the row with what follows from it in one transaction: a crash loses and repeats no
    /// match. Drops tombstones of matches before `dropBefore`; returns the number of new matches.
    @discardableResult
    func save(
        _ next: FeedRecord, matches: [Match] = [], warnings: [Warning] = [],
        dropBefore: (sequence: UInt64, time: Int64)? = nil, as name: StatePoint.Write
    ) throws(ClientError) -> Int {
        let new = try database.write(name) { () throws(ClientError) in
            try database.update(next)
            let new = try database.insert(matches)
            try database.insert(warnings)
            if let dropBefore {
                try database.dropTombstones(
                    before: dropBefore.sequence, deliveredBefore: dropBefore.time)
            }
            return new
        }
        record = next
        hasReportedFullDisk = false
        if new > 0 || !warnings.isEmpty { outboxEvent.signal() }
        return new
    }

    /// Warns once of an occasion, until it is over, which a nil `warning` says.
    func warnOnce(_ occasion: FeedRecord.Warned, _ warning: Warning?) throws(ClientError) {
        var next = record
        let warnings = next.mark(occasion, warning)
        if next != record { try save(next, warnings: warnings, as: .feed) }
    }

    /// Stops the cursor for good, and warns once.
    func recordFork(at sequence: UInt64) throws(ClientError) {
        var next = record
        next.isForked = true
        let warnings = next.mark(.fork, .fork(sequence: sequence))
        try save(next, warnings: warnings, as: .feed)
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
        record = FeedRecord(position: start, health: FeedHealth(verified: now))
    }
}
