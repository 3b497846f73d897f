package import WakeModel
import WakeSQLite
import WakeSystem

/// The distributor that brings this profile's pushes, and its random name for the profile.
package struct DistributorRecord: Sendable, Equatable {
    /// The distributor's well-known name on the session bus.
    package let name: String
    /// The connection token: made for this profile and this distributor alone.
    package let token: SecretBytes
}

/// The desired registration and the UnifiedPush distributor, one row each.
extension StateDatabase {
    /// - Returns: nil when there is none, and no instance token.
    func registration() throws(ClientError) -> DesiredRegistration? {
        try first(
            """
            SELECT instance_token, service, push_token, revision, acknowledged, failures,
              not_before, refused, address FROM registration
            """
        ) { row throws(ClientError) in
            guard let instanceToken = InstanceToken(row.blob(0)) else { throw .corruptRow }
            return DesiredRegistration(
                instanceToken: instanceToken, address: row.blob(8),
                kind: try Self.kind(service: row.integer(1), token: row.blob(2)),
                revision: row.integer(3), isAcknowledged: row.integer(4) != 0,
                failures: Int(row.integer(5)), notBefore: row.integer(6),
                refusedStatus: Int(row.integer(7)))
        }
    }

    private static func kind(
        service: Int64, token: [UInt8]
    ) throws(ClientError) -> DesiredRegistration.Kind {
        if service == 0 { return .absent }
        guard let service = UInt8(exactly: service).flatMap(PushService.init(rawValue:)),
            let token = try? PushToken(service: service, bytes: token)
        else { throw .corruptRow }
        return .registered(token)
    }

    /// Replaces the desired registration. The instance token of the one before is kept: only an
    /// acknowledged erasure ends it. One with another service than that of `address` becomes a
    /// former registration. `absent` stays nothing when nothing is there.
    func replaceRegistration(
        _ kind: DesiredRegistration.Kind, at address: [UInt8], now: Int64,
        newToken: @autoclosure () -> InstanceToken
    ) throws(ClientError) {
        if kind == .absent, try registration() == nil { return }
        // Read where it is written: of two processes with a first registration, one would lose the
        // instance token under which the other has registered already.
        let wasThere = try write(.registration) { () throws(ClientError) in
            let old = try registration()
            let isHere = old?.address == address
            if let old, !isHere { try leave(old, now: now) }
            if kind == .absent, !isHere { return old != nil }
            try insert(
                DesiredRegistration(
                    instanceToken: isHere ? old?.instanceToken ?? newToken() : newToken(),
                    address: address, kind: kind, revision: (old?.revision ?? 0) + 1))
            return old != nil
        }
        // The push token that was replaced must not stay behind in free space.
        if wasThere { try scrub() }
    }

    /// Stores the outcome of an attempt, unless the desired registration changed meanwhile; returns
    /// whether it did. A `next` of nil wipes everything about the registration.
    func store(
        _ next: DesiredRegistration?, ifRevision revision: Int64
    ) throws(ClientError) -> Bool {
        let isCurrent = try write(.acknowledgement) { () throws(ClientError) in
            guard try integer("SELECT revision FROM registration") == revision else { return false }
            if let next { try insert(next) } else { try execute("DELETE FROM registration") }
            return true
        }
        if isCurrent, next == nil { try scrub() }
        return isCurrent
    }

    private func insert(_ desired: DesiredRegistration) throws(ClientError) {
        let (service, pushToken): (UInt8, Value) =
            switch desired.kind {
            case .absent: (0, .blob([]))
            case .registered(let token): (token.service.rawValue, .secret(token.bytes))
            }
        try execute(
            "INSERT OR REPLACE INTO registration VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            .secret(desired.instanceToken.bytes), .integer(Int64(service)), pushToken,
            .integer(desired.revision), .flag(desired.isAcknowledged),
            .integer(Int64(desired.failures)), .integer(desired.notBefore),
            .integer(Int64(desired.refusedStatus)), .blob(desired.address))
    }

    // MARK: Distributor

    /// - Returns: nil when no distributor was chosen.
    func distributor() throws(ClientError) -> DistributorRecord? {
        try first("SELECT name, token FROM distributor") { row in
            DistributorRecord(name: row.text(0) ?? "", token: SecretBytes(row.blob(1)))
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
        try write(
            .distributor, "INSERT OR REPLACE INTO distributor VALUES(1, ?, ?)",
            .text(record.name), .secret(record.token))
        if known != nil { try scrub() }
        return record
    }

    func dropDistributor() throws(ClientError) {
        guard try distributor() != nil else { return }
        try write(.distributor, "DELETE FROM distributor")
        try scrub()
    }
}
