import WakeSQLite

/// What the store never does: deleting without overwriting.
struct WakeSQLiteControl {
    private let database: Database

    init(_ path: String) throws {
        database = try Database(path: path, access: .readWrite)
    }

    func deleteHalfCarelessly() throws {
        try database.execute("PRAGMA secure_delete=OFF")
        try database.execute("DELETE FROM registration_a WHERE hex(substr(id,2,1)) < '80'")
        try database.checkpointTruncate()
    }
}
