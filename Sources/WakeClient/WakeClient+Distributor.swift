import WakeModel

// What a program that brings pushes (a UnifiedPush distributor) needs of the client: the name it
// knows the profile by, and a way to hand endpoints on.

extension WakeClient {
    /// What became of an endpoint.
    package enum EndpointUse: Sendable, Equatable {
        /// The registration is on its way; `run` brings it about.
        case new
        /// The wish holds it already: nothing is asked of the service.
        case known
        /// Pushes were given up for this profile meanwhile: it may not be registered.
        case unwanted
    }

    /// The profile's distributor. Another name than the one before gets a new connection token:
    /// two distributors, or two profiles, can never be joined by it.
    package func distributor(named name: String) throws(ClientError) -> DistributorRecord {
        let environment = environment
        return try clientError { () throws(StateError) in
            try state.distributor(named: name) { environment.randomBytes($0) }
        }
    }

    /// The distributor whose place `distributor(named:)` would give to another.
    package func distributor(before name: String) throws(ClientError) -> DistributorRecord? {
        let known = try clientError { () throws(StateError) in try state.distributor() }
        return known?.name == name ? nil : known
    }

    /// Whether the profile still has this distributor: another process may have given it up.
    package func has(_ distributor: DistributorRecord) throws(ClientError) -> Bool {
        try clientError { () throws(StateError) in try state.distributor() } == distributor
    }

    /// Wishes that the service holds this endpoint, unless that is the wish already. No request is
    /// made here.
    package func adopt(
        _ endpoint: PushToken, from distributor: DistributorRecord
    ) throws(ClientError) -> EndpointUse {
        guard service.registration != nil else { throw .configuration(.serviceMissing) }
        guard try has(distributor), !record.orders.isRetired else { return .unwanted }
        let environment = environment
        let wish = try clientError { () throws(StateError) in try state.wish() }
        if wish?.kind == .registered(endpoint.wire) { return .known }
        _ = try clientError { () throws(StateError) in
            try state.supersede(
                .registered(endpoint.wire), newToken: Self.newInstanceToken(environment))
        }
        registrationFailure = nil
        registrationBell.ring()
        return .new
    }

    /// The distributor has ended this endpoint for good: the service need not hold it any longer.
    /// Anything else that is registered stays.
    package func withdraw(
        _ endpoint: PushToken, from distributor: DistributorRecord
    ) throws(ClientError) {
        let wish = try clientError { () throws(StateError) in try state.wish() }
        guard wish?.kind == .registered(endpoint.wire), try has(distributor) else { return }
        let environment = environment
        _ = try clientError { () throws(StateError) in
            try state.supersede(.absent, newToken: Self.newInstanceToken(environment))
        }
        registrationFailure = nil
        registrationBell.ring()
    }

    /// The push token that the service is to hold; nil when it is to hold nothing.
    package func wishedToken() throws(ClientError) -> PushToken? {
        let wish = try clientError { () throws(StateError) in try state.wish() }
        guard case .registered(let token) = wish?.kind else { return nil }
        return PushToken(token)
    }

    /// Says once that no pushes come, until they come again.
    package func noteDistributor(_ trouble: Warning.DistributorTrouble?) throws(ClientError) {
        guard record.warned.contains(.distributor) != (trouble != nil) else { return }
        var next = record
        if let trouble {
            next.warned.insert(.distributor)
            try save(next, warnings: [.distributorFails(trouble)], as: .feed)
        } else {
            next.warned.remove(.distributor)
            try save(next, as: .feed)
        }
    }
}
