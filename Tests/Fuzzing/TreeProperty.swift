import Glibc
import WakeSystem

@testable import WakeAudit

/// The audit's walk through a database: whatever its bytes, each page is visited at most once,
/// every page is accounted for, and what it calls sound SQLite's own check finds sound.
enum TreeProperty {
    static let pageBytes = 512
    private static let mostPages = 12
    /// In memory: the walk reads a file.
    private static let path = "/dev/shm/reveille-fuzz-\(getpid())"
    private static let table = AuditPolicy.Table(
        name: "r", definition: "CREATE TABLE r(i BLOB PRIMARY KEY,s BLOB)WITHOUT ROWID",
        lengths: [8, 40])
    private static let policy = AuditPolicy(
        tables: [table], applicationID: 0, userVersion: 0, pageSize: pageBytes, fileMode: 0,
        siblings: [], forms: [:], directoryMode: 0, keyForms: [:], keyFileMode: 0, schemaCookie: 0,
        levels: [], logs: [:], hash: "")

    /// - Parameter input: a database, of which a last page that is short is filled with zeros.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        let pages = (input.count + pageBytes - 1) / pageBytes
        guard (1...mostPages).contains(pages) else { return false }
        let bytes = input + [UInt8](repeating: 0, count: pages * pageBytes - input.count)
        // The audit ends at a header that is none.
        guard FileHeader(Array(bytes.prefix(100))) != nil else { return false }
        defer { unsafe unlink(path) }
        let (walk, rows) = try walked(bytes)
        let findings = walk.findings
        let faults = AuditCheck.allCases.flatMap { findings.found(in: $0) }.map(\.count)
        try require(walk.visited <= pages, "a page visited twice")
        // A page has at most as many parts as pairs of bytes; each is counted a few times.
        try require(faults.allSatisfy { $0 <= 4 * bytes.count }, "findings without bound")
        guard faults.isEmpty, rows > 0 else { return false }
        return try checkSound(bytes)
    }

    /// As ``Audit`` walks.
    private static func walked(_ bytes: [UInt8]) throws(Violation) -> (TreeWalk, rows: Int) {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC)
            try file.write(bytes.span)
        } catch { throw Violation("no room: \(error.reason)") }
        // A window for two pages or so: what is found must not depend on where one ends.
        let windowed = PageFile(file, pageSize: pageBytes, pagesAtOnce: 2, isHeld: false)
        var walk = TreeWalk(windowed) { _ in }
        var rows = 0
        do throws(AuditFailure) {
            var schema = SchemaRows(policy)
            try walk.walk(root: 1, .schema, &schema)
            schema.finish(&walk.findings)
            var tables: TreeWalk.Tables = []
            for tree in schema.trees {
                guard let table = tree.table,
                    let form = RecordLayout(lengths: table.lengths, pageSize: pageBytes)
                else {
                    var rows = ForeignRows()
                    try walk.walk(root: tree.root, .foreign, &rows)
                    continue
                }
                tables.append((tree.root, form))
                var reader = RegistrationRows(form, nil)
                try walk.walk(root: tree.root, .rows(form), &reader)
                rows += reader.count
            }
            _ = try walk.walkRest(tables)
        } catch { throw Violation("the walk fails: \(error)") }
        return (walk, rows)
    }

    /// Its check needs the fields of the header that the walk does not read.
    private static func checkSound(_ bytes: [UInt8]) throws(Violation) -> Bool {
        guard let header = FileHeader(Array(bytes.prefix(100))) else { return false }
        var findings = AuditFindings()
        header.check(policy, size: bytes.count, &findings)
        // Sound but for what the policy above leaves out.
        for finding in [AuditFinding.pageSize, .size, .pageCount, .journalMode, .reservedSpace]
            + [.fractions, .changeCounter, .schemaFormat, .textEncoding, .autoVacuum]
        where findings.count(finding) > 0 { return false }
        findings = AuditFindings()
        IntegrityCheck.run(path, &findings)
        try require(
            findings.count(.integrity) == 0 && findings.count(.unreadable) == 0,
            "SQLite finds what the walk does not")
        return true
    }
}
