import WakeModel
import WakeSystem

/// The tables of one generation's file with its keys and its statements, compiled once.
final class GenerationTable {
    let keys: GenerationKeys
    private let insert: Statement
    private let update: Statement
    private let delete: Statement
    private let deleteIfUnchanged: Statement
    private let select: Statement
    private let exists: Statement
    private let page: Statement
    private let idAt: Statement
    private let countAll: Statement
    private let insertMoved: Statement
    private let deleteMoved: Statement
    private let existsMoved: Statement
    private let moved: Statement
    private let deleteFirstMoved: Statement
    private unowned let database: Database

    init(keys: GenerationKeys, in database: Database) throws(SQLiteError) {
        let table = StoreSchema.Table.registration.rawValue
        self.keys = keys
        self.database = database
        insert = try database.prepare(
            "INSERT INTO \(table)(id,sealed) VALUES(?1,?2) ON CONFLICT(id) DO NOTHING")
        update = try database.prepare("UPDATE \(table) SET sealed=?2 WHERE id=?1")
        delete = try database.prepare("DELETE FROM \(table) WHERE id=?1")
        deleteIfUnchanged = try database.prepare(
            "DELETE FROM \(table) WHERE id=?1 AND substr(sealed,1,\(SealedBox.nonceBytes))=?2")
        select = try database.prepare("SELECT sealed FROM \(table) WHERE id=?1")
        exists = try database.prepare("SELECT 1 FROM \(table) WHERE id=?1")
        page = try database.prepare(
            "SELECT id,sealed FROM \(table) WHERE id>?1 AND id<=?2 ORDER BY id LIMIT ?3")
        idAt = try database.prepare("SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET ?1")
        countAll = try database.prepare("SELECT count(*) FROM \(table)")
        insertMoved = try database.prepare(
            "INSERT INTO moved(id) VALUES(?1) ON CONFLICT(id) DO NOTHING")
        deleteMoved = try database.prepare("DELETE FROM moved WHERE id=?1")
        existsMoved = try database.prepare("SELECT 1 FROM moved WHERE id=?1")
        moved = try database.prepare(
            "SELECT id FROM moved WHERE id>?1 AND id<=?2 ORDER BY id LIMIT ?3")
        deleteFirstMoved = try database.prepare("DELETE FROM moved WHERE id<=?1")
    }

