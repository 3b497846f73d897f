package import WakeModel
import WakeSystem

/// The distributor that brings this profile's pushes, and its random name for the profile.
package struct DistributorRecord: Sendable, Equatable {
    /// The distributor's well-known name on the session bus.
    package let name: String
    /// The connection token: made for this profile and this distributor alone.
    package let token: SecretBytes
}

/// A registration as stored: all of it that is not secret.
private struct KeptRegistration: Codable {
    var address: String
    /// 0 for none.
    var service: UInt8 = 0
    var revision: Int64 = 0
    var isAcknowledged = false
    var failures = 0
    var notBefore: Int64 = 0
    var refusedStatus = 0
    var failure: String?
    /// Of a former one: when it was left.
    var since: Int64 = 0

    init(_ desired: DesiredRegistration, since: Int64 = 0) {
        address = String(decoding: desired.address, as: UTF8.self)
        if case .registered(let token) = desired.kind { service = token.service.rawValue }
        (revision, isAcknowledged) = (desired.revision, desired.isAcknowledged)
        (failures, notBefore) = (desired.failures, desired.notBefore)
        (refusedStatus, self.since) = (desired.refusedStatus, since)
        failure = desired.failure?.text
    }

    /// - Parameter secret: the instance token, and the push token.
    func desired(_ secret: ArraySlice<UInt8>) throws(ClientError) -> DesiredRegistration {
        guard let token = InstanceToken(Array(secret.prefix(InstanceToken.byteCount))) else {
            throw .corruptRow
        }
        var kind = DesiredRegistration.Kind.absent
        if service != 0 {
            let push = PushService(rawValue: service).flatMap {
                try? PushToken(service: $0, bytes: Array(secret.dropFirst(InstanceToken.byteCount)))
            }
            guard let push else { throw .corruptRow }
            kind = .registered(push)
        }
        return DesiredRegistration(
            instanceToken: token, address: Array(address.utf8), kind: kind, revision: revision,
            isAcknowledged: isAcknowledged, failures: failures, notBefore: notBefore,
            refusedStatus: refusedStatus, failure: failure.flatMap(ClientError.init(text:)))
    }
}

/// The desired registration, former ones, and the UnifiedPush distributor.
extension StateDatabase {
    /// - Returns: nil when there is none, and no instance token.
    func registration() throws(ClientError) -> DesiredRegistration? {
        guard let stored: KeptRegistration = try value(.registration) else { return nil }
        return try stored.desired(secret(.registration)[...])
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
        let wasThere = try write { () throws(ClientError) in
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
        let isCurrent = try write { () throws(ClientError) in
            guard try registration()?.revision == revision else { return false }
            if let next { try insert(next) } else { try drop(.registration) }
            return true
        }
        if isCurrent, next == nil { try scrub() }
        return isCurrent
    }

    private func insert(_ desired: DesiredRegistration) throws(ClientError) {
        var bytes = desired.instanceToken.bytes.copy()
        defer { bytes.wipe() }
        if case .registered(let token) = desired.kind {
            token.bytes.withSpan { bytes.append(span: $0) }
        }
        try set(
            .registration, KeptRegistration(desired), secret: .secret(SecretBytes(bytes)))
    }

    // MARK: Former registrations

    /// Seconds after which no service holds a row that nobody renews: two of the longest
    /// generations that an operator can choose (Policy/PRIVACY.md).
    static let longestLife: Int64 = 2 * 90 * 86_400

    /// Registrations that services of earlier configurations may still hold: each keeps its
    /// instance token and address until that service acknowledges the erasure; `revision` is its
    /// number.
    func formerRegistrations() throws(ClientError) -> [DesiredRegistration] {
        try former().map(\.desired)
    }

    private typealias Former = (desired: DesiredRegistration, since: Int64)

    private func former() throws(ClientError) -> [Former] {
        let stored: [KeptRegistration] = try value(.former) ?? []
        let (secrets, count) = (try secret(.former), InstanceToken.byteCount)
        var former: [Former] = []
        for (index, one) in stored.enumerated() {
            former.append((try one.desired(secrets.dropFirst(index * count)), one.since))
        }
        return former
    }

    private func setFormer(_ former: [Former]) throws(ClientError) {
        guard !former.isEmpty else { return try drop(.former) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(former.count * InstanceToken.byteCount)
        defer { bytes.wipe() }
        for one in former {
            one.desired.instanceToken.bytes.withSpan { bytes.append(span: $0) }
        }
        try set(
            .former, former.map { KeptRegistration($0.desired, since: $0.since) },
            secret: .secret(SecretBytes(bytes)))
    }

    /// The number of services that may still hold a registration of an earlier configuration.
    func formerRegistrationCount() throws(ClientError) -> Int { try former().count }

    /// Keeps a registration with a service that is no longer the configured one; for use inside a
    /// transaction.
    private func leave(_ old: DesiredRegistration, now: Int64) throws(ClientError) {
        let former = try former()
        let left = DesiredRegistration(
            instanceToken: old.instanceToken, address: old.address, kind: .absent,
            revision: (former.last?.desired.revision ?? 0) + 1)
        try setFormer(former + [(left, now)])
        try drop(.registration)
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
        _ next: DesiredRegistration?, of attempted: DesiredRegistration
    ) throws(ClientError) {
        try write { () throws(ClientError) in
            try setFormer(
                former().compactMap { one in
                    guard one.desired.instanceToken == attempted.instanceToken else { return one }
                    return next.map { ($0, one.since) }
                })
        }
        if next == nil { try scrub() }
    }

    /// Wipes those that have expired at their services by now, whatever became of these.
    func dropExpiredRegistrations(now: Int64) throws(ClientError) {
        let isHeld = { (one: Former) in one.since >= now - Self.longestLife }
        guard try !former().allSatisfy(isHeld) else { return }
        try write { () throws(ClientError) in
            try setFormer(former().filter(isHeld))
        }
        try scrub()
    }

    // MARK: Distributor

    /// - Returns: nil when no distributor was chosen.
    func distributor() throws(ClientError) -> DistributorRecord? {
        guard let name: String = try value(.distributor) else { return nil }
        return DistributorRecord(name: name, token: SecretBytes(try secret(.distributor)))
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
        try write { () throws(ClientError) in
            try set(.distributor, name, secret: .secret(record.token))
        }
        if known != nil { try scrub() }
        return record
    }

    func dropDistributor() throws(ClientError) {
        guard try distributor() != nil else { return }
        try write { () throws(ClientError) in try drop(.distributor) }
        try scrub()
    }
}
