import WakeModel
import WakeSQLite
import WakeSodium

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
        deleteIfUnchanged = try database.prepare(
            "DELETE FROM \(table) WHERE id=?1 AND substr(sealed,1,\(SealedBox.nonceBytes))=?2")
        select = try database.prepare("SELECT sealed FROM \(table) WHERE id=?1")
        exists = try database.prepare("SELECT 1 FROM \(table) WHERE id=?1")
        page = try database.prepare(
            "SELECT id,sealed FROM \(table) WHERE id>?1 AND id<=?2 ORDER BY id LIMIT ?3")
        deleteFirst = try database.prepare("DELETE FROM \(table) WHERE id<=?1")
        idAt = try database.prepare("SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET ?1")
        countAll = try database.prepare("SELECT count(*) FROM \(table)")
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
        try add(id.span, sealed.span)
        return overwritten
    }

    /// Writes a row unless there is one with its id.
    func add(_ id: Span<UInt8>, _ sealed: Span<UInt8>) throws(SQLiteError) {
        try insert.bind(1, blob: id)
        try insert.bind(2, blob: sealed)
        try insert.run()
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

    /// Removes up to `rows` rows with the smallest ids, unrelated to their age; returns how many.
    func removeFirst(_ rows: Int) throws(SQLiteError) -> Int {
        let last = try id(at: rows - 1) ?? IDRange.all().through
        // By their place: a list of so many ids costs half as much again.
        try deleteFirst.bind(1, blob: last.span)
        try deleteFirst.run()
        return database.changes
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

    /// Rows of the ranges, in the order of their ids, which says nothing about the order they came
    /// in.
    /// - Parameters:
    ///   - ranges: one or more.
    ///   - limit: rows, 1 or more.
    func page(
        in ranges: [IDRange], limit: Int, memory: PageMemory = PageMemory()
    ) throws(SQLiteError) -> RawPage {
        var left = limit
        var rows = memory.take()
        rows.reserveCapacity(min(limit, Limits.scanRows) * RawPage.rowBytes)
        for (index, range) in ranges.enumerated() {
            let (found, last) = try read(range, left, into: &rows)
            if found == left {
                return RawPage(bytes: rows, ranges: index, last: last, keys: keys)
            }
            left -= found
        }
        return RawPage(bytes: rows, ranges: ranges.count, last: nil, keys: keys)
    }

    /// - Returns: the number of rows, also of damaged ones, which are left out, and the last id.
    private func read(
        _ range: IDRange, _ limit: Int, into rows: inout [UInt8]
    ) throws(SQLiteError) -> (found: Int, last: [UInt8]) {
        try page.bind(1, blob: range.after.span)
        try page.bind(2, blob: range.through.span)
        try page.bind(3, integer: Int64(limit))
        defer { page.reset() }
        var found = 0
        var damaged: [UInt8]?
        while try page.step() {
            found += 1
            let start = rows.count
            page.append(0, to: &rows)
            page.append(1, to: &rows)
            let count = rows.count - start
            damaged = count == RawPage.rowBytes ? nil : page.blob(0)
            if damaged != nil { rows.removeLast(count) }
        }
        return (found, damaged ?? Array(rows.suffix(RawPage.rowBytes).prefix(Limits.idBytes)))
    }
}

/// A connection with its compiled statements: closed as a whole when it is released.
final class StoreConnection {
    let database: Database
    private(set) var current: GenerationTable
    private(set) var previous: GenerationTable
    let begin: Statement
    let commit: Statement
    let mark: Statement
    private let pageCount: Statement
    private let freeCount: Statement

    /// - Parameter database: opened, checked, with its settings in force.
    init(_ database: Database, keys: KeyFile) throws(SQLiteError) {
        self.database = database
        (current, previous) = try Self.tables(keys, in: database)
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        mark = try database.prepare("PRAGMA user_version=\(StoreSchema.version)")
        pageCount = try database.prepare("PRAGMA page_count")
        freeCount = try database.prepare("PRAGMA freelist_count")
    }

    func table(_ generation: Generation) -> GenerationTable {
        generation == .current ? current : previous
    }

    /// Pages of the file that hold something.
    func usedPages() throws(SQLiteError) -> Int {
        try pageCount.singleInteger() - freePages()
    }

    func freePages() throws(SQLiteError) -> Int { try freeCount.singleInteger() }

    func switchKeys(to keys: KeyFile) throws(SQLiteError) {
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

extension Statement {
    /// The integer that the statement yields; 0 for no row.
    fileprivate func singleInteger() throws(SQLiteError) -> Int {
        defer { reset() }
        return try step() ? Int(integer(0)) : 0
    }
}