    /// Writes the row with the same two statements, new or not; returns whether one was there, nil
    /// when there was none and `ifNew` allows none.
    func put(
        _ id: [UInt8], _ sealed: [UInt8], ifNew: () -> Bool
    ) throws(SQLiteError) -> Bool? {
        try update.bind(1, blob: id.span)
        try update.bind(2, blob: sealed.span)
        try update.run()
        let overwritten = database.changes > 0
        guard overwritten || ifNew() else { return nil }
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

    /// Removes the row unless it was renewed since it was read: then it has another nonce.
    func remove(unchanged row: RowIdentity) throws(SQLiteError) -> Bool {
        try deleteIfUnchanged.bind(1, blob: row.id.span)
        try deleteIfUnchanged.bind(2, blob: row.nonce.span)
        try deleteIfUnchanged.run()
        return database.changes > 0
    }

    /// The number of rows, exact below `limit`. Ids are uniform: the distance of the first gives
    /// the number of all, to 100 / sqrt(limit) per cent.
    func estimate(_ limit: Int) throws(SQLiteError) -> Int {
        guard let id = try id(at: limit - 1) else { return try countAll.singleInteger() }
        let fraction = id.prefix(8).reversed().reduce(0.0) { ($0 + Double($1)) / 256 }
        return fraction > 0 ? Int(min(1e15, Double(limit) / fraction)) : limit
    }

    private func id(at place: Int) throws(SQLiteError) -> [UInt8]? {
        try idAt.bind(1, integer: Int64(place))
        defer { idAt.reset() }
        return try idAt.step() ? idAt.blob(0) : nil
    }

    func contains(_ id: [UInt8]) throws(SQLiteError) -> Bool { try exists.finds(id) }

    func sealed(_ id: [UInt8]) throws(SQLiteError) -> [UInt8]? {
        try select.bind(1, blob: id.span)
        defer { select.reset() }
        return try select.step() ? select.blob(0) : nil
    }

    /// Rows of the ranges, in the order of their ids, which says nothing about the order they came
    /// in.
    /// - Parameters:
    ///   - ranges: one or more.
    ///   - limit: rows, 1 or more.
    ///   - successor: the table whose moved rows are left out.
    func page(
        in ranges: [IDRange], limit: Int, memory: PageMemory = PageMemory(),
        without successor: GenerationTable? = nil
    ) throws(SQLiteError) -> RawPage {
        var left = limit
        var rows = memory.take()
        rows.reserveCapacity(min(limit, Limits.scanRows) * RawPage.rowBytes)
        for (index, range) in ranges.enumerated() {
            let moved = try successor?.moved(in: range) ?? []
            let (found, last) = try read(range, left, without: moved, into: &rows)
            if found == left {
                return RawPage(bytes: rows, ranges: index, last: last, keys: keys)
            }
            left -= found
        }
        return RawPage(bytes: rows, ranges: ranges.count, last: nil, keys: keys)
    }

    /// - Parameter moved: ids of rows that are left out, in their order.
    /// - Returns: the number of rows, also of those left out, as damaged ones are, and the last id.
    private func read(
        _ range: IDRange, _ limit: Int, without moved: [[UInt8]], into rows: inout [UInt8]
    ) throws(SQLiteError) -> (found: Int, last: [UInt8]) {
        try page.bind(1, blob: range.after.span)
        try page.bind(2, blob: range.through.span)
        try page.bind(3, integer: Int64(limit))
        defer { page.reset() }
        var found = 0
        var left: [UInt8]?
        var moved = moved[...]
        while try page.step() {
            found += 1
            let start = rows.count
            page.append(0, to: &rows)
            page.append(1, to: &rows)
            let count = rows.count - start
            left = count == RawPage.rowBytes ? nil : page.blob(0)
            if !moved.isEmpty {
                let id = page.blob(0)
                moved = moved.drop { $0.lexicographicallyPrecedes(id) }
                if moved.first == id { left = id }
            }
            if left != nil { rows.removeLast(count) }
        }
        return (found, left ?? Array(rows.suffix(RawPage.rowBytes).prefix(Limits.idBytes)))
    }

    // MARK: Rows of the generation before that are in this one by now

    func addMoved(_ id: [UInt8]) throws(SQLiteError) {
        try insertMoved.bind(1, blob: id.span)
        try insertMoved.run()
    }

    func removeMoved(_ id: [UInt8]) throws(SQLiteError) {
        try deleteMoved.bind(1, blob: id.span)
        try deleteMoved.run()
    }

    func isMoved(_ id: [UInt8]) throws(SQLiteError) -> Bool { try existsMoved.finds(id) }

    /// In the order of ids.
    func moved(in range: IDRange = .all(), limit: Int = .max) throws(SQLiteError) -> [[UInt8]] {
        try moved.bind(1, blob: range.after.span)
        try moved.bind(2, blob: range.through.span)
        try moved.bind(3, integer: Int64(limit))
        defer { moved.reset() }
        var ids: [[UInt8]] = []
        while try moved.step() { ids.append(moved.blob(0)) }
        return ids
    }

    func removeMoved(through id: [UInt8]) throws(SQLiteError) {
        try deleteFirstMoved.bind(1, blob: id.span)
        try deleteFirstMoved.run()
    }
}

extension Statement {
    /// The integer that the statement yields; 0 for no row.
    func singleInteger() throws(SQLiteError) -> Int {
        defer { reset() }
        return try step() ? Int(integer(0)) : 0
    }

    fileprivate func finds(_ id: [UInt8]) throws(SQLiteError) -> Bool {
        try bind(1, blob: id.span)
        defer { reset() }
        return try step()
    }
}
