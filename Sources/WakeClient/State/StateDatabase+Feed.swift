import WakeFeed
import WakeSQLite

extension StateDatabase {
    /// - Returns: nil before the first `save`.
    func feed() throws(StateError) -> FeedRecord? {
        try read { () throws(SQLiteError) in
            let row = try database.prepare(
                """
                SELECT cursor, orders_seen, verified, has_verified, warned_days, trouble,
                  trouble_since, trouble_warned, forked, warned, generation FROM feed
                """)
            guard try row.step() else { return nil }
            defer { row.reset() }
            let position = try position(row.blob(0))
            var watch = Watch(start: row.integer(2))
            watch.hasVerified = row.integer(3) != 0
            watch.warnedDays = Int(row.integer(4))
            watch.trouble = Watch.Trouble(rawValue: row.integer(5))
            watch.troubleSince = row.integer(6)
            watch.hasWarnedOfTrouble = row.integer(7) != 0
            return FeedRecord(
                position: position, ordersSeen: row.integer(1), watch: watch,
                isForked: row.integer(8) != 0,
                warned: FeedRecord.Warned(rawValue: row.integer(9)),
                generation: row.isNull(10) ? nil : UInt64(bitPattern: row.integer(10)))
        }
    }

    /// No bytes of a feed's cursor stand for a source of the app's own.
    private func position(_ bytes: [UInt8]) throws(SQLiteError) -> FeedRecord.Position {
        if bytes.isEmpty { return .own(try sourceCursor(), FeedSettings()) }
        guard let cursor = FeedCursor(decoding: bytes) else {
            throw SQLiteError(code: 11)  // SQLITE_CORRUPT
        }
        return .feed(cursor)
    }

    /// Stores the record with what follows from it, as one step: a crash leaves all or nothing.
    /// - Returns: how many matches are new.
    @discardableResult
    func save(
        _ record: FeedRecord, matches: [Match] = [], warnings: [Warning] = [],
        dropBefore: (sequence: UInt64, time: Int64)? = nil, as name: StatePoint.Write
    ) throws(StateError) -> Int {
        try write(name) { () throws(SQLiteError) in
            try update(record)
            let new = try insert(matches)
            for warning in warnings { try insert(warning) }
            if let dropBefore {
                try dropTombstones(before: dropBefore.sequence, toldBefore: dropBefore.time)
            }
            return new
        }
    }

    private func update(_ record: FeedRecord) throws(SQLiteError) {
        let statement = try database.prepare(
            "INSERT OR REPLACE INTO feed VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let watch = record.watch
        switch record.position {
        case .feed(let cursor): try statement.bind(1, blob: cursor.encode().span)
        case .own(let cursor, _):
            try statement.bind(1, blob: Span())
            try update(sourceCursor: cursor)
        }
        try statement.bind(2, integer: record.ordersSeen)
        try statement.bind(3, integer: watch.verified)
        try statement.bind(4, integer: watch.hasVerified ? 1 : 0)
        try statement.bind(5, integer: Int64(watch.warnedDays))
        try statement.bind(6, integer: watch.trouble?.rawValue ?? 0)
        try statement.bind(7, integer: watch.troubleSince)
        try statement.bind(8, integer: watch.hasWarnedOfTrouble ? 1 : 0)
        try statement.bind(9, integer: record.isForked ? 1 : 0)
        try statement.bind(10, integer: record.warned.rawValue)
        if let generation = record.generation {
            try statement.bind(11, integer: Int64(bitPattern: generation))
        } else {
            try statement.bindNull(11)
        }
        try statement.run()
    }

    // MARK: Warnings that wait to be told

    private func insert(_ warning: Warning) throws(SQLiteError) {
        let statement = try database.prepare(
            "INSERT INTO warning(code, first, second) VALUES(?, ?, ?)")
        let (code, first, second) = warning.row
        try statement.bind(1, integer: code)
        try statement.bind(2, integer: first)
        try statement.bind(3, integer: second)
        try statement.run()
    }

    /// The oldest warning that was not told; nil when none waits.
    func nextWarning() throws(StateError) -> (id: Int64, warning: Warning)? {
        try read { () throws(SQLiteError) in
            let row = try database.prepare(
                "SELECT id, code, first, second FROM warning ORDER BY id LIMIT 1")
            guard try row.step() else { return nil }
            defer { row.reset() }
            guard
                let warning = Warning(
                    row: (row.integer(1), row.integer(2), row.integer(3)))
            else { throw SQLiteError(code: 11) }
            return (row.integer(0), warning)
        }
    }

    func dropRefusalWarnings() throws(StateError) {
        try write(.warning) { () throws(SQLiteError) in
            let code = Warning.registrationRefused(status: 0).row.0
            try database.execute("DELETE FROM warning WHERE code=\(code)")
        }
    }

    func dropWarning(_ id: Int64) throws(StateError) {
        try write(.warning) { () throws(SQLiteError) in
            let statement = try database.prepare("DELETE FROM warning WHERE id=?")
            try statement.bind(1, integer: id)
            try statement.run()
        }
    }
}

/// How warnings lie in their table.
extension Warning {
    fileprivate var row: (Int64, Int64, Int64) {
        switch self {
        case .silence(let days): (1, Int64(days), 0)
        case .fork(let sequence): (2, Int64(sequence), 0)
        case .gap(let first, let last): (3, Int64(first), Int64(last))
        case .stale: (4, 0, 0)
        case .clockSkew(let seconds): (5, seconds, 0)
        case .badFeed: (6, 0, 0)
        case .rollback: (7, 0, 0)
        case .stateReset: (8, 0, 0)
        case .diskFull: (9, 0, 0)
        case .retired: (10, 0, 0)
        case .registrationRefused(let status): (11, Int64(status), 0)
        case .cacheFull: (12, 0, 0)
        case .distributorFails(let trouble): (13, trouble.rawValue, 0)
        }
    }

    fileprivate init?(row: (Int64, Int64, Int64)) {
        let first = UInt64(clamping: row.1)
        switch row.0 {
        case 1: self = .silence(days: Int(row.1))
        case 2: self = .fork(sequence: first)
        case 3: self = .gap(first: first, last: UInt64(clamping: row.2))
        case 4: self = .stale
        case 5: self = .clockSkew(seconds: row.1)
        case 6: self = .badFeed
        case 7: self = .rollback
        case 8: self = .stateReset
        case 9: self = .diskFull
        case 10: self = .retired
        case 11: self = .registrationRefused(status: Int(row.1))
        case 12: self = .cacheFull
        case 13:
            guard let trouble = DistributorTrouble(rawValue: row.1) else { return nil }
            self = .distributorFails(trouble)
        default: return nil
        }
    }
}
