import WakeModel
import WakeSystem

/// Counts of an audit; none of them is about a person.
package struct AuditFacts: Sendable {
    /// SHA-256 of the files, the older one first; empty when a service wrote to them meanwhile.
    package var fileHash: [UInt8] = []
    package var bytes = 0
    package var pages = 0
    package var freePages = 0
    package var rows: [(table: String, count: Int)] = []
    /// Whether the files were the same at all times, with nothing in their logs.
    var isAtRest = true
    var hasHeaders = true
    var isWalked = true

    /// In a table with fewer rows a bit or a byte that is not drawn by chance may not show.
    package static let tellingRows = ChiSquareBounds.chiSquareCount

    /// Tables that hold something, but too little to be judged as a whole.
    package var fewRows: [String] {
        rows.filter { (1..<Self.tellingRows).contains($0.count) }.map(\.table)
    }
}

/// What the files of all generations hold, one after the other: each by itself, and what must not
/// occur twice in them together.
struct AuditContents: ~Copyable {
    private let policy: AuditPolicy
    private let keys: MasterKeys?
    private let pagesAtOnce: Int
    private let progress: (AuditCheck, Int) -> Void
    private var hash = SHA256Stream()
    private var samples = RowSamples()
    private var facts = AuditFacts()

    /// - Parameter progress: gets a check and its share in a file, in 1/1000.
    init(
        _ policy: AuditPolicy, _ keys: MasterKeys?, pagesAtOnce: Int, isAtRest: Bool,
        _ progress: @escaping (AuditCheck, Int) -> Void
    ) {
        (self.policy, self.keys, self.progress) = (policy, keys, progress)
        self.pagesAtOnce = pagesAtOnce
        facts.isAtRest = isAtRest
    }

    mutating func read(
        _ file: OpenFile, of database: GenerationDatabase, isHeld: Bool,
        _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        let pages = PageFile(
            file, pageSize: policy.pageSize, pagesAtOnce: pagesAtOnce, isHeld: isHeld)
        let (bytes, size) = try pages.window { () throws(AuditFailure) in
            (try pages.read(at: 0, count: 100), pages.size)
        }
        if facts.isAtRest { try pages.hash(into: &hash) { progress(.header, $0) } }
        facts.bytes += size
        if let header = FileHeader(bytes) {
            header.check(policy, size: size, &findings)
            if header.pageSize == policy.pageSize, size >= header.pageSize {
                try walk(pages, of: database, &findings)
            } else {
                facts.isWalked = false
            }
            try askSQLite(pages, database, &findings)
        } else {
            (facts.hasHeaders, facts.isWalked) = (false, false)
            findings.note(.magic)
        }
        if try !pages.isUnchanged() { facts.isAtRest = false }
    }

    /// Its own check takes longer than a window, and says nothing of a file that changes.
    private mutating func askSQLite(
        _ pages: PageFile, _ database: GenerationDatabase, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        guard facts.isAtRest, try pages.isUnchanged() else { return }
        progress(.integrity, 0)
        var found = AuditFindings()
        IntegrityCheck.run(database.path, &found)
        if try pages.isUnchanged() { findings.merge(found) }
    }

    private mutating func walk(
        _ file: PageFile, of database: GenerationDatabase, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        var walk = TreeWalk(file) { [progress] in progress(.pages, $0) }
        var schema = SchemaRows(policy)
        try walk.walk(root: 1, .schema, &schema)
        schema.finish(&findings)
        var tables: TreeWalk.Tables = []
        for tree in schema.trees {
            guard let table = tree.table,
                let form = RecordLayout(lengths: table.lengths, pageSize: policy.pageSize)
            else {
                var rows = ForeignRows()
                try walk.walk(root: tree.root, .foreign, &rows)
                continue
            }
            tables.append((tree.root, form))
            let isMain = table == policy.tables.first
            let opening = isMain ? keys?.opening(database.generation, policy) : nil
            var rows = RegistrationRows(form, opening)
            try walk.walk(root: tree.root, .rows(form), &rows)
            rows.finish(&findings)
            // What moves is empty but for half a second.
            if isMain || rows.count > 0 {
                facts.rows.append((database.name + (isMain ? "" : " \(table.name)"), rows.count))
            }
            samples.merge(rows.samples)
        }
        let free = try walk.walkRest(tables)
        findings.merge(walk.findings)
        facts.pages += Int(file.pageCount)
        facts.freePages += free
    }

    /// - Parameter isAtRest: whether the logs are empty now.
    consuming func finish(isAtRest: Bool, _ findings: inout AuditFindings) -> AuditFacts {
        samples.finish(&findings)
        var facts = facts
        facts.isAtRest = facts.isAtRest && isAtRest
        let fileHash = hash.finish()
        if facts.isAtRest { facts.fileHash = fileHash }
        return facts
    }
}
