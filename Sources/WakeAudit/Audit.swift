package import WakeSystem

/// Compares the data directory with the policy. Reads only, takes no lock, and shares nothing with
/// the code that wrote the files: an auditor must not trust the audited.
package struct Audit {
    private let path: String
    private let policy: AuditPolicy
    private let keyFile: String?
    private let log: [UInt8]?

    /// `path` is the data directory. With a key file every row is opened, with a directory of keys
    /// every file there is checked as well; `log` holds lines of the service's log.
    package init(path: String, policy: AuditPolicy, keyFile: String? = nil, log: [UInt8]? = nil) {
        self.path = path
        self.policy = policy
        self.keyFile = keyFile
        self.log = log
    }

    /// Repeats the audit while a service writes; `progress` gets a check and its share, in 1/1000.
    package func run(
        _ progress: @escaping (AuditCheck, Int) -> Void = { _, _ in }
    ) throws(AuditFailure) -> AuditReport {
        for attempt in 1...3 {
            if let report = try self.attempt(progress) { return report }
            // A service that rests has emptied its log by then.
            if attempt < 3 {
                SystemClock.sleep(until: SystemClock.monotonicNanoseconds + Self.pause)
            }
        }
        throw .changing
    }

    /// Nanoseconds.
    private static let pause: UInt64 = 1_000_000_000

    /// - Returns: nil when a file was written to meanwhile, or taken away.
    private func attempt(
        _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) -> AuditReport? {
        let place = try DirectoryCheck(path, policy)
        guard let files = try place.open() else { return nil }
        let before = try states(files)
        let isHeld = isHeld(files)
        // A log holds rows that no check would see.
        if place.isBusy(isHeld: isHeld) {
            if isHeld { return nil }
            throw .unfinished
        }
        var findings = AuditFindings()
        try place.run(&findings)
        let keys = try masterKeys(place, &findings)
        var contents = AuditContents(policy, keys, progress)
        for (database, file) in zip(place.databases, files) {
            try contents.read(file, of: database, &findings)
        }
        let facts = contents.finish(&findings)
        if let log { LogCheck(policy).run(log, &findings) }
        guard try states(files) == before, try DirectoryCheck(path, policy).isSame(place),
            !place.isBusy(isHeld: self.isHeld(files))
        else { return nil }
        return report(facts, findings)
    }

    private func states(_ files: [OpenFile]) throws(AuditFailure) -> [FileStatus.Identity] {
        try files.map { file throws(AuditFailure) in
            try mapError(AuditFailure.file, file.status()).identity
        }
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
    /// A file was written to during every attempt, or a service holds it and its log is in use.
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
            "the service that holds the files wrote to them while they were read\n"
                + "hint: try again in a calm moment, stop the service, or audit a copy of the "
                + "data directory"
        case .unfinished:
            "what a service was writing is not yet in the files: it was killed, or this is a copy "
                + "of one at work\nhint: start the service and audit beside it, or stop it first"
        }
    }
}
