import FoundationEssentials
import WakeFeed
import WakeSystem

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
                    $0.noteBytes.map { Value.blob($0) } ?? .null,
                ]
            })
        return Int((try integer("SELECT count(*) FROM match") ?? 0) - before)
    }

    /// The next match that is due and not one of `excluded`; nil when none is.
    func nextMatch(
        now: Int64, excluding excluded: Set<MatchID>
    ) throws(ClientError) -> Match? {
        // A clock that was set back must not keep a match waiting for longer than a back-off.
        let found = try first(
            """
            SELECT id, secret_id, note, sequence FROM match
            WHERE delivered=0 AND (not_before<=?1 OR not_before>?1+21600)
            ORDER BY not_before, sequence, id
            """, .integer(now)
        ) { row throws(ClientError) -> Match? in
            repeat {
                guard let id = MatchID(bytes: row.blob(0)) else { throw .corruptRow }
                if !excluded.contains(id) {
                    return Match(
                        id: id, secretID: row.text(1) ?? "",
                        noteBytes: row.isNull(2) ? nil : row.blob(2),
                        sequence: UInt64(row.integer(3)))
                }
            } while try mapError(ClientError.init, { () throws(SQLiteError) in try row.step() })
            return nil
        }
        return found ?? nil
    }

    /// The time at which the next match is due, seconds since 1970; nil when none waits but those
    /// that are `excluded`.
    func nextDelivery(excluding excluded: Set<MatchID>) throws(ClientError) -> Int64? {
        let found = try first(
            "SELECT id, not_before FROM match WHERE delivered=0 ORDER BY not_before"
        ) { row throws(ClientError) -> Int64? in
            repeat {
                guard let id = MatchID(bytes: row.blob(0)) else { throw .corruptRow }
                if !excluded.contains(id) { return row.integer(1) }
            } while try mapError(ClientError.init, { () throws(SQLiteError) in try row.step() })
            return nil
        }
        return found ?? nil
    }

    func undeliveredCount() throws(ClientError) -> Int {
        Int(try integer("SELECT count(*) FROM match WHERE delivered=0") ?? 0)
    }

    /// Leaves a tombstone with the id of a delivered match; the rest may still lie in the log.
    func markDelivered(_ id: MatchID, now: Int64) throws(ClientError) {
        try write(
            "UPDATE match SET delivered=?, secret_id='', note=x'' WHERE id=?",
            .integer(max(now, 1)), .blob(id.bytes))
    }

    /// What became of a match so far; nil when there is none of this id.
    func progress(of id: MatchID) throws(ClientError) -> (isDelivered: Bool, failures: Int)? {
        try first("SELECT delivered, failures FROM match WHERE id=?", .blob(id.bytes)) {
            ($0.integer(0) != 0, Int($0.integer(1)))
        }
    }

    func deliveredMatches(limit: Int) throws(ClientError) -> [MatchID] {
        var ids: [MatchID] = []
        try first(
            "SELECT id FROM match WHERE delivered<>0 ORDER BY delivered DESC, id LIMIT ?",
            .integer(Int64(limit))
        ) { row throws(ClientError) in
            repeat {
                guard let id = MatchID(bytes: row.blob(0)) else { throw .corruptRow }
                ids.append(id)
            } while try mapError(ClientError.init, { () throws(SQLiteError) in try row.step() })
        }
        return ids
    }

    func dropBackoffs() throws(ClientError) {
        let waiting = "delivered=0 AND not_before<>0"
        guard try integer("SELECT count(*) FROM match WHERE \(waiting)") ?? 0 > 0 else { return }
        try write("UPDATE match SET not_before=0 WHERE \(waiting)")
    }

    /// The name of the secret of a planted match: no secret of a `SecretDirectory` can have it.
    static let testSecret = "(test)"

    /// Drops planted matches: this one, and those of a process that died.
    func dropTests(_ id: MatchID? = nil) throws(ClientError) {
        let count = try integer("SELECT count(*) FROM match WHERE secret_id='\(Self.testSecret)'")
        if id == nil, count == 0 { return }
        try write(
            "DELETE FROM match WHERE id=? OR secret_id='\(Self.testSecret)'",
            .blob(id?.bytes ?? []))
    }

    func postpone(_ id: MatchID, failures: Int, until time: Int64) throws(ClientError) {
        try write(
            "UPDATE match SET failures=?, not_before=? WHERE id=?",
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
        try execute(
            "INSERT INTO warning(code, number, first, last, since) VALUES(?, ?, ?, ?, ?)",
            rows: warnings.map { warning -> [Value] in
                let values = warning.values
                return [
                    .text(warning.code), .integer(values.number),
                    .integer(Int64(clamping: values.first)), .integer(Int64(clamping: values.last)),
                    .integer(values.since),
                ]
            })
    }

    /// The oldest warning that is not one of `excluded`; nil when there is none.
    func nextWarning(
        excluding excluded: Set<Int64>
    ) throws(ClientError) -> (id: Int64, warning: Warning)? {
        let found = try first(
            "SELECT id, code, number, first, last, since FROM warning ORDER BY id"
        ) { row throws(ClientError) -> (id: Int64, warning: Warning)? in
            repeat {
                guard !excluded.contains(row.integer(0)) else { continue }
                let values = Warning.Values(
                    number: row.integer(2), first: UInt64(clamping: row.integer(3)),
                    last: UInt64(clamping: row.integer(4)), since: row.integer(5))
                guard let warning = Warning(code: row.text(1) ?? "", values) else {
                    throw .corruptRow
                }
                return (row.integer(0), warning)
            } while try mapError(ClientError.init, { () throws(SQLiteError) in try row.step() })
            return nil
        }
        return found ?? nil
    }

    func dropRefusalWarnings() throws(ClientError) {
        let code = Warning.registrationRefused(status: 0).code
        try write("DELETE FROM warning WHERE code=?", .text(code))
    }

    func dropWarning(_ id: Int64) throws(ClientError) {
        try write("DELETE FROM warning WHERE id=?", .integer(id))
    }
}
