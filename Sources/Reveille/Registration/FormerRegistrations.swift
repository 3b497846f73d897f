import WakeModel
import WakeSQLite

/// Registrations that services of earlier configurations may still hold: each keeps its instance
/// token and address until that service acknowledges the erasure.
extension StateDatabase {
    /// Seconds after which no service holds a row that nobody renews: two of the longest
    /// generations that an operator can choose (Policy/PRIVACY.md).
    static let longestLife: Int64 = 2 * 90 * 86_400

    /// Each as a registration whose erasure is desired.
    func formerRegistrations() throws(ClientError) -> [DesiredRegistration] {
        var found: [DesiredRegistration] = []
        while let next = try formerRegistration(after: found.last?.revision ?? 0) {
            found.append(next)
        }
        return found
    }

    /// `revision` is the row's number.
    private func formerRegistration(after id: Int64) throws(ClientError) -> DesiredRegistration? {
        try first(
            """
            SELECT id, instance_token, address, failures, not_before, refused FROM former
            WHERE id > ? ORDER BY id LIMIT 1
            """, id
        ) { row throws(ClientError) in
            guard let instanceToken = InstanceToken(row.blob(1)) else { throw .corruptRow }
            return DesiredRegistration(
                instanceToken: instanceToken, address: row.blob(2), kind: .absent,
                revision: row.integer(0), failures: Int(row.integer(3)),
                notBefore: row.integer(4), refusedStatus: Int(row.integer(5)))
        }
    }

    /// The number of services that may still hold a registration of an earlier configuration.
    func formerRegistrationCount() throws(ClientError) -> Int {
        Int(try integer("SELECT count(*) FROM former") ?? 0)
    }

    /// Keeps a registration with a service that is no longer the configured one; for use inside a
    /// transaction.
    func leave(_ old: DesiredRegistration, now: Int64) throws(ClientError) {
        try execute(
            "INSERT INTO former VALUES(NULL, ?, ?, 0, 0, 0, ?)", .secret(old.instanceToken.bytes),
            .blob(old.address), .integer(now))
        try execute("DELETE FROM registration")
    }

    /// Moves the desired registration to the configured service, under a new instance token. With
    /// none the push token is dropped.
    func moveRegistration(
        to address: [UInt8]?, now: Int64, newToken: @autoclosure () -> InstanceToken
    ) throws(ClientError) {
        guard let old = try registration(), old.address != address else { return }
        let kind = address == nil ? .absent : old.kind
        try replaceRegistration(kind, at: address ?? [], now: now, newToken: newToken())
    }

    /// Stores the outcome of an attempt to erase a former registration; nil wipes it.
    func storeFormer(
        _ next: DesiredRegistration?, of former: DesiredRegistration
    ) throws(ClientError) {
        try write(.acknowledgement) { () throws(ClientError) in
            guard let next else {
                return try execute("DELETE FROM former WHERE id = ?", .integer(former.revision))
            }
            try execute(
                "UPDATE former SET failures = ?, not_before = ?, refused = ? WHERE id = ?",
                .integer(Int64(next.failures)), .integer(next.notBefore),
                .integer(Int64(next.refusedStatus)), .integer(former.revision))
        }
        if next == nil { try scrub() }
    }

    /// Wipes those that have expired at their services by now, whatever became of these.
    func dropExpiredRegistrations(now: Int64) throws(ClientError) {
        let before = now - Self.longestLife
        guard try first("SELECT 1 FROM former WHERE since < ?", before, row: { _ in true }) != nil
        else { return }
        try write(
            .acknowledgement, "DELETE FROM former WHERE since < ?", .integer(before))
        try scrub()
    }
}
