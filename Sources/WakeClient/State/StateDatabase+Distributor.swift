package import WakeModel
import WakeSQLite

/// Who brings this profile's pushes, and the random name under which that program knows the
/// profile.
package struct DistributorRecord: Sendable, Equatable {
    /// The distributor's well-known name on the session bus.
    package let name: String
    /// The connection token: made for this profile and this distributor alone.
    package let token: SecretBytes

    package init(name: String, token: SecretBytes) {
        self.name = name
        self.token = token
    }
}

extension StateDatabase {
    /// - Returns: nil when no distributor was chosen.
    func distributor() throws(StateError) -> DistributorRecord? {
        try read { () throws(SQLiteError) in
            let row = try database.prepare("SELECT name, token FROM distributor")
            guard try row.step() else { return nil }
            defer { row.reset() }
            return DistributorRecord(name: row.text(0) ?? "", token: SecretBytes(row.blob(1)))
        }
    }

    /// The record for this name: the one that is there, or a new one in its place.
    func distributor(
        named name: String, random: (Int) -> [UInt8]
    ) throws(StateError) -> DistributorRecord {
        if let known = try distributor(), known.name == name { return known }
        // 256 bits as 43 characters: far more than can be guessed, and under the 100 bytes that a
        // distributor must bear (UnifiedPush D-Bus 0.3.0, "Resources").
        var bytes = random(32)
        defer { wipe(&bytes) }
        var text = Base64URL.encode(bytes.span)
        defer { wipe(&text) }
        let record = DistributorRecord(name: name, token: SecretBytes(text))
        try keep(record)
        return record
    }

    /// Takes the place of the one before, of which nothing stays.
    private func keep(_ distributor: DistributorRecord) throws(StateError) {
        let isReplaced = try self.distributor() != nil
        try write(.distributor) { () throws(SQLiteError) in
            let statement = try database.prepare(
                "INSERT OR REPLACE INTO distributor VALUES(1, ?, ?)")
            try statement.bind(1, text: distributor.name)
            try distributor.token.withSpan { (bytes) throws(SQLiteError) in
                try statement.bind(2, blob: bytes)
            }
            try statement.run()
        }
        if isReplaced { try scrub() }
    }

    /// - Returns: whether there was one.
    @discardableResult
    func dropDistributor() throws(StateError) -> Bool {
        guard try distributor() != nil else { return false }
        try write(.distributor) { () throws(SQLiteError) in
            try database.execute("DELETE FROM distributor")
        }
        try scrub()
        return true
    }
}
