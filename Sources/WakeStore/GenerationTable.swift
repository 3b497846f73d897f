import WakeModel
import WakeSQLite

/// One generation's table with its keys and its statements, compiled once.
final class GenerationTable {
    let generation: Generation
    let keys: GenerationKeys
    private let insert: Statement
    private let update: Statement
    private let delete: Statement
    private let deleteIfUnchanged: Statement
    private let select: Statement
    private let exists: Statement
    private let page: Statement
    private let deleteFirst: Statement
    private let idAt: Statement
    private let countAll: Statement
    private unowned let database: Database

    init(
        _ name: StoreSchema.TableName, _ generation: Generation, keys: GenerationKeys,
        in database: Database
    ) throws(SQLiteError) {
        let table = name.rawValue
        self.generation = generation
        self.keys = keys
        self.database = database
        insert = try database.prepare(
            "INSERT INTO \(table)(id,sealed) VALUES(?1,?2) ON CONFLICT(id) DO NOTHING")
        update = try database.prepare("UPDATE \(table) SET sealed=?2 WHERE id=?1")
        delete = try database.prepare("DELETE FROM \(table) WHERE id=?1")
        deleteIfUnchanged = try database.prepare("DELETE FROM \(table) WHERE id=?1 AND sealed=?2")
        select = try database.prepare("SELECT sealed FROM \(table) WHERE id=?1")
        exists = try database.prepare("SELECT 1 FROM \(table) WHERE id=?1")
        page = try database.prepare(
            "SELECT id,sealed FROM \(table) WHERE id>?1 ORDER BY id LIMIT ?2")
        let ids = "SELECT id FROM \(table) ORDER BY id LIMIT"
        deleteFirst = try database.prepare("DELETE FROM \(table) WHERE id IN (\(ids) ?1)")
        idAt = try database.prepare("\(ids) 1 OFFSET ?1")
        countAll = try database.prepare("SELECT count(*) FROM \(table)")
    }

    /// Writes the row, new or not, with the same two statements in every case.
    /// - Returns: whether a row was overwritten.
    func put(_ id: [UInt8], _ sealed: [UInt8]) throws(SQLiteError) -> Bool {
        try update.bind(1, blob: id.span)
        try update.bind(2, blob: sealed.span)
        try update.run()
        let overwritten = database.changes > 0
        try insert.bind(1, blob: id.span)
        try insert.bind(2, blob: sealed.span)
        try insert.run()
        return overwritten
    }

    /// - Returns: whether there was such a row.
    func remove(_ id: [UInt8]) throws(SQLiteError) -> Bool {
        try delete.bind(1, blob: id.span)
        try delete.run()
        return database.changes > 0
    }

    /// Removes the row only while it is still the one that was read: a row renewed since has
    /// another nonce, so other bytes, and stays.
    func remove(_ id: [UInt8], ifStill sealed: [UInt8]) throws(SQLiteError) -> Bool {
        try deleteIfUnchanged.bind(1, blob: id.span)
        try deleteIfUnchanged.bind(2, blob: sealed.span)
        try deleteIfUnchanged.run()
        return database.changes > 0
    }

    /// Removes so many rows with the smallest ids, which says nothing about which they are.
    /// - Returns: how many there were.
    func removeFirst(_ rows: Int) throws(SQLiteError) -> Int {
        try deleteFirst.bind(1, integer: Int64(rows))
        try deleteFirst.run()
        return database.changes
    }

    /// Rows, exact below `limit`. Ids are uniform: how close together the first ones are tells how
    /// many there are, to 100 / sqrt(limit) per cent, without reading the rest.
    func estimate(_ limit: Int) throws(SQLiteError) -> Int {
        try idAt.bind(1, integer: Int64(limit - 1))
        defer { idAt.reset() }
        guard try idAt.step() else { return try count() }
        let id = idAt.blob(0)
        let place = id.prefix(8).reversed().reduce(0.0) { ($0 + Double($1)) / 256 }
        return place > 0 ? Int(min(1e15, Double(limit) / place)) : limit
    }

    private func count() throws(SQLiteError) -> Int {
        defer { countAll.reset() }
        return try countAll.step() ? Int(countAll.integer(0)) : 0
    }

    func contains(_ id: [UInt8]) throws(SQLiteError) -> Bool {
        try exists.bind(1, blob: id.span)
        defer { exists.reset() }
        return try exists.step()
    }

    func sealed(_ id: [UInt8]) throws(SQLiteError) -> [UInt8]? {
        try select.bind(1, blob: id.span)
        defer { select.reset() }
        return try select.step() ? select.blob(0) : nil
    }

    /// Rows in the order of their ids, which says nothing about the order they came in.
    func rows(
        after id: [UInt8], limit: Int
    ) throws(SQLiteError) -> [(id: [UInt8], sealed: [UInt8])] {
        try page.bind(1, blob: id.span)
        try page.bind(2, integer: Int64(limit))
        defer { page.reset() }
        var rows: [(id: [UInt8], sealed: [UInt8])] = []
        while try page.step() { rows.append((page.blob(0), page.blob(1))) }
        return rows
    }
}
