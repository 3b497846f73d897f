import WakeFeed
import WakeSQLite

/// A match that waits for its delivery, and the number of times that its handler failed.
typealias PendingMatch = (match: Match, failures: Int)

/// Matches and warnings that wait for their delivery, and tombstones of delivered matches.
extension StateDatabase {
    // MARK: Matches

    /// Puts matches into the outbox; returns the number of new ones. One that is there, delivered
    /// or not, keeps all but its sequence: an item that is published again is delivered once.
    func insert(_ matches: [Match]) throws(ClientError) -> Int {
        let before = try integer("SELECT count(*) FROM match") ?? 0
        try execute(
            """
            INSERT INTO match VALUES(?, ?, ?, ?, 0, 0, 0)
            ON CONFLICT(id) DO UPDATE SET sequence=max(sequence, excluded.sequence)
            """,
            rows: matches.map {
                [
                    .blob($0.id.bytes), .integer(Int64($0.sequence)), .text($0.secretID),
                    .blob($0.note),
                ]
            })
        return Int((try integer("SELECT count(*) FROM match") ?? 0) - before)
    }

    /// The next match that is due, after `skipped` others; nil when none is.
    func nextMatch(now: Int64, skipping skipped: Int) throws(ClientError) -> PendingMatch? {
        // A clock that was set back must not keep a match waiting for longer than a back-off.
        try first(
            """
            SELECT id, secret_id, note, sequence, failures FROM match
            WHERE delivered=0 AND (not_before<=?1 OR not_before>?1+21600)
            ORDER BY not_before, sequence, id LIMIT 1 OFFSET ?2
            """, now, Int64(skipped)
        ) { row throws(ClientError) in
            guard let id = MatchID(bytes: row.blob(0)) else { throw .corruptRow }
            let match = Match(
                id: id, secretID: row.text(1) ?? "", note: row.blob(2),
                sequence: UInt64(row.integer(3)))
            return (match, Int(row.integer(4)))
        }
    }

    /// The time at which the next match is due, seconds since 1970; nil when none waits.
    func nextDelivery() throws(ClientError) -> Int64? {
        try integer("SELECT not_before FROM match WHERE delivered=0 ORDER BY not_before LIMIT 1")
    }

    func undeliveredCount() throws(ClientError) -> Int {
        Int(try integer("SELECT count(*) FROM match WHERE delivered=0") ?? 0)
    }

    /// Leaves a tombstone with the id of a delivered match.
    func markDelivered(_ id: MatchID, now: Int64) throws(ClientError) {
        try write(
            .delivery, "UPDATE match SET delivered=?, secret_id='', note=x'' WHERE id=?",
            .integer(max(now, 1)), .blob(id.bytes))
    }

    func postpone(_ id: MatchID, failures: Int, until time: Int64) throws(ClientError) {
        try write(
            .postponement, "UPDATE match SET failures=?, not_before=? WHERE id=?",
            .integer(Int64(failures)), .integer(time), .blob(id.bytes))
    }

    /// Drops tombstones that nothing retained can match any more.
    func dropTombstones(before first: UInt64, deliveredBefore time: Int64) throws(ClientError) {
        try execute(
            "DELETE FROM match WHERE delivered<>0 AND delivered<? AND sequence<?",
            .integer(time), .integer(Int64(first)))
    }

    // MARK: Warnings

    func insert(_ warnings: [Warning]) throws(ClientError) {
        let rows = warnings.map { warning -> [Value] in
            let (code, first, second) = warning.row
            return [.integer(code), .integer(first), .integer(second)]
        }
        try execute("INSERT INTO warning(code, first, second) VALUES(?, ?, ?)", rows: rows)
    }

    func nextWarning() throws(ClientError) -> (id: Int64, warning: Warning)? {
        try first(
            "SELECT id, code, first, second FROM warning ORDER BY id LIMIT 1"
        ) { row throws(ClientError) in
            let columns = (row.integer(1), row.integer(2), row.integer(3))
            guard let warning = Warning(row: columns) else { throw .corruptRow }
            return (row.integer(0), warning)
        }
    }

    func dropRefusalWarnings() throws(ClientError) {
        let code = Warning.registrationRefused(status: 0).row.0
        try write(.warning, "DELETE FROM warning WHERE code=?", .integer(code))
    }

    func dropWarning(_ id: Int64) throws(ClientError) {
        try write(.warning, "DELETE FROM warning WHERE id=?", .integer(id))
    }
}

/// The columns of a warning: its number and up to two values.
extension Warning {
    /// Warnings without a value.
    private static let plain: [Int64: Warning] = [
        4: .stale, 6: .badFeed, 7: .rollback, 8: .stateReset, 9: .diskFull, 10: .retired,
        12: .cacheFull,
    ]

    fileprivate var row: (Int64, Int64, Int64) {
        switch self {
        case .silence(let days): (1, Int64(days), 0)
        case .fork(let sequence): (2, Int64(sequence), 0)
        case .gap(let first, let last): (3, Int64(first), Int64(last))
        case .clockSkew(let seconds): (5, seconds, 0)
        case .registrationRefused(let status): (11, Int64(status), 0)
        case .distributorFails(let trouble): (13, trouble.rawValue, 0)
        case .stale, .badFeed, .rollback, .stateReset, .diskFull, .retired, .cacheFull:
            (Self.plain.first { $0.value == self }?.key ?? 0, 0, 0)
        }
    }

    fileprivate init?(row: (Int64, Int64, Int64)) {
        let first = UInt64(clamping: row.1)
        switch row.0 {
        case 1: self = .silence(days: Int(row.1))
        case 2: self = .fork(sequence: first)
        case 3: self = .gap(first: first, last: UInt64(clamping: row.2))
        case 5: self = .clockSkew(seconds: row.1)
        case 11: self = .registrationRefused(status: Int(row.1))
        case 13:
            guard let trouble = DistributorTrouble(rawValue: row.1) else { return nil }
            self = .distributorFails(trouble)
        default:
            guard let plain = Self.plain[row.0] else { return nil }
            self = plain
        }
    }
}
