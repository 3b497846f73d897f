import FoundationEssentials
package import WakeFeed
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

    /// The status that the running client answers with; as stored when none answers.
    package func status() throws(ClientError) -> ClientStatus {
        let answer = ControlSocket.ask(.status, configuration.stateDirectory, seconds: 5)
        if let answer, let status = try? JSONDecoder().decode(ClientStatus.self, from: Data(answer))
        {
            return status
        }
        return ClientStatus(
            record: try record(), head: try database.bytes(.head).flatMap(FeedHead.init(stored:)),
            registration: try registration(),
            formerServices: try database.formerRegistrationCount(),
            matchesToDeliver: try database.undeliveredCount(), now: environment.wallSeconds(),
            sharesOrigin: service.sharesOrigin,
            quota: try configuration.dailyByteBudget.map { (limit) throws(ClientError) in
                try database.quota(limit: limit)
            })
    }

    /// Stores the desired registration, nil for none, and notifies the other process.
    package func setDesired(_ token: AppPushToken?) throws(ClientError) {
        guard let address = service.registration?.bytes else {
            throw .configuration(.serviceMissing)
        }
        if token == nil { try database.dropDistributor() }
        try database.replaceRegistration(
            token.map { .registered($0.wire) } ?? .absent, at: address,
            now: environment.wallSeconds(), newToken: environment.newInstanceToken())
        notify()
    }

    /// Tells the running client that another file of the profile was changed.
    package func notify() { ControlSocket.notify(configuration.stateDirectory) }

    /// Has the running client deliver a planted match.
    /// - Returns: whether it was delivered; nil when no client answers.
    package func deliverTest() -> Bool? {
        ControlSocket.ask(.test, configuration.stateDirectory, seconds: 120).map { answer in
            answer.elementsEqual("{\"delivered\":true}".utf8)
        }
    }

    func ask(_ request: ControlSocket.Request, seconds: UInt32) -> [UInt8]? {
        ControlSocket.ask(request, configuration.stateDirectory, seconds: seconds)
    }

    /// The last test of pushes; nil before the first.
    package func pushTest() throws(ClientError) -> PushTest? { try database.value(.pushTest) }

    /// The ids of delivered matches, the newest first: all that is left of them.
    package func deliveredMatches(limit: Int) throws(ClientError) -> [MatchID] {
        try database.deliveredMatches(limit: limit)
    }

    /// The keys of the feed that this profile has seen follow each other.
    package func keys() throws(ClientError) -> KeyChain { try record().cursor.chain }

    /// The tree of the feed's log that this profile accepted last; nil without witnesses.
    package func log() throws(ClientError) -> LogCursor? { try record().log }

    /// The profile's distributor; nil when none was chosen, or none is any more.
    package func distributor() throws(ClientError) -> DistributorRecord? {
        try database.distributor()
    }

    /// The push service of the desired registration; nil for none.
    package func pushService() throws(ClientError) -> AppPushToken.Service? {
        try database.registration()?.token?.service
    }

    /// A number that changes with every other desired registration; nil for none.
    package func registrationRevision() throws(ClientError) -> Int64? {
        try database.registration()?.revision
    }

    package func registration() throws(ClientError) -> RegistrationState {
        let mayRegister = try record().directives.mayRegister
        return RegistrationState(
            try database.registration(), at: service.registration?.bytes,
            formerServices: try database.formerRegistrationCount(), mayRegister: mayRegister)
    }

    package func storedRegistration() async throws(ClientError) -> HeldRegistration {
        guard let url = service.registration else { throw .configuration(.serviceMissing) }
        guard let desired = try database.registration(), desired.address == url.bytes else {
            throw .notRegistered
        }
        let transport = try environment.makeTransport(through: configuration.proxy)
        let keys = try GatewayKeys(of: service, feed.base, configuration.cacheDirectory)
        keys?.name(try record().cursor.settings.gatewayKeys)
        return try await HeldRegistration(
            of: desired.instanceToken, at: url,
            through: try service.carrier(keys, over: transport))
    }

    private func record() throws(ClientError) -> FeedRecord {
        try database.feed()
            ?? FeedRecord(
                position: .feed(FeedCursor(key: feed.key)),
                health: FeedHealth(startingAt: environment.wallSeconds()))
    }
}
