import WakeSystem

/// The first 100 bytes of the file (sqlite.org/fileformat2.html §1.3).
struct FileHeader {
    let pageSize: Int
    let firstTrunk: UInt32
    let freePages: Int
    private let bytes: [UInt8]
    /// Commits between two rotations: 138 a second for 90 days. No text, no date in seconds.
    private static let mostChanges: UInt32 = 1 << 30

    /// - Returns: nil unless there are 100 bytes and SQLite's mark.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 100, bytes.starts(with: "SQLite format 3\0".utf8) else { return nil }
        self.bytes = bytes
        let size = bytes.span.number16(at: 16)
        // §1.3.2: 1 stands for 65,536.
        pageSize = size == 1 ? 65_536 : size
        firstTrunk = bytes.span.number32(at: 32)
        freePages = Int(bytes.span.number32(at: 36))
    }

    /// Compares all fields: fixed, given by the file's size in bytes, or counts of SQLite's own.
    func check(_ policy: AuditPolicy, size: Int, _ findings: inout AuditFindings) {
        let span = bytes.span
        findings.note(.pageSize, if: pageSize != policy.pageSize)
        findings.note(.size, if: size % policy.pageSize != 0)
        findings.note(.pageCount, if: Int(span.number32(at: 28)) != size / policy.pageSize)
        // §1.3.3: both 2, a write-ahead log
        findings.note(.journalMode, if: bytes[18] != 2 || bytes[19] != 2)
        // §1.3.4
        findings.note(.reservedSpace, if: bytes[20] != 0)
        // §1.3.5
        findings.note(.fractions, if: bytes[21] != 64 || bytes[22] != 32 || bytes[23] != 32)
        // §1.3.7: otherwise the page count beside it would not be valid.
        let changes = span.number32(at: 24)
        findings.note(
            .changeCounter, if: changes != span.number32(at: 92) || changes > Self.mostChanges)
        // §1.3.9
        findings.note(.schemaCookie, if: span.number32(at: 40) != policy.schemaCookie)
        findings.note(.schemaFormat, if: span.number32(at: 44) != 4)
        // §1.3.11 and §1.3.12: a suggested cache size; the largest root page
        findings.note(.unusedSetting, if: span.number32(at: 48) != 0)
        findings.note(.autoVacuum, if: span.number32(at: 52) != 0 || span.number32(at: 64) != 0)
        findings.note(.textEncoding, if: span.number32(at: 56) != 1)
        findings.note(.userVersion, if: span.number32(at: 60) != policy.userVersion)
        findings.note(.applicationID, if: span.number32(at: 68) != policy.applicationID)
        findings.note(.reservedBytes, if: !span.extracting(72..<92).isZero)
        let library = span.number32(at: 96)
        // 3.37 was the first with STRICT tables; none had a patch above 20.
        findings.note(
            .libraryVersion,
            if: !(3_037_000..<3_100_000).contains(library) || library % 1000 > 20)
    }
}

/// SQLite's own check. `immutable=1`: no lock, no log, and the very bytes of the other checks.
enum IntegrityCheck {
    static func run(_ path: String, _ findings: inout AuditFindings) {
        do throws(SQLiteError) {
            let database = try Database(path: path, access: .asItLies)
            // The schema may be anybody's: nothing in it may run (sqlite.org/security.html §1.3).
            try database.execute("PRAGMA trusted_schema=OFF")
            try database.execute("PRAGMA cell_size_check=ON")
            let statement = try database.prepare("PRAGMA integrity_check")
            while try statement.step() {
                // The lines may quote what is in the file: they are counted.
                findings.note(.integrity, if: statement.text(0) != "ok")
            }
        } catch { findings.note(.unreadable) }
    }
}
