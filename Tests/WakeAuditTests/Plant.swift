import Testing
import WakeSystem

@testable import WakeAudit

/// One violation, where it is planted, and what must be found.
struct Plant: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let finding: AuditFinding
    let needsRoot: Bool
    let plant: @Sendable (AuditSite) throws -> Void

    init(
        _ description: String, _ finding: AuditFinding, needsRoot: Bool = false,
        _ plant: @escaping @Sendable (AuditSite) throws -> Void
    ) {
        testDescription = description
        self.finding = finding
        self.needsRoot = needsRoot
        self.plant = plant
    }

    /// Bytes of the database at an offset.
    static func bytes(
        _ description: String, _ finding: AuditFinding, at offset: Int, _ bytes: [UInt8]
    ) -> Plant {
        Plant(description, finding) { site in
            try site.change { $0.replaceSubrange(offset..<offset + bytes.count, with: bytes) }
        }
    }

    /// SQL that SQLite runs.
    static func sql(_ statement: String, _ finding: AuditFinding) -> Plant {
        Plant(statement, finding) { try $0.execute(statement) }
    }

    /// Plants it in a copy of a store that is clean, and audits the copy.
    func check(keys: Bool = false) async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        // The control: without it there is nothing.
        #expect(try site.audit(keys: keys).isClean)
        try plant(site)
        let report = try site.audit(keys: keys)
        #expect(report.findings.count(finding) > 0, "found instead: \(report.text)")
        #expect(report.verdict(of: finding.check) == .violation)
        #expect(!report.isClean)
        // Wherever a window ends, the same is found.
        let windows = try site.audit(keys: keys, pagesAtOnce: 1)
        #expect(windows.findings.count(finding) > 0, "found instead: \(windows.text)")
    }
}

struct NoSuchPlace: Error {}

func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw NoSuchPlace() }
    return value
}
