import WakeFeed
import WakeSystem

/// The profile that this process holds: directory, database, and the feed's record as last saved.
final class ProfileState {
    let directory: StateDirectory
    let database: StateDatabase
    /// But for what the disk had no room for, and the begin of a check, as `saved`.
    private(set) var record: FeedRecord
    private var saved: FeedRecord
    /// The newest head that was accepted, and its bytes; nil before the first.
    private(set) var accepted: (head: FeedHead, bytes: [UInt8])?
    /// Signalled when a save left something to deliver, or to wipe.
    let outboxEvent = AsyncEvent()
    /// Name and note of a delivered match may still lie in a file. Set after every batch, with a
    /// match or none: the saves that follow a wipe take longer, which shows on the line.
    private(set) var mayHaveTraces = false
    /// A full disk was reported, and no cycle succeeded since.
    private var hasReportedFullDisk = false

    /// Opens the profile, or makes it; `start` is the position of a client that has seen nothing.
    init(
        _ path: String, start: FeedRecord.Position, in environment: ClientEnvironment
    ) throws(ClientError) {
        directory = try StateDirectory(path)
        let now = environment.wallSeconds()
        let (database, wasReset) = try Self.openDatabase(in: path, now: now)
        self.database = database
        let stored = try database.feed()
        var record = stored ?? FeedRecord(position: start, health: FeedHealth(startingAt: now))
        guard let position = start.resumed(at: record.position) else {
            throw .configuration(.otherFeed)
        }
        record.position = position
        self.record = record
        saved = record
        accepted = try database.bytes(.head).flatMap { bytes in
            FeedHead(stored: bytes).map { ($0, bytes) }
        }
        // Silence is counted from the first start, also by a timer that starts a process each time.
        if stored == nil { try save(record, warnings: wasReset ? [.stateReset] : []) }
    }

    /// Puts a damaged database aside and makes a new one: everything is then checked again.
    private static func openDatabase(
        in directory: String, now: Int64
    ) throws(ClientError) -> (StateDatabase, wasReset: Bool) {
        let path = try StateDirectory.checkedDatabase(in: directory)
        do throws(StateDatabase.OpenError) {
            let database = try StateDatabase(path: path)
            // The process before may have died first. Without room it is left to the next start.
            try? database.dropTests()
            try? database.scrub()
            return (database, false)
        } catch {
            guard case .damaged = error else { throw error.clientError }
        }
        for suffix in ["", "-wal", "-shm"] where Files.exists(path + suffix) {
            try? Files.rename(path + suffix, to: path + ".damaged-\(now)" + suffix)
        }
        return try mapError(\.clientError) { () throws(StateDatabase.OpenError) in
            (try StateDatabase(path: path), true)
        }
    }

    /// Stores the row with what follows from it in one transaction: a crash loses and repeats no
    /// match. Drops tombstones of matches before `dropBefore`; returns the number of new matches.
    @discardableResult
    func save(
        _ next: FeedRecord, head: (head: FeedHead, bytes: [UInt8])? = nil,
        matches: [Match] = [], warnings: [Warning] = [],
        dropBefore: (sequence: UInt64, time: Int64)? = nil
    ) throws(ClientError) -> Int {
        let new = try database.write { () throws(ClientError) in
            try database.update(next)
            if let head { try database.set(.head, bytes: head.bytes) }
            let new = try database.insert(matches)
            try database.insert(warnings)
            if let dropBefore {
                try database.dropTombstones(
                    before: dropBefore.sequence, deliveredBefore: dropBefore.time)
            }
            return new
        }
        (record, saved) = (next, next)
        accepted = head ?? accepted
        if dropBefore != nil { noteTraces() }
        if new > 0 || !warnings.isEmpty { outboxEvent.signal() }
        return new
    }

    func noteTraces() { mayHaveTraces = true }

    /// Leaves no byte of delivered matches in any file; a failed attempt stays to be repeated.
    func wipeTraces() { mayHaveTraces = (try? database.wipeFreeSpace()) == nil }

    /// Warns once of an occasion, until it is over, which a nil `warning` says.
    func warnOnce(_ occasion: FeedRecord.Warned, _ warning: Warning?) throws(ClientError) {
        var next = record
        let warnings = next.mark(occasion, warning)
        if next != record { try save(next, warnings: warnings) }
    }

    /// Stops the cursor for good, warns once, and keeps both halves of the first proof: the newest
    /// head that was accepted, and the head or the batch's header that contradicts it.
    func recordFork(at sequence: UInt64, other: [UInt8], _ kind: StaticString) throws(ClientError) {
        guard !record.isForked else { return }
        let name = directory.path + "/evidence-\(sequence)-"
        if let known = accepted?.bytes {
            try? Files.replace(name + "known-head", with: known.span)
        }
        try? Files.replace(name + "other-\(kind)", with: other.span)
        var next = record
        next.isForked = true
        let warnings = next.mark(.fork, .fork(sequence: sequence))
        try save(next, warnings: warnings)
    }

    /// Begins the source again; secrets, registration, matches and evidence stay.
    func restart(now: Int64) throws(ClientError) {
        let next = FeedRecord(
            position: record.position.restarted, health: FeedHealth(startingAt: now))
        try database.write { () throws(ClientError) in
            try database.update(next)
            try database.drop(.head)
        }
        (record, saved, accepted) = (next, next, nil)
    }

    /// A check begins: what lasts from now on is the feed's fault, and not that of a device that
    /// was off. Saved with what the check brings, or at its end.
    func checkBegan(now: Int64) { record.health.checkBegan(now: now) }

    /// Warns when nothing was completely checked for days.
    /// - Returns: a warning that the disk has no room for; it comes again after a restart.
    func warnOfSilence(now: Int64) -> Warning? {
        var next = record
        let warning = next.silence(now: now)
        // Also without a warning, or every start would begin to count again.
        guard next != saved else { return nil }
        do throws(ClientError) {
            try save(next, warnings: warning.map { [$0] } ?? [])
            return nil
        } catch {
            record = next
            return warning
        }
    }

    /// A check has ended; saved by what follows. One save says little of a full disk, which may
    /// have room for some: a check that succeeded does.
    func checkEnded(_ failure: ClientError?) {
        record.failure = failure?.text
        if failure == nil { hasReportedFullDisk = false }
    }

    /// - Returns: false when it was reported before, and no cycle succeeded since.
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
        record = FeedRecord(position: start, health: FeedHealth(startingAt: now))
        (saved, accepted) = (record, nil)
    }
}
