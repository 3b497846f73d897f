import WakeFeed
import WakeFetch
import WakeModel
import WakeSystem

/// Access to a profile that another process may hold: reads it, and leaves a desired registration.
package struct ProfileAccess {
    private let configuration: ClientConfiguration
    private let feed: FeedAddresses
    private let service: ServiceAddresses
    private let environment: ClientEnvironment
    private let database: StateDatabase

    package init(
        _ configuration: ClientConfiguration, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        self.configuration = configuration
        self.environment = environment
        feed = try FeedAddresses(configuration)
        service = try ServiceAddresses(configuration)
        try StateDirectory.prepare(configuration.stateDirectory)
        database = try StateDatabase(inspecting: configuration.stateDirectory)
    }

    /// The status of the other process, as far as it is stored.
    package func status() throws(ClientError) -> ClientStatus {
        ClientStatus(
            record: try record(), registration: try registration(),
            matchesToDeliver: try database.undeliveredCount(), now: environment.wallSeconds(),
            sharesOrigin: service.sharesOrigin, isStreaming: false, failure: nil,
            quota: try configuration.dailyByteBudget.map { (limit) throws(ClientError) in
                try database.quota(limit: limit)
            })
    }

    /// Stores the desired registration, nil for none, and notifies the other process.
    package func setDesired(_ token: AppPushToken?) throws(ClientError) {
        guard service.registration != nil else { throw .configuration(.serviceMissing) }
        if token == nil { try database.dropDistributor() }
        try database.replaceRegistration(
            token.map { .registered($0.wire) } ?? .absent,
            newToken: environment.newInstanceToken())
        ChangeNotifier.notify(configuration.stateDirectory)
    }

    /// The profile's distributor; nil when none was chosen, or none is any more.
    package func distributor() throws(ClientError) -> DistributorRecord? {
        try database.distributor()
    }

    /// The push service of the desired registration; nil for none.
    package func pushService() throws(ClientError) -> AppPushToken.Service? {
        try database.registration()?.token?.service
    }

    package func registration() throws(ClientError) -> RegistrationState {
        let mayRegister = try record().directives.mayRegister
        return RegistrationState(
            try database.registration(), mayRegister: mayRegister, failure: nil)
    }

    package func storedRegistration() async throws(ClientError) -> HeldRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        guard let desired = try database.registration() else { throw .notRegistered }
        let transport = try environment.makeTransport(through: configuration.proxy)
        return try await HeldRegistration(of: desired.instanceToken, at: url, through: transport)
    }

    private func record() throws(ClientError) -> FeedRecord {
        try database.feed()
            ?? FeedRecord(
                position: .feed(FeedCursor(key: feed.key)),
                health: FeedHealth(verified: environment.wallSeconds()))
    }

}
