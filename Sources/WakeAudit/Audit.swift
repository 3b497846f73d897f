private import Glibc
import WakeFiles
import WakeModel
import WakeSodium

/// Holds one database file against the policy. Reads only, takes no lock, and knows nothing of the
/// code that wrote the file: an auditor must not trust the audited.
package struct Audit {
    private let path: String
    private let policy: AuditPolicy
    private let keyFile: String?
    private let log: [UInt8]?

    /// - Parameters:
    ///   - keyFile: with it every row is opened.
    ///   - log: what the service said, line by line.
    package init(path: String, policy: AuditPolicy, keyFile: String? = nil, log: [UInt8]? = nil) {
        self.path = path
        self.policy = policy
        self.keyFile = keyFile
        self.log = log
    }

    /// A running service may write to the file meanwhile: then once more, a few times.
    /// - Parameter progress: what is being done, and how far it is in thousandths.
    package func run(
        _ progress: @escaping (AuditCheck, Int) -> Void = { _, _ in }
    ) throws(AuditFailure) -> AuditReport {
        for _ in 0..<3 {
            if let report = try attempt(progress) { return report }
        }
        throw .changing
    }

    /// - Returns: nil when the file was written to meanwhile.
    private func attempt(
        _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) -> AuditReport? {
        let place = try PlaceCheck(path, policy)
        let file = try open(place.file)
        let before = try status(file)
        // The log of a service at work holds rows that no check would see.
        if place.logSize > 0, file.isHeldExclusively { return nil }
        var findings = AuditFindings()
        try place.run(&findings)
        let pages = PageFile(file, size: before.size, pageSize: policy.pageSize)
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
        let after = try status(file)
        guard after.identity == before.identity, place.logSize == 0 || !file.isHeldExclusively
        else { return nil }
        return report(facts, findings, hasHeader: header != nil)
    }

    private func open(_ path: String) throws(AuditFailure) -> OpenFile {
        do throws(FileError) {
            return try OpenFile(path, flags: O_RDONLY)
        } catch {
            throw .file(error)
        }
    }

    private func status(_ file: OpenFile) throws(AuditFailure) -> FileStatus {
        do throws(FileError) {
            return try file.status()
        } catch {
            throw .file(error)
        }
    }

    private func masterKeys(
        _ place: PlaceCheck, _ findings: inout AuditFindings
    ) throws(AuditFailure) -> MasterKeys? {
        guard let keyFile else { return nil }
        return try MasterKeys.read(keyFile, dataDirectory: place.directory, &findings)
    }

    private func walk(
        _ file: PageFile, _ header: FileHeader, _ keys: MasterKeys?, _ facts: inout AuditFacts,
        _ findings: inout AuditFindings, _ progress: @escaping (AuditCheck, Int) -> Void
    ) throws(AuditFailure) {
        var walk = TreeWalk(file) { progress(.pages, $0) }
        var schema = SchemaRows(policy)
        try walk.walk(root: 1, .schema, &schema)
        schema.finish(&findings)
        var ids: [UInt64] = []
        var nonces: [UInt64] = []
        for tree in schema.trees {
            guard let table = tree.table,
                let form = RecordForm(lengths: table.lengths, pageSize: policy.pageSize)
            else {
                var rows = ForeignRows()
                try walk.walk(root: tree.root, .foreign, &rows)
                continue
            }
            var rows = RegistrationRows(form, opening(table, keys))
            try walk.walk(root: tree.root, .rows(form), &rows)
            rows.finish(&findings)
            facts.rows.append((table.name, rows.count))
            ids += rows.ids
            nonces += rows.nonces
        }
        findings.note(.repeatedID, count: Repetition.count(ids))
        findings.note(.repeatedNonce, count: Repetition.count(nonces))
        let free = try walk.walkFreelist(first: header.firstTrunk)
        walk.findings.note(.freelistCount, if: free != header.freePages)
        try walk.finish()
        findings.merge(walk.findings)
        (facts.pages, facts.freePages, facts.isWalked) = (Int(file.pageCount), free, true)
    }

    private func opening(_ table: AuditPolicy.Table, _ keys: MasterKeys?) -> RowOpening? {
        guard let keys, let index = policy.tables.firstIndex(of: table),
            keys.masters.indices.contains(index)
        else { return nil }
        return RowOpening(master: keys.masters[index], version: policy.userVersion)
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
            facts: facts, findings: findings, unseen: unseen, unasked: unasked,
            policyHash: policy.hash)
    }
}
