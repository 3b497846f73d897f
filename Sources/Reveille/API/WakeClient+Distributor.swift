package import WakeFeed
import WakeFetch

/// The interface for programs of this package: the UnifiedPush connector and the command line.
extension WakeClient {
    // MARK: UnifiedPush

    /// The profile's distributor. Another name than the one before gets a new connection token.
    package func distributor(named name: String) throws(ClientError) -> DistributorRecord {
        try profile.database.distributor(named: name, random: environment.randomBytes)
    }

    /// The distributor that `distributor(named:)` would replace.
    package func distributor(before name: String) throws(ClientError) -> DistributorRecord? {
        let known = try profile.database.distributor()
        return known?.name == name ? nil : known
    }

    /// True while the profile has this distributor: another process may have given it up.
    package func has(_ distributor: DistributorRecord) throws(ClientError) -> Bool {
        try profile.database.distributor() == distributor
    }

    /// Registers this endpoint, unless that is desired already. No request is made here.
    package func adopt(
        _ endpoint: AppPushToken, from distributor: DistributorRecord
    ) throws(ClientError) -> EndpointUse {
        guard registration.canRegister else { throw .configuration(.serviceMissing) }
        guard try has(distributor), !profile.record.directives.isRetired else { return .unwanted }
        if try desiredToken() == endpoint { return .known }
        try registration.register(endpoint)
        return .new
    }

    /// Unregisters an endpoint that the distributor has ended. Any other registration stays.
    package func withdraw(
        _ endpoint: AppPushToken, from distributor: DistributorRecord
    ) throws(ClientError) {
        guard try desiredToken() == endpoint, try has(distributor) else { return }
        try registration.setDesired(.absent)
    }

    /// The desired push token; nil when nothing is to be registered.
    package func desiredToken() throws(ClientError) -> AppPushToken? {
        try registration.desired()?.token
    }

    /// Warns once that no pushes come, until they come again.
    package func warnOfDistributor(_ trouble: Warning.DistributorTrouble?) throws(ClientError) {
        try profile.warnOnce(.distributor, trouble.map { .distributorFails($0) })
    }

    // MARK: Command line

    /// Takes the registration step that is due; returns seconds since 1970 of the next, or nil.
    @discardableResult
    package func reconcile() async throws(ClientError) -> Int64? {
        try await registration.reconcile()
    }

    /// The wait before `reconcileApart` takes a step that is due: nil when none is, or it is to be
    /// taken at once.
    package func registrationWait() throws(ClientError) -> Duration? {
        try registration.separation()
    }

    /// Takes the registration step that is due, apart from the requests of a check, and returns
    /// when its connections are closed.
    package func reconcileApart() async throws(ClientError) {
        try await registration.reconcileApart()
        await transport.quiesce(.registration)
    }

    /// Drops the warning of a refusal that the caller of `register` has reported itself.
    package func dropRefusalWarning() throws(ClientError) {
        try profile.database.dropRefusalWarnings()
    }

    /// From now on a delivered match is recorded only by `confirmDeliveries`.
    package func deferConfirmation() { outbox.deferConfirmation() }

    /// Records the matches that the handler collected: the user has them.
    package func confirmDeliveries() throws(ClientError) { try outbox.confirm() }

    // MARK: Other programs

    /// Records that a program has notified the user of a match; false when there is none.
    package func acknowledge(_ id: MatchID) async throws(ClientError) -> Bool {
        try await outbox.acknowledge(id)
    }

    /// Delivers at once what waits for another attempt: somebody is there to handle it.
    package func retryDeliveries() throws(ClientError) { try outbox.retryNow() }

    /// Stores the push token as desired, or with nil that there be none. `run` brings it about.
    package func setDesired(_ token: AppPushToken?) throws(ClientError) {
        guard let token else { return try registration.unregister() }
        try registration.register(token)
    }

    /// Delivers a planted match as any other, and leaves nothing of it; whether it was delivered.
    package func deliverTest() async throws(ClientError) -> Bool { try await outbox.deliverTest() }
}

/// The use of an endpoint that a distributor gave.
package enum EndpointUse: Sendable, Equatable {
    /// The registration is on its way; `run` brings it about.
    case new
    /// It is desired already: nothing is asked of the service.
    case known
    /// Pushes were given up for this profile meanwhile: it may not be registered.
    case unwanted
}
