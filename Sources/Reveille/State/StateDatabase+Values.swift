import FoundationEssentials
import WakeFeed
import WakeSystem

/// The table `state`: bytes, or a value as JSON, and the bytes in it that are secret.
extension StateDatabase {
    enum Key: String {
        /// How far the source was checked, by a feed's cursor or the app's own.
        case cursor, source
        /// The rest of the `FeedRecord`; the log as bytes.
        case feed, log
        /// The newest head that was accepted: one half of the proof, should another one turn up.
        case head
        /// The bytes of the counted day.
        case quota
        case registration, former, distributor, pushTest
    }

    func bytes(_ key: Key) throws(ClientError) -> [UInt8]? {
        try first("SELECT value FROM state WHERE key=?", .text(key.rawValue)) { $0.blob(0) }
    }

    func secret(_ key: Key) throws(ClientError) -> [UInt8] {
        try first("SELECT secret FROM state WHERE key=?", .text(key.rawValue)) { $0.blob(0) } ?? []
    }

    func value<Content: Decodable>(_ key: Key) throws(ClientError) -> Content? {
        guard let bytes = try bytes(key) else { return nil }
        guard let value = try? JSONDecoder().decode(Content.self, from: Data(bytes)) else {
            throw .corruptRow
        }
        return value
    }

    /// For use inside a transaction, as the next ones; nil drops what is there.
    func set(_ key: Key, bytes: [UInt8]?) throws(ClientError) {
        guard let bytes else { return try drop(key) }
        try set(key, .blob(bytes), .blob([]))
    }

    func set(
        _ key: Key, _ value: some Encodable, secret: Value = .blob([])
    ) throws(ClientError) {
        guard let data = try? JSONEncoder().encode(value) else { throw .corruptRow }
        try set(key, .text(String(decoding: data, as: UTF8.self)), secret)
    }

    private func set(_ key: Key, _ value: Value, _ secret: Value) throws(ClientError) {
        try execute(
            "INSERT OR REPLACE INTO state VALUES(?, ?, ?)", .text(key.rawValue), value, secret)
    }

    func drop(_ key: Key) throws(ClientError) {
        try execute("DELETE FROM state WHERE key=?", .text(key.rawValue))
    }

    // MARK: Feed

    /// - Returns: nil before the first `save`.
    func feed() throws(ClientError) -> FeedRecord? {
        guard var record: FeedRecord = try value(.feed) else { return nil }
        if let bytes = try bytes(.cursor) {
            guard let cursor = FeedCursor(decoding: bytes) else { throw .corruptRow }
            record.position = .feed(cursor)
        } else {
            record.position = .app(try bytes(.source).map(DataCursor.init), FeedSettings())
        }
        record.log = try bytes(.log).map { bytes throws(ClientError) in
            guard let log = LogCursor(decoding: bytes) else { throw .corruptRow }
            return log
        }
        return record
    }

    func update(_ record: FeedRecord) throws(ClientError) {
        switch record.position {
        case .feed(let cursor): try set(.cursor, bytes: cursor.encode())
        case .app(let cursor, _): try set(.source, bytes: cursor?.bytes)
        }
        try set(.log, bytes: record.log?.encode())
        try set(.feed, record)
    }

    /// The bytes fetched on the counted day; an unused quota before the first `save`.
    func quota(limit: Int) throws(ClientError) -> DailyQuota {
        var quota = try value(.quota) ?? DailyQuota(limit: limit)
        quota.limit = limit
        return quota
    }

    func save(_ quota: DailyQuota) throws(ClientError) {
        try write { () throws(ClientError) in try set(.quota, quota) }
    }
}
