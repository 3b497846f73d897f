import WakeSystem

/// Reads the schema table (sqlite.org/schematab.html) and holds it against the policy.
struct SchemaRows: RecordReader {
    /// A table of the policy that is there, or anything that should not be.
    struct Tree {
        let root: UInt32
        /// Nil for what the policy does not name.
        let table: AuditPolicy.Table?
    }

    private let policy: AuditPolicy
    private(set) var trees: [Tree] = []
    private var seen: Set<String> = []

    init(_ policy: AuditPolicy) { self.policy = policy }

    mutating func read(_ payload: Span<UInt8>, isWhole: Bool, _ findings: inout AuditFindings) {
        // type, name, tbl_name, rootpage, sql
        guard let record = Record(payload), record.values.count == 5,
            case .text(let type) = record.values[0], case .text(let name) = record.values[1],
            case .text(let tableName) = record.values[2]
        else { return findings.note(.extraEntry) }
        let kind = Self.string(payload, type)
        let root: UInt32 =
            if case .integer(let number) = record.values[3] { UInt32(clamping: number) } else { 0 }
        let table = policy.tables.first { $0.name == Self.string(payload, name) }
        guard kind == "table", let table, seen.insert(table.name).inserted else {
            findings.note(Self.extras[kind] ?? .extraEntry)
            if root != 0 { trees.append(Tree(root: root, table: nil)) }
            return
        }
        trees.append(Tree(root: root, table: table))
        // Made in this order in an empty file, and by every rotation again.
        let place = policy.tables.firstIndex(of: table) ?? 0
        findings.note(.rootPage, if: Int(root) != place + 2)
        guard isWhole, record.isWhole, Self.string(payload, tableName) == table.name,
            case .text(let sql) = record.values[4],
            Self.string(payload, sql).utf8.elementsEqual(table.definition.utf8)
        else { return findings.note(.definition) }
    }

    private static let extras: [String: AuditFinding] = [
        "table": .extraTable, "index": .extraIndex, "trigger": .extraTrigger, "view": .extraView,
    ]

    func finish(_ findings: inout AuditFindings) {
        findings.note(.missingTable, count: policy.tables.count { !seen.contains($0.name) })
    }

    private static func string(_ payload: Span<UInt8>, _ range: Range<Int>) -> String {
        String(decoding: payload.extracting(range).array, as: UTF8.self)
    }
}

/// Passes over the records of a tree that should not be there.
struct ForeignRows: RecordReader {
    mutating func read(_ payload: Span<UInt8>, isWhole: Bool, _ findings: inout AuditFindings) {}
}
