import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

@Suite("The header and the schema", .timeLimit(.minutes(5)))
struct HeaderTests {
    static let header = [
        Plant.bytes("another mark", .magic, at: 0, [0x73]),
        .bytes("pages of 8 KiB", .pageSize, at: 16, [0x20, 0]),
        .bytes("a rollback journal", .journalMode, at: 18, [1, 1]),
        .bytes("a format that SQLite does not read", .unreadable, at: 18, [9, 9]),
        .bytes("room reserved in every page", .reservedSpace, at: 20, [8]),
        .bytes("other payload fractions", .fractions, at: 21, [65]),
        .bytes("another change counter", .changeCounter, at: 24, [0x65, 0x20, 0x6f, 0x01]),
        .bytes("another page count", .pageCount, at: 28, [0, 0, 1]),
        .bytes("an old schema format", .schemaFormat, at: 44, [0, 0, 0, 1]),
        .bytes("a cache size", .unusedSetting, at: 48, [0, 0, 7, 0xD0]),
        .bytes("auto-vacuum", .autoVacuum, at: 52, [0, 0, 0, 3]),
        .bytes("text in UTF-16", .textEncoding, at: 56, [0, 0, 0, 2]),
        .bytes("a newer version", .userVersion, at: 60, [0, 0, 0, 2]),
        .bytes("incremental vacuum", .autoVacuum, at: 64, [0, 0, 0, 1]),
        .bytes("the mark of another program", .applicationID, at: 68, [0, 0, 0, 0]),
        .bytes("a note in reserved bytes", .reservedBytes, at: 80, Array("hello".utf8)),
        .bytes("written by no SQLite we know", .libraryVersion, at: 96, [0x66, 0x11, 0, 0]),
        // 3,040,999 and 3,008,011
        .bytes("a version that never was", .libraryVersion, at: 96, [0, 0x2E, 0x66, 0xE7]),
        .bytes("a version without strict tables", .libraryVersion, at: 96, [0, 0x2D, 0xE6, 0x0B]),
        .bytes("another schema cookie", .schemaCookie, at: 40, [0, 0, 0, 3]),
        Plant("a date in both change counters", .changeCounter) { site in
            for place in [24, 92] {
                try site.change { bytes in
                    bytes.replaceSubrange(place..<place + 4, with: [0x6B, 0x49, 0xD2, 0])
                }
            }
        },
        Plant("cut short by a byte", .size) { try $0.change { $0.removeLast() } },
        Plant("cut short by a page", .pageCount) {
            try $0.change { $0.removeLast(Limits.pageBytes) }
        },
        Plant("nothing but a mark", .magic) { try $0.change { $0.removeLast($0.count - 16) } },
        Plant("empty", .magic) { try $0.change { $0 = [] } },
    ]

    static let schema = [
        Plant("the number of the last entry", .schemaRowid) { site in
            try site.change { bytes in
                let page = try require(
                    BTreePage(bytes.span.extracting(0..<Limits.pageBytes), from: 100))
                let cell = try require(page.cells.last)
                // Behind one or two bytes of length.
                let length = bytes[cell.bytes.lowerBound] < 0x80 ? 1 : 2
                bytes[cell.bytes.lowerBound + length] = 0x61
            }
        },
        Plant("tables that begin at each other's pages", .rootPage) { site in
            try site.execute(
                "PRAGMA writable_schema=ON",
                "UPDATE sqlite_schema SET rootpage=5-rootpage", "PRAGMA writable_schema=RESET",
                "PRAGMA schema_version=2")
        },
        Plant.sql("CREATE TABLE visits(at INTEGER)", .extraTable),
        .sql("CREATE TABLE seen(id BLOB PRIMARY KEY) WITHOUT ROWID", .extraTable),
        .sql("ANALYZE", .extraTable),
        .sql("ALTER TABLE registration ADD COLUMN platform TEXT", .definition),
        .sql("CREATE INDEX by_sealed ON registration(sealed)", .extraIndex),
        .sql(
            "CREATE TRIGGER kept AFTER DELETE ON registration BEGIN SELECT 1; END",
            .extraTrigger),
        .sql("CREATE VIEW everyone AS SELECT id FROM registration", .extraView),
        Plant("an entry of no kind that SQLite knows", .extraEntry) { site in
            try site.execute(
                "PRAGMA writable_schema=ON",
                "INSERT INTO sqlite_schema VALUES('note','anna','anna',0,NULL)")
        },
        .sql("DROP TABLE moved", .missingTable),
        .sql("ALTER TABLE registration RENAME TO people", .missingTable),
        .sql("ALTER TABLE registration RENAME COLUMN sealed TO plain", .definition),
        Plant("a definition with one more space", .definition) { site in
            try site.execute(
                "PRAGMA writable_schema=ON",
                "UPDATE sqlite_schema SET sql=replace(sql,', sealed',',  sealed') "
                    + "WHERE name='registration'")
        },
        Plant("a definition without its checks", .definition) { site in
            try site.execute(
                "PRAGMA writable_schema=ON",
                "UPDATE sqlite_schema SET sql='CREATE TABLE registration("
                    + "id BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID, STRICT' "
                    + "WHERE name='registration'")
        },
    ]

    @Test("that differ are found", arguments: header + schema)
    func planted(_ plant: Plant) async throws {
        try await plant.check()
    }

    @Test("a schema of many pages is read as a whole")
    func manyTables() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        for number in 0..<60 {
            try site.execute(
                "CREATE TABLE extra_\(number)(\(String(repeating: "c", count: 200)) TEXT)")
        }
        let report = try site.audit()
        #expect(report.findings.count(.extraTable) == 60)
        #expect(report.findings.count(.pageUnreachable) == 0)
        #expect(report.findings.count(.pageMalformed) == 0)
        #expect(report.facts.rows.map(\.count).reduce(0, +) > 100)
    }
}
