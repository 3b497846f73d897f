/// The interface for programs of this package: the connector to a UnifiedPush distributor hands
/// endpoints on, and the command line takes single steps.
extension WakeClient {
    // MARK: UnifiedPush

    /// The profile's distributor. Another name than the one before gets a new connection token:
    /// two distributors, or two profiles, can never be joined by it.
    package func distributor(named name: String) throws(ClientError) -> DistributorRecord {
        try registration.distributor(named: name)
    }

    /// The distributor that `distributor(named:)` would replace.
    package func distributor(before name: String) throws(ClientError) -> DistributorRecord? {
        let known = try profile.database.distributor()
        return known?.name == name ? nil : known
    }

    /// True while the profile has this distributor: another process may have given it up.
    package func has(_ distributor: DistributorRecord) throws(ClientError) -> Bool {
        try registration.has(distributor)
    }

    /// Registers this endpoint, unless that is desired already. No request is made here.
    package func adopt(
        _ endpoint: AppPushToken, from distributor: DistributorRecord
    ) throws(ClientError) -> EndpointUse {
        try registration.adopt(endpoint, from: distributor)
    }

    /// Unregisters an endpoint that the distributor has ended for good. Any other registration
    /// stays.
    package func withdraw(
        _ endpoint: AppPushToken, from distributor: DistributorRecord
    ) throws(ClientError) {
        try registration.withdraw(endpoint, from: distributor)
    }

    /// The desired push token; nil when nothing is to be registered.
    package func desiredToken() throws(ClientError) -> AppPushToken? {
        guard case .registered(let token) = try registration.desired()?.kind else { return nil }
        return AppPushToken(token)
    }

    /// Warns once that no pushes come, until they come again.
    package func warnOfDistributor(_ trouble: Warning.DistributorTrouble?) throws(ClientError) {
        try profile.warnOnce(.distributor, trouble.map { .distributorFails($0) })
    }

    // MARK: Command line

    /// Takes the step towards the desired registration that is due.
    /// - Returns: seconds since 1970 of the next step; nil for none.
    @discardableResult
    package func reconcile() async throws(ClientError) -> Int64? {
        try await registration.reconcile()
    }

    /// Takes the step that is due, and delivers a warning about it at once: for a program that runs
    /// one cycle and ends.
    package func reconcileAndDeliver() async throws(ClientError) {
        try await registration.reconcile()
        try await outbox.deliver()
    }

    /// Drops the warning of a refusal that the caller of `register` has reported itself.
    package func dropRefusalWarning() throws(ClientError) {
        try profile.database.dropRefusalWarnings()
    }

    /// From now on a delivered match is recorded only by `confirmDeliveries`.
    package func deferConfirmation() { outbox.deferConfirmation() }

    /// Records the matches that the handler collected: the user has them.
    package func confirmDeliveries() throws(ClientError) { try outbox.confirm() }
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
