import WakeFeed
import WakeSQLite

/// The feed's row and newest head, the cursor of an app's own source, the bytes of the counted day.
extension StateDatabase {
    /// - Returns: nil before the first `save`.
    func feed() throws(ClientError) -> FeedRecord? {
        try first(
            """
            SELECT cursor, directives_seen, verified, has_verified, warned_days, trouble,
              trouble_since, trouble_warned, forked, warned, generation, checked, has_checked,
              named, missing, log FROM feed
            """
        ) { row throws(ClientError) in
            let health = FeedHealth(
                verified: row.integer(2), hasVerified: row.integer(3) != 0,
                checked: row.integer(11), hasChecked: row.integer(12) != 0,
                warnedDays: Int(row.integer(4)),
                trouble: FeedHealth.Trouble(rawValue: row.integer(5)),
                troubleSince: row.integer(6), hasWarnedOfTrouble: row.integer(7) != 0)
            var record = FeedRecord(
                position: try position(row.blob(0)), directivesSeen: row.integer(1),
                health: health, isForked: row.integer(8) != 0,
                warned: FeedRecord.Warned(rawValue: row.integer(9)),
                generation: row.isNull(10) ? nil : UInt64(bitPattern: row.integer(10)),
                newestNamed: UInt64(clamping: row.integer(13)))
            guard record.decodeMissing(row.blob(14)) else { throw .corruptRow }
            if !row.isNull(15) {
                guard let log = LogCursor(decoding: row.blob(15)) else { throw .corruptRow }
                record.log = log
            }
            return record
        }
    }

    func update(_ record: FeedRecord) throws(ClientError) {
        var position: [UInt8] = []
        switch record.position {
        case .feed(let cursor): position = cursor.encode()
        case .app(let cursor?, _):
            try execute("INSERT OR REPLACE INTO source VALUES(1, ?)", .blob(cursor.bytes))
        case .app(nil, _): try execute("DELETE FROM source")
        }
        let health = record.health
        try execute(
            """
            INSERT OR REPLACE INTO feed VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            .blob(position), .integer(record.directivesSeen), .integer(health.verified),
            .flag(health.hasVerified), .integer(Int64(health.warnedDays)),
            .integer(health.trouble?.rawValue ?? 0), .integer(health.troubleSince),
            .flag(health.hasWarnedOfTrouble), .flag(record.isForked),
            .integer(record.warned.rawValue),
            record.generation.map { .integer(Int64(bitPattern: $0)) } ?? .null,
            .integer(health.checked), .flag(health.hasChecked),
            .integer(Int64(record.newestNamed)), .blob(record.encodedMissing),
            record.log.map { .blob($0.encode()) } ?? .null)
    }

    /// The newest head that was accepted: one half of the proof, should another one turn up.
    func head() throws(ClientError) -> [UInt8]? {
        try first("SELECT bytes FROM head") { $0.blob(0) }
    }

    func update(head: [UInt8]) throws(ClientError) {
        try execute("INSERT OR REPLACE INTO head VALUES(1, ?)", .blob(head))
    }

    /// The cursor of a feed is never empty: no bytes stand for a source of the app's own.
    private func position(_ bytes: [UInt8]) throws(ClientError) -> FeedRecord.Position {
        if bytes.isEmpty {
            let cursor = try first("SELECT cursor FROM source") { DataCursor($0.blob(0)) }
            return .app(cursor, FeedSettings())
        }
        guard let cursor = FeedCursor(decoding: bytes) else { throw .corruptRow }
        return .feed(cursor)
    }

    // MARK: Daily quota

    /// The bytes fetched on the counted day; an unused quota before the first `save`.
    func quota(limit: Int) throws(ClientError) -> DailyQuota {
        try first("SELECT day, bytes, waiting FROM traffic") { row in
            DailyQuota(
                limit: limit, day: row.integer(0), bytes: Int(row.integer(1)),
                waiting: Int(row.integer(2)))
        } ?? DailyQuota(limit: limit)
    }

    func save(_ quota: DailyQuota) throws(ClientError) {
        try write(
            .traffic, "INSERT OR REPLACE INTO traffic VALUES(1, ?, ?, ?)", .integer(quota.day),
            .integer(Int64(quota.bytes)), .integer(Int64(quota.waiting)))
    }
}
