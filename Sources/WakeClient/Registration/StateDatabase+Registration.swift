package import WakeModel
import WakeSQLite
import WakeSystem

/// The distributor that brings this profile's pushes, and the random name under which it knows the
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

/// The desired registration and the UnifiedPush distributor, one row each.
extension StateDatabase {
    /// - Returns: nil when there is none, and no instance token.
    func registration() throws(ClientError) -> DesiredRegistration? {
        try read { () throws(SQLiteError) in try storedRegistration() }
    }

    private func storedRegistration() throws(SQLiteError) -> DesiredRegistration? {
        try first(
            """
            SELECT instance_token, service, push_token, revision, acknowledged, failures,
              not_before, refused FROM registration
            """
        ) { row throws(SQLiteError) in
            guard let instanceToken = InstanceToken(row.blob(0)) else { throw .corruptRow }
            return DesiredRegistration(
                instanceToken: instanceToken,
                kind: try Self.kind(service: row.integer(1), token: row.blob(2)),
                revision: row.integer(3), isAcknowledged: row.integer(4) != 0,
                failures: Int(row.integer(5)), notBefore: row.integer(6),
                refusedStatus: Int(row.integer(7)))
        }
    }

    private static func kind(
        service: Int64, token: [UInt8]
    ) throws(SQLiteError) -> DesiredRegistration.Kind {
        if service == 0 { return .absent }
        guard let service = UInt8(exactly: service).flatMap(PushService.init(rawValue:)),
            let token = try? PushToken(service: service, bytes: token)
        else { throw .corruptRow }
        return .registered(token)
    }

    /// Replaces the desired registration. The instance token of the former one is kept: only an
    /// acknowledged erasure ends it. `absent` stays nothing when nothing is there.
    func replaceRegistration(
        _ kind: DesiredRegistration.Kind, newToken: @autoclosure () -> InstanceToken
    ) throws(ClientError) {
        if kind == .absent, try registration() == nil { return }
        // Read where it is written: of two processes with a first registration, one would lose the
        // instance token under which the other has registered already.
        let wasThere = try write(.registration) { () throws(SQLiteError) in
            let old = try storedRegistration()
            if old == nil, kind == .absent { return false }
            try insert(
                DesiredRegistration(
                    instanceToken: old?.instanceToken ?? newToken(), kind: kind,
                    revision: (old?.revision ?? 0) + 1))
            return old != nil
        }
        // The push token that was replaced must not stay behind in free space.
        if wasThere { try scrub() }
    }

    /// Stores the outcome of an attempt, unless the desired registration changed meanwhile.
    /// - Parameter next: nil wipes everything about the registration.
    /// - Returns: whether it was stored.
    func store(
        _ next: DesiredRegistration?, ifRevision revision: Int64
    ) throws(ClientError) -> Bool {
        let isCurrent = try write(.acknowledgement) { () throws(SQLiteError) in
            guard try database.integer("SELECT revision FROM registration") == revision else {
                return false
            }
            if let next {
                try insert(next)
            } else {
                try database.execute("DELETE FROM registration")
            }
            return true
        }
        if isCurrent, next == nil { try scrub() }
        return isCurrent
    }

    private func insert(_ desired: DesiredRegistration) throws(SQLiteError) {
        let statement = try database.prepare(
            "INSERT OR REPLACE INTO registration VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?)")
        try desired.instanceToken.bytes.withSpan { (bytes) throws(SQLiteError) in
            try statement.bind(1, blob: bytes)
        }
        switch desired.kind {
        case .absent:
            try statement.bind(2, integer: 0)
            try statement.bind(3, blob: Span())
        case .registered(let token):
            try statement.bind(2, integer: Int64(token.service.rawValue))
            try token.bytes.withSpan { (bytes) throws(SQLiteError) in
                try statement.bind(3, blob: bytes)
            }
        }
        try statement.bind(4, integer: desired.revision)
        try statement.bind(5, integer: desired.isAcknowledged ? 1 : 0)
        try statement.bind(6, integer: Int64(desired.failures))
        try statement.bind(7, integer: desired.notBefore)
        try statement.bind(8, integer: Int64(desired.refusedStatus))
        try statement.run()
    }

    // MARK: Distributor

    /// - Returns: nil when no distributor was chosen.
    func distributor() throws(ClientError) -> DistributorRecord? {
        try read { () throws(SQLiteError) in
            try first("SELECT name, token FROM distributor") { row in
                DistributorRecord(name: row.text(0) ?? "", token: SecretBytes(row.blob(1)))
            }
        }
    }

    /// The record for this name: the one that is there, or a new one in its place.
    func distributor(
        named name: String, random: (Int) -> [UInt8]
    ) throws(ClientError) -> DistributorRecord {
        let known = try distributor()
        if let known, known.name == name { return known }
        // 256 bits as 43 characters: far more than can be guessed, and under the 100 bytes that a
        // distributor must bear (UnifiedPush D-Bus 0.3.0, "Resources").
        var bytes = random(32)
        defer { bytes.wipe() }
        var text = Base64URL.encode(bytes.span)
        defer { text.wipe() }
        let record = DistributorRecord(name: name, token: SecretBytes(text))
        try write(.distributor) { () throws(SQLiteError) in
            let statement = try database.prepare(
                "INSERT OR REPLACE INTO distributor VALUES(1, ?, ?)")
            try statement.bind(1, text: record.name)
            try record.token.withSpan { (bytes) throws(SQLiteError) in
                try statement.bind(2, blob: bytes)
            }
            try statement.run()
        }
        if known != nil { try scrub() }
        return record
    }

    func dropDistributor() throws(ClientError) {
        guard try distributor() != nil else { return }
        try write(.distributor) { () throws(SQLiteError) in
            try database.execute("DELETE FROM distributor")
        }
        try scrub()
    }
}
