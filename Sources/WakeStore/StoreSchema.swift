import WakeSQLite

/// The two tables, to the letter. Two opaque columns of fixed size each; no other table, column,
/// index, trigger or view.
package enum StoreSchema {
    /// "RVLL": marks the file as ours at byte 68 (sqlite.org/fileformat2.html §1.2.15).
    package static let applicationID: Int64 = 0x5256_4C4C
    /// `user_version`, and the first byte of the data every row is sealed with.
    package static let version: Int64 = 1

    /// The two places generations take turns in.
    package enum TableName: String, CaseIterable, Sendable {
        case a = "registration_a"
        case b = "registration_b"

        package var other: TableName { self == .a ? .b : .a }

        package var definition: String {
            "CREATE TABLE \(rawValue)(id BLOB PRIMARY KEY, sealed BLOB NOT NULL, "
                + "CHECK(length(id)=32 AND length(sealed)=552)) WITHOUT ROWID, STRICT"
        }
    }

    /// Makes the tables and marks in an empty database, in one transaction.
    static func create(in database: Database) throws(SQLiteError) {
        try database.execute("BEGIN IMMEDIATE")
        try database.execute("PRAGMA application_id=\(applicationID)")
        try database.execute("PRAGMA user_version=\(version)")
        for table in TableName.allCases { try database.execute(table.definition) }
        try database.execute("COMMIT")
    }

    /// Compares marks and tables with what `create` makes.
    static func verify(_ database: Database) throws(StoreOpenError) {
        do {
            let application = try database.integer("PRAGMA application_id") ?? 0
            let version = try database.integer("PRAGMA user_version") ?? 0
            try verify(application: application, version: version)
            let statement = try database.prepare("SELECT sql FROM sqlite_schema ORDER BY name")
            var definitions: [String?] = []
            while try statement.step() { definitions.append(statement.text(0)) }
            guard definitions == TableName.allCases.map(\.definition) else {
                throw StoreOpenError.schemaDiffers
            }
        } catch let error as SQLiteError {
            throw StoreOpenError(error)
        } catch let error as StoreOpenError {
            throw error
        } catch {
            throw .schemaDiffers
        }
    }

    /// Reads the marks from the first 100 bytes of the file, before SQLite may touch anything.
    static func verify(header: [UInt8]) throws(StoreOpenError) {
        guard header.count >= 100 else { throw .empty }
        guard header.starts(with: "SQLite format 3\0".utf8) else { throw .notADatabase }
        func number(at offset: Int) -> Int64 {
            header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
        }
        try verify(application: number(at: 68), version: number(at: 60))
    }

    private static func verify(application: Int64, version: Int64) throws(StoreOpenError) {
        guard application == applicationID else { throw .foreignApplication(application) }
        guard version <= Self.version else { throw .newerSchema(version) }
        guard version == Self.version else { throw .schemaDiffers }
    }
}
