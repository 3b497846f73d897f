package import WakeSystem

/// Compares the data directory with the policy. Reads only, and shares nothing with the code that
/// wrote the files: an auditor must not trust the audited.
package struct Audit {
    private let path: String
    private let policy: AuditPolicy
    private let keyFile: String?
    private let log: [UInt8]?
    /// Pages that are read at once, about.
    var pagesAtOnce = 2048

    /// `path` is the data directory. With a key file every row is opened, with a directory of keys
    /// every file there is checked as well; `log` holds lines of the service's log.
    package init(path: String, policy: AuditPolicy, keyFile: String? = nil, log: [UInt8]? = nil) {
        self.path = path
        self.policy = policy
        self.keyFile = keyFile
        self.log = log
    }

    /// Starts over when a rotation comes, or the service ends or comes; `progress` gets a check and
    /// its share, in 1/1000.
    package func run(
        _ progress: @escaping (AuditCheck, Int) -> Void = { _, _ in }
    ) throws(AuditFailure) -> AuditReport {
        var wasHeld = false
        for attempt in 1...Self.attempts {
            let isLast = attempt == Self.attempts
            do throws(AuditFailure) {
                return try self.attempt(&wasHeld, progress)
            } catch {
                // Killed while the audit ran, a service starts again and empties its log.
                guard error == .changing || error == .unfinished && wasHeld, !isLast
                else { throw error }
            }
            SystemClock.sleep(until: SystemClock.monotonicNanoseconds + Self.pause)
        }
        throw .changing
    }

    private static let attempts = 5
    /// Nanoseconds.
    private static let pause: UInt64 = 1_000_000_000

    private func attempt(
        _ wasHeld: inout Bool, _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) -> AuditReport {
        let place = try DirectoryCheck(path, policy)
        let files = try place.open()
        let isHeld = isHeld(files)
        wasHeld = wasHeld || isHeld
        if place.isUnfinished(isHeld: isHeld) { throw isHeld ? .changing : .unfinished }
        var findings = AuditFindings()
        try place.run(isHeld: isHeld, &findings)
        let keys = try masterKeys(place, &findings)
        let isAtRest = !isHeld || place.logsAreEmpty
        var contents = AuditContents(
            policy, keys, pagesAtOnce: pagesAtOnce, isAtRest: isAtRest, progress)
        for (database, file) in zip(place.databases, files) {
            try contents.read(file, of: database, isHeld: isHeld, &findings)
        }
        let facts = contents.finish(isAtRest: !isHeld || place.logsAreEmpty, &findings)
        if let log { LogCheck(policy).run(log, &findings) }
        let after = try DirectoryCheck(path, policy)
        guard after.isSame(place), self.isHeld(files) == isHeld, isHeld || facts.isAtRest,
            !after.isUnfinished(isHeld: isHeld)
        else { throw .changing }
        return report(facts, findings)
    }

    private func isHeld(_ files: [OpenFile]) -> Bool { files.contains { $0.isHeldExclusively } }

    private func masterKeys(
        _ place: DirectoryCheck, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> MasterKeys? {
        guard let keyFile else { return nil }
        let keys = try KeyFiles(policy: policy, dataDirectory: place.directory)
            .masters(at: keyFile, &findings)
        let isNamed = keys.map { $0.generations == place.databases.map(\.generation) } ?? true
        findings.note(.generations, if: !isNamed)
        return keys
    }

    private func report(_ facts: AuditFacts, _ findings: AuditFindings) -> AuditReport {
        var unseen: Set<AuditCheck> = []
        if !facts.isWalked { unseen = [.schema, .pages, .rows, .chance] }
        if !facts.hasHeaders { unseen.insert(.integrity) }
        if !facts.isWalked, keyFile != nil { unseen.insert(.keys) }
        var unasked: Set<AuditCheck> = []
        if keyFile == nil { unasked.insert(.keys) }
        // The audit's own walk has looked at everything that SQLite's check looks at.
        if facts.hasHeaders, !facts.isAtRest { unasked.insert(.integrity) }
        if log == nil { unasked.insert(.logs) }
        return AuditReport(
            facts: facts, findings: findings, policyHash: policy.hash, unseen: unseen,
            unasked: unasked)
    }
}

/// The reason why there is no result. Contains nothing of the file's content.
package enum AuditFailure: Error, Equatable {
    /// The directory, or a file in it, cannot be read.
    case file(FileError)
    /// No directory, or one without a generation's file.
    case notAStore
    case keys(FileError)
    /// The policy is not of the form this program knows.
    case policy
    /// Something else than the service wrote to the files, or a rotation or a start of the service
    /// came in during every attempt.
    case changing
    /// The log of a service that was killed, or of a copy made while one ran, holds rows.
    case unfinished

    /// The message, with a hint on a second line.
    package var message: String {
        switch self {
        case .file(let error): "the files cannot be read: \(error.reason)"
        case .notAStore:
            "that is no directory with the files of a store\nhint: name the data directory, e.g. "
                + "/var/lib/reveille/data"
        case .keys(let error): "the key file cannot be read: \(error.reason)"
        case .policy: "the policy is no privacy manifest this program can hold a file against"
        case .changing:
            "the files were exchanged, or written to by another program, while they were read\n"
                + "hint: try again when the service is neither started nor rotating"
        case .unfinished:
            "what a service was writing is not yet in the files: it was killed, or this is a copy "
                + "of one at work\nhint: start the service and audit beside it, or stop it first"
        }
    }
}
