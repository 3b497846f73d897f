import WakeFeed
import WakeSQLite

/// A match that waits to be told.
struct PendingMatch: Equatable {
    let match: Match
    /// Times its handler failed.
    var failures: Int
}

extension StateDatabase {
    /// Puts matches into the outbox. One that is there, told or not, stays as it is but for its
    /// sequence: an item that is published again is told once.
    /// - Returns: how many are new.
    func insert(_ matches: [Match]) throws(SQLiteError) -> Int {
        let statement = try database.prepare(
            """
            INSERT INTO match VALUES(?, ?, ?, ?, 0, 0, 0)
            ON CONFLICT(id) DO UPDATE SET sequence=max(sequence, excluded.sequence)
            """)
        let before = try database.integer("SELECT count(*) FROM match") ?? 0
        for match in matches {
            try statement.bind(1, blob: match.id.bytes.span)
            try statement.bind(2, integer: Int64(match.sequence))
            try statement.bind(3, text: match.secretID)
            try statement.bind(4, blob: match.note.span)
            try statement.run()
        }
        return Int((try database.integer("SELECT count(*) FROM match") ?? 0) - before)
    }

    /// The next match whose time has come; nil when none has.
    func nextToTell(now: Int64, skipping: Int = 0) throws(StateError) -> PendingMatch? {
        try read { () throws(SQLiteError) in
            // A clock that was set back must not keep a match waiting for longer than a back-off.
            let statement = try database.prepare(
                """
                SELECT id, secret_id, note, sequence, failures FROM match
                WHERE told=0 AND (not_before<=?1 OR not_before>?1+21600)
                ORDER BY not_before, sequence, id LIMIT 1 OFFSET ?2
                """)
            try statement.bind(1, integer: now)
            try statement.bind(2, integer: Int64(skipping))
            guard try statement.step() else { return nil }
            defer { statement.reset() }
            guard let id = MatchID(bytes: statement.blob(0)) else {
                throw SQLiteError(code: 11)
            }
            return PendingMatch(
                match: Match(
                    id: id, secretID: statement.text(1) ?? "", note: statement.blob(2),
                    sequence: UInt64(statement.integer(3))),
                failures: Int(statement.integer(4)))
        }
    }

    /// When the next match is due, seconds since 1970; nil when none waits.
    func nextTelling() throws(StateError) -> Int64? {
        try read { () throws(SQLiteError) in
            let statement = try database.prepare(
                "SELECT not_before FROM match WHERE told=0 ORDER BY not_before LIMIT 1")
            guard try statement.step() else { return nil }
            defer { statement.reset() }
            return statement.integer(0)
        }
    }

    func countToTell() throws(StateError) -> Int {
        try read { () throws(SQLiteError) in
            Int(try database.integer("SELECT count(*) FROM match WHERE told=0") ?? 0)
        }
    }

    /// The match was told: what is left is a tombstone with its id.
    func markTold(_ id: MatchID, now: Int64) throws(StateError) {
        try write(.told) { () throws(SQLiteError) in
            let statement = try database.prepare(
                "UPDATE match SET told=?, secret_id='', note=x'' WHERE id=?")
            try statement.bind(1, integer: max(now, 1))
            try statement.bind(2, blob: id.bytes.span)
            try statement.run()
        }
    }

    func postpone(_ id: MatchID, failures: Int, until time: Int64) throws(StateError) {
        try write(.telling) { () throws(SQLiteError) in
            let statement = try database.prepare(
                "UPDATE match SET failures=?, not_before=? WHERE id=?")
            try statement.bind(1, integer: Int64(failures))
            try statement.bind(2, integer: time)
            try statement.bind(3, blob: id.bytes.span)
            try statement.run()
        }
    }

    /// Drops tombstones that nothing retained can match any more.
    func dropTombstones(before first: UInt64, toldBefore time: Int64) throws(SQLiteError) {
        let statement = try database.prepare(
            "DELETE FROM match WHERE told<>0 AND told<? AND sequence<?")
        try statement.bind(1, integer: time)
        try statement.bind(2, integer: Int64(first))
        try statement.run()
    }
}
