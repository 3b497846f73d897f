import WakeSodium
import WakeSystem

/// Counts of an audit; none of them is about a person.
package struct AuditFacts: Sendable {
    /// SHA-256 of the files, the older one first.
    package var fileHash: [UInt8] = []
    package var bytes = 0
    package var pages = 0
    package var freePages = 0
    package var rows: [(table: String, count: Int)] = []
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
    private let progress: (AuditCheck, Int) -> Void
    private var hash = SHA256()
    private var samples = RowSamples()
    private var facts = AuditFacts()

    /// - Parameter progress: gets a check and its share in a file, in 1/1000.
    init(
        _ policy: AuditPolicy, _ keys: MasterKeys?,
        _ progress: @escaping (AuditCheck, Int) -> Void
    ) {
        (self.policy, self.keys, self.progress) = (policy, keys, progress)
    }

    mutating func read(
        _ file: OpenFile, of database: GenerationDatabase, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        let size = try mapError(AuditFailure.file, file.status()).size
        let pages = PageFile(file: file, size: size, pageSize: policy.pageSize)
        facts.bytes += size
        try pages.hash(into: &hash) { progress(.header, $0) }
        guard let header = FileHeader(try pages.read(at: 0, count: 100)) else {
            (facts.hasHeaders, facts.isWalked) = (false, false)
            return findings.note(.magic)
        }
        header.check(policy, size: size, &findings)
        progress(.integrity, 0)
        IntegrityCheck.run(database.path, &findings)
        if header.pageSize == policy.pageSize, pages.pageCount > 0 {
            try walk(pages, header, of: database, &findings)
        } else {
            facts.isWalked = false
        }
    }

    private mutating func walk(
        _ file: PageFile, _ header: FileHeader, of database: GenerationDatabase,
        _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        var walk = TreeWalk(file) { [progress] in progress(.pages, $0) }
        var schema = SchemaRows(policy)
        try walk.walk(root: 1, .schema, &schema)
        schema.finish(&findings)
        for tree in schema.trees {
            guard let table = tree.table,
                let form = RecordLayout(lengths: table.lengths, pageSize: policy.pageSize)
            else {
                var rows = ForeignRows()
                try walk.walk(root: tree.root, .foreign, &rows)
                continue
            }
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
        let free = try walk.walkFreelist(first: header.firstTrunk)
        walk.findings.note(.freelistCount, if: free != header.freePages)
        try walk.finish()
        findings.merge(walk.findings)
        facts.pages += Int(file.pageCount)
        facts.freePages += free
    }

    consuming func finish(_ findings: inout AuditFindings) -> AuditFacts {
        samples.finish(&findings)
        var facts = facts
        facts.fileHash = hash.finish()
        return facts
    }
}
