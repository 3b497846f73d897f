import WakeModel
import WakeSQLite

/// The connection with everything that was compiled for it: closed as a whole by letting go of it,
/// and made anew when the file is.
final class StoreConnection {
    let database: Database
    private(set) var current: GenerationTable
    private(set) var previous: GenerationTable
    let begin: Statement
    let commit: Statement
    let mark: Statement
    let pageCount: Statement
    let freePages: Statement

    /// - Parameter database: opened, checked, with its settings in force.
    init(_ database: Database, keys: KeyFile) throws(SQLiteError) {
        self.database = database
        (current, previous) = try Self.tables(keys, in: database)
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        mark = try database.prepare("PRAGMA user_version=\(StoreSchema.version)")
        pageCount = try database.prepare("PRAGMA page_count")
        freePages = try database.prepare("PRAGMA freelist_count")
    }

    /// The roles of the tables and their keys are others now.
    func turn(_ keys: KeyFile) throws(SQLiteError) {
        (current, previous) = try Self.tables(keys, in: database)
    }

    private static func tables(
        _ keys: KeyFile, in database: Database
    ) throws(SQLiteError) -> (current: GenerationTable, previous: GenerationTable) {
        let current = try GenerationTable(
            keys.currentTable, .current, keys: GenerationKeys(master: keys.current), in: database)
        let previous = try GenerationTable(
            keys.currentTable.other, .previous, keys: GenerationKeys(master: keys.previous),
            in: database)
        return (current, previous)
    }
}
