import WakeFeed
import WakeFetch
import WakeFiles
import WakeModel

/// What a second process of the same user may do beside the one that holds the profile: look, and
/// leave a wish that the other brings about.
package struct ProfileVisit {
    private let configuration: ClientConfiguration
    private let feed: FeedAddresses
    private let service: ServiceAddresses
    private let environment: ClientEnvironment
    private let state: StateDatabase

    package init(
        _ configuration: ClientConfiguration, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        self.configuration = configuration
        self.environment = environment
        feed = try FeedAddresses(configuration)
        service = try ServiceAddresses(configuration)
        try StateDirectory.prepare(configuration.stateDirectory)
        let path = configuration.stateDirectory + "/client.db"
        for suffix in ["", "-wal", "-shm"] { try StateDirectory.checkFile(path + suffix) }
        do throws(StateError) {
            state = try StateDatabase(path: path)
        } catch {
            throw error.clientError
        }
    }

    /// What the other process would say, as far as it is written down.
    package func status() throws(ClientError) -> ClientStatus {
        do throws(StateError) {
            let now = environment.wallSeconds()
            let record = try record(now)
            return ClientStatus(
                record: record, registration: try registration(record),
                matchesToTell: try state.countToTell(), now: now,
                sharesOrigin: service.sharesOrigin, isStreaming: false, failure: nil,
                budget: try configuration.dailyByteBudget.map { (limit) throws(StateError) in
                    try state.budget(limit: limit)
                })
        } catch {
            throw error.clientError
        }
    }

    /// Leaves a wish, nil for "nothing registered", and rings.
    package func leave(_ token: PushToken?) throws(ClientError) {
        guard service.registration != nil else { throw .configuration(.serviceMissing) }
        let environment = environment
        do throws(StateError) {
            if token == nil { try state.dropDistributor() }
            _ = try state.supersede(
                token.map { .registered($0.wire) } ?? .absent,
                newToken: WakeClient.newInstanceToken(environment))
        } catch {
            throw error.clientError
        }
        Doorbell.ring(configuration.stateDirectory)
    }

    /// The profile's distributor; nil when none was chosen, or none is any more.
    package func distributor() throws(ClientError) -> DistributorRecord? {
        do throws(StateError) {
            return try state.distributor()
        } catch {
            throw error.clientError
        }
    }

    /// What kind of push token the service is to hold; nil for none.
    package func pushService() throws(ClientError) -> PushToken.Service? {
        do throws(StateError) {
            guard case .registered(let token) = try state.wish()?.kind else { return nil }
            return PushToken(token).service
        } catch {
            throw error.clientError
        }
    }

    /// How far the wish has come.
    package func registration() throws(ClientError) -> RegistrationState {
        do throws(StateError) {
            return try registration(try record(environment.wallSeconds()))
        } catch {
            throw error.clientError
        }
    }

    /// Asks the service for everything it holds about this client.
    package func storedRegistration() async throws(ClientError) -> StoredRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        let wish: RegistrationWish?
        do throws(StateError) {
            wish = try state.wish()
        } catch {
            throw error.clientError
        }
        guard let wish else { throw .notRegistered }
        let transport: any ClientTransport
        do throws(FetchError) {
            let fetch = try WakeClient.fetchConfiguration(configuration.proxy, environment)
            transport = try environment.transport(fetch)
        } catch {
            throw ClientError(error)
        }
        return try await WakeClient.storedRegistration(
            of: wish.instanceToken, at: url, by: transport)
    }

    private func record(_ now: Int64) throws(StateError) -> FeedRecord {
        try state.feed()
            ?? FeedRecord(
                position: .feed(FeedCursor(key: feed.key)), watch: Watch(start: now))
    }

    private func registration(_ record: FeedRecord) throws(StateError) -> RegistrationState {
        RegistrationState(
            try state.wish(), mayRegister: record.orders.mayRegister, failure: nil)
    }
}
