import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("The database is what the policy says it is", .timeLimit(.minutes(5)))
struct SchemaTests {
    @Test("two tables of opaque columns of fixed size, and nothing else, in both files")
    func schema() async throws {
        let place = StorePlace()
        try await place.create(registrations: 3)
        let database = try place.database()
        let statement = try database.prepare("SELECT type, sql FROM sqlite_schema ORDER BY rowid")
        var found: [String] = []
        while try statement.step() {
            #expect(statement.text(0) == "table")
            found.append(statement.text(1) ?? "")
        }
        #expect(
            found == [
                "CREATE TABLE registration(id BLOB PRIMARY KEY, sealed BLOB NOT NULL, "
                    + "CHECK(length(id)=32 AND length(sealed)=632)) WITHOUT ROWID, STRICT",
                "CREATE TABLE moved(id BLOB PRIMARY KEY, CHECK(length(id)=32)) "
                    + "WITHOUT ROWID, STRICT",
            ])
        #expect(try database.integer("PRAGMA application_id") == StoreSchema.applicationID)
        #expect(try database.integer("PRAGMA user_version") == 1)
        #expect(try database.text("PRAGMA journal_mode") == "wal")
        #expect(try database.integer("PRAGMA page_size") == Int64(Limits.pageBytes))
        #expect(try database.integer("PRAGMA auto_vacuum") == 0)
    }

    @Test("every setting is in force, and each one changed is noticed by its name")
    func settings() async throws {
        let place = StorePlace()
        try await place.create()
        let database = try place.database()
        try StoreSetting.apply(to: database)
        try StoreSetting.verify(database)
        let others: [(StoreSetting, String)] = [
            (.synchronous, "NORMAL"), (.secureDelete, "FAST"), (.automaticCheckpoint, "1000"),
            (.temporaryStore, "FILE"), (.trustedSchema, "ON"), (.cellSizeCheck, "OFF"),
            (.lockingMode, "NORMAL"), (.journalMode, "DELETE"),
        ]
        for (setting, value) in others {
            try database.execute("PRAGMA \(setting.rawValue)=\(value)")
            #expect(throws: StoreOpenError.settingRefused(setting)) {
                try StoreSetting.verify(database)
            }
            try StoreSetting.apply(to: database)
        }
    }
}
