import WakeFeed

/// Clients of a feed, or of the app's own data; each with a handler, two closures or loops over
/// events as its receiver.
extension WakeClient {
    /// A client of a signed feed. Opens the profile, or makes it; no request is made. `secrets` are
    /// compared with the published digests; `handler` receives matches and warnings.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        handler: some MatchHandler, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        try self.init(
            configuration, secrets: secrets, receiver: handler, environment: environment)
    }

    /// The same with two closures as its handler: what ``MatchHandler`` says of `didFind(_:)` holds
    /// for `onMatch`, what it says of `didWarn(_:)` for `onWarning`.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        environment: ClientEnvironment = .live,
        onMatch: @escaping @Sendable (Match) async throws -> Void,
        onWarning: @escaping @Sendable (Warning) async -> Void
    ) throws(ClientError) {
        try self.init(
            configuration, secrets: secrets,
            receiver: ClosureHandler(onMatch: onMatch, onWarning: onWarning),
            environment: environment)
    }

    /// The same without a handler: loops over ``events`` receive matches and warnings.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        environment: ClientEnvironment = .live
    ) throws(ClientError) {
        try self.init(configuration, secrets: secrets, receiver: nil, environment: environment)
    }

    private init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        receiver: (any MatchHandler)?, environment: ClientEnvironment
    ) throws(ClientError) {
        let addresses = try FeedAddresses(configuration)
        let service = try ServiceAddresses(configuration)
        let keys = try GatewayKeys(of: service, addresses.base, configuration.cacheDirectory)
        try self.init(
            at: service, gatewayKeys: keys, channel: configuration.channel,
            proxy: configuration.proxy, stateDirectory: configuration.stateDirectory,
            start: .feed(FeedCursor(key: addresses.key)), handler: receiver,
            environment: environment
        ) { profile, registration, transport in
            FeedCycle(
                addresses: addresses, dailyByteBudget: configuration.dailyByteBudget,
                cache: FeedCache(
                    configuration.cacheDirectory, feed: addresses.key.feedID,
                    capacity: configuration.cacheCapacity),
                secrets: secrets, app: AppCaller(environment), profile: profile,
                registration: registration, transport: PacedTransport(transport, in: environment),
                environment: environment, gatewayKeys: keys)
        }
    }

    /// A client of data that the app publishes itself: `source` fetches and checks it, `handler`
    /// receives matches and warnings. Opens the profile, or makes it.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: SourceConfiguration, source: some DataSource,
        handler: some MatchHandler, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        try self.init(configuration, source: source, receiver: handler, environment: environment)
    }

    /// The same with two closures as its handler.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: SourceConfiguration, source: some DataSource,
        environment: ClientEnvironment = .live,
        onMatch: @escaping @Sendable (Match) async throws -> Void,
        onWarning: @escaping @Sendable (Warning) async -> Void
    ) throws(ClientError) {
        try self.init(
            configuration, source: source,
            receiver: ClosureHandler(onMatch: onMatch, onWarning: onWarning),
            environment: environment)
    }

    /// The same without a handler: loops over ``events`` receive matches and warnings.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: SourceConfiguration, source: some DataSource,
        environment: ClientEnvironment = .live
    ) throws(ClientError) {
        try self.init(configuration, source: source, receiver: nil, environment: environment)
    }

    private init(
        _ configuration: SourceConfiguration, source: some DataSource,
        receiver: (any MatchHandler)?, environment: ClientEnvironment
    ) throws(ClientError) {
        try self.init(
            at: try ServiceAddresses(
                configuration.service, channel: configuration.channel, feed: nil),
            channel: configuration.channel, proxy: configuration.proxy,
            stateDirectory: configuration.stateDirectory,
            start: .app(nil, AppSourceCycle.settings(of: configuration)), handler: receiver,
            environment: environment
        ) { profile, _, _ in
            AppSourceCycle(
                source: source, configuration: configuration, profile: profile,
                environment: environment, app: AppCaller(environment))
        }
    }
}
