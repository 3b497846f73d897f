private import Glibc
import WakeModel
import WakeSodium
package import WakeSystem

/// Compares one database file with the policy. Reads only, takes no lock, and shares nothing with
/// the code that wrote the file: an auditor must not trust the audited.
package struct Audit {
    private let path: String
    private let policy: AuditPolicy
    private let keyFile: String?
    private let log: [UInt8]?

    /// With a key file every row is opened, with a directory of keys every file there is checked as
    /// well; `log` holds lines of the service's log.
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

    /// - Returns: nil when the file was written to meanwhile.
    private func attempt(
        _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) -> AuditReport? {
        let place = try DirectoryCheck(path, policy)
        let file = try mapError(AuditFailure.file, OpenFile(place.file, flags: O_RDONLY))
        let before = try mapError(AuditFailure.file, file.status())
        // A log holds rows that no check would see.
        let isHeld = file.isHeldExclusively
        if place.isBusy(isHeld: isHeld) {
            if isHeld { return nil }
            throw .unfinished
        }
        var findings = AuditFindings()
        try place.run(&findings)
        let pages = PageFile(file: file, size: before.size, pageSize: policy.pageSize)
        let hash = try pages.hash { progress(.header, $0) }
        var facts = AuditFacts(fileHash: hash, bytes: before.size)
        let header = FileHeader(try pages.read(at: 0, count: 100))
        if let header {
            header.check(policy, size: before.size, &findings)
            progress(.integrity, 0)
            IntegrityCheck.run(place.file, &findings)
        } else {
            findings.note(.magic)
        }
        let keys = try masterKeys(place, &findings)
        if let header, header.pageSize == policy.pageSize, pages.pageCount > 0 {
            try walk(pages, header, keys, &facts, &findings, progress)
        }
        if let log { LogCheck(policy).run(log, &findings) }
        let after = try mapError(AuditFailure.file, file.status())
        guard after.identity == before.identity, !place.isBusy(isHeld: file.isHeldExclusively)
        else { return nil }
        return report(facts, findings, hasHeader: header != nil)
    }

    private func masterKeys(
        _ place: DirectoryCheck, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> MasterKeys? {
        guard let keyFile else { return nil }
        return try KeyFiles(policy: policy, dataDirectory: place.directory)
            .masters(at: keyFile, &findings)
    }

    private func walk(
        _ file: PageFile, _ header: FileHeader, _ keys: MasterKeys?, _ facts: inout AuditFacts,
        _ findings: inout AuditFindings, _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) {
        var walk = TreeWalk(file) { progress(.pages, $0) }
        var schema = SchemaRows(policy)
        try walk.walk(root: 1, .schema, &schema)
        schema.finish(&findings)
        var samples = RowSamples()
        for tree in schema.trees {
            guard let table = tree.table,
                let form = RecordLayout(lengths: table.lengths, pageSize: policy.pageSize)
            else {
                var rows = ForeignRows()
                try walk.walk(root: tree.root, .foreign, &rows)
                continue
            }
            var rows = RegistrationRows(form, opening(table, keys))
            try walk.walk(root: tree.root, .rows(form), &rows)
            rows.finish(&findings)
            facts.rows.append((table.name, rows.count))
            samples.merge(rows.samples)
        }
        samples.finish(&findings)
        let free = try walk.walkFreelist(first: header.firstTrunk)
        walk.findings.note(.freelistCount, if: free != header.freePages)
        try walk.finish()
        findings.merge(walk.findings)
        (facts.pages, facts.freePages, facts.isWalked) = (Int(file.pageCount), free, true)
    }

    private func opening(_ table: AuditPolicy.Table, _ keys: MasterKeys?) -> RowDecryption? {
        guard let keys, let index = policy.tables.firstIndex(of: table),
            keys.masters.indices.contains(index)
        else { return nil }
        return RowDecryption(master: keys.masters[index], version: policy.userVersion)
    }

    private func report(
        _ facts: AuditFacts, _ findings: AuditFindings, hasHeader: Bool
    ) -> AuditReport {
        var unseen: Set<AuditCheck> = []
        if !facts.isWalked { unseen = [.schema, .pages, .rows, .chance] }
        if !hasHeader { unseen.insert(.integrity) }
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
    /// The file, or the directory it lies in, cannot be read.
    case file(FileError)
    /// Neither a file nor a link to one.
    case notAFile
    case keys(FileError)
    /// The policy is not of the form this program knows.
    case policy
    /// The file was written to during every attempt, or a service holds it and its log is in use.
    case changing
    /// The log of a service that was killed, or of a copy made while one ran, holds rows.
    case unfinished

    /// The message, with a hint on a second line.
    package var message: String {
        switch self {
        case .file(let error): "the file cannot be read: \(error.reason)"
        case .notAFile: "that is not a file\nhint: name the database, e.g. data/registrations.db"
        case .keys(let error): "the key file cannot be read: \(error.reason)"
        case .policy: "the policy is no privacy manifest this program can hold a file against"
        case .changing:
            "the service that holds the file wrote to it while it was read\n"
                + "hint: try again in a calm moment, stop the service, or audit a copy of the "
                + "data directory"
        case .unfinished:
            "what a service was writing is not yet in the file: it was killed, or this is a copy "
                + "of one at work\nhint: start the service and audit beside it, or stop it first"
        }
    }
}
