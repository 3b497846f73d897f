import WakeFeed
import WakeFetch
import WakeFiles
import WakeModel

/// Turns wakes into local checks: whatever wakes it (event stream, a push that the app hands over,
/// the timer), it fetches the same signed feed as everybody, checks it against secrets that never
/// leave the device, and tells only the local user. An app that publishes data of its own brings a
/// `DataSource` instead of the feed.
///
/// Everything it knows is in the state directory; it may be killed at any moment. One process a
/// profile: a second one is refused as `locked`.
public actor WakeClient {
    let environment: ClientEnvironment
    let source: CycleSource
    let service: ServiceAddresses
    let channel: ClientConfiguration.Channel
    let handler: any MatchHandler
    let transport: any ClientTransport
    let directory: StateDirectory
    let state: StateDatabase

    /// The source's row, as it was saved last.
    var record: FeedRecord
    var gate = CycleGate()
    var isRunning = false

    // One cycle or re-check at a time; see `WakeClient+Cycle.swift`.
    var isChecking = false
    var checkWaiters: [CheckedContinuation<Void, Never>] = []
    var cyclesBegun = 0
    /// `cyclesBegun` when the gate was last asked: a cycle that began since serves all that ask.
    var newestAsk = 0
    var wantedHint: UInt64 = 0
    /// How the cycle that began last ended; nil while it runs, or when its caller went away.
    var lastEnd: Result<SyncOutcome, ClientError>?
    var lastFailure: ClientError?
    /// When the look after the newest wake is, or was.
    var lastPlace = Duration.seconds(-1)

    var isReconciling = false
    /// Somebody came to reconcile while another did.
    var wasTurnedAway = false
    var registrationFailure: ClientError?
    /// The first attempt after the start is made at this time at the latest.
    var registrationRestart: Int64?
    var isTelling = false
    /// Told by this process, and not yet noted in the state.
    var toldUnnoted: Set<MatchID> = []
    /// Handed over and to be noted by `noteTold`; nil when every match is noted at once.
    var held: [MatchID]?
    var isStreaming = false
    var hasWarnedOfFullDisk = false
    /// The last batch that was fetched could not be kept.
    var isCacheFull = false

    let wakeBox = WakeBox()
    let cycleBell = Bell()
    let registrationBell = Bell()
    let tellingBell = Bell()

    let executor: any SerialExecutor

    /// A client of a signed feed. Opens the profile, or makes it; no request is made.
    /// - Parameters:
    ///   - configuration: where feed and service are, and where this profile keeps its state.
    ///   - secrets: what the feed is checked against.
    ///   - handler: tells the local user.
    ///   - environment: the world around; other than `.live` to take what is logged.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        handler: some MatchHandler, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        let feed = try FeedSource(configuration, secrets: secrets)
        try self.init(
            .feed(feed),
            service: try ServiceAddresses(configuration), channel: configuration.channel,
            proxy: configuration.proxy, stateDirectory: configuration.stateDirectory,
            handler: handler, environment: environment)
    }

    /// A client of what the app publishes itself. Opens the profile, or makes it; nothing is
    /// fetched.
    /// - Parameters:
    ///   - configuration: where this profile keeps its state, and how often it looks.
    ///   - source: fetches and checks what the app publishes.
    ///   - handler: tells the local user.
    ///   - environment: the world around; other than `.live` to take what is logged.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: SourceConfiguration, source: some DataSource,
        handler: some MatchHandler, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        let service = try ServiceAddresses(
            configuration.service, channel: configuration.channel, feed: nil)
        try self.init(
            .own(OwnSource(source, configuration)),
            service: service, channel: configuration.channel, proxy: configuration.proxy,
            stateDirectory: configuration.stateDirectory, handler: handler,
            environment: environment)
    }

    private init(
        _ source: CycleSource, service: ServiceAddresses, channel: ClientConfiguration.Channel,
        proxy: ClientConfiguration.Proxy?, stateDirectory: String, handler: any MatchHandler,
        environment: ClientEnvironment
    ) throws(ClientError) {
        self.environment = environment
        self.source = source
        self.service = service
        self.channel = channel
        self.handler = handler
        executor = environment.executor()
        do throws(FetchError) {
            transport = try environment.transport(
                try Self.fetchConfiguration(proxy, environment))
        } catch {
            throw ClientError(error)
        }
        directory = try StateDirectory(stateDirectory)
        let now = environment.wallSeconds()
        let (state, wasReset) = try Self.openState(
            directory, faultPoint: environment.faultPoint, now: now)
        self.state = state
        do throws(StateError) {
            record =
                try state.feed()
                ?? FeedRecord(position: source.start, watch: Watch(start: now))
            if wasReset { try state.save(record, warnings: [.stateReset], as: .feed) }
        } catch {
            throw error.clientError
        }
        guard let position = source.adopt(record.position) else {
            throw .configuration(.otherFeed)
        }
        record.position = position
    }

    static func fetchConfiguration(
        _ proxy: ClientConfiguration.Proxy?, _ environment: ClientEnvironment
    ) throws(FetchError) -> FetchConfiguration {
        var fetch = FetchConfiguration()
        guard let proxy else { return fetch }
        // New for every start: circuits of two profiles, or two days, are never joined.
        let isolation = Base64URL.encode(environment.randomBytes(16).span)
        fetch.proxy = FetchProxy(host: proxy.host, port: proxy.port, isolation: isolation)
        // A proxy that cannot be used is never passed by.
        guard fetch.proxy != nil else { throw .onionWithoutProxy }
        return fetch
    }

    /// A damaged database is put aside and a new one begun: checking everything again is harmless,
    /// not checking is not.
    private static func openState(
        _ directory: StateDirectory, faultPoint: StateDatabase.FaultPoint?, now: Int64
    ) throws(ClientError) -> (StateDatabase, wasReset: Bool) {
        let path = directory.path + "/client.db"
        for suffix in ["", "-wal", "-shm"] { try StateDirectory.checkFile(path + suffix) }
        do throws(StateError) {
            let state = try StateDatabase(path: path, faultPoint: faultPoint)
            // A process that died between dropping something secret and scrubbing left that to us.
            // Without room it is left to the next start.
            try? state.scrub()
            return (state, false)
        } catch {
            guard error.cause == .corrupt else { throw error.clientError }
        }
        for suffix in ["", "-wal", "-shm"] where Files.exists(path + suffix) {
            try? Files.rename(path + suffix, to: path + ".damaged-\(now)" + suffix)
        }
        do throws(StateError) {
            return (try StateDatabase(path: path, faultPoint: faultPoint), true)
        } catch {
            throw error.clientError
        }
    }
}
