import WakeSQLite

extension StateDatabase {
    /// The cursor of the app's own source; nil before its first page. Inside a read or a write.
    func sourceCursor() throws(SQLiteError) -> DataCursor? {
        let row = try database.prepare("SELECT cursor FROM source")
        guard try row.step() else { return nil }
        defer { row.reset() }
        return DataCursor(row.blob(0))
    }

    /// Inside the transaction that stores what was found up to this cursor.
    func update(sourceCursor cursor: DataCursor?) throws(SQLiteError) {
        guard let cursor else {
            try database.execute("DELETE FROM source")
            return
        }
        let statement = try database.prepare("INSERT OR REPLACE INTO source VALUES(1, ?)")
        try statement.bind(1, blob: cursor.bytes.span)
        try statement.run()
    }
}
