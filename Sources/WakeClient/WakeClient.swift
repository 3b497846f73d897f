import WakeFeed
import WakeFetch
import WakeFiles
import WakeModel

/// Turns wakes into local checks: whatever wakes it (event stream, a push that the app hands over,
/// the timer), it fetches the same signed feed as everybody, checks it against secrets that never
/// leave the device, and tells only the local user.
///
/// Everything it knows is in the state directory; it may be killed at any moment. One process a
/// profile: a second one is refused as `locked`.
public actor WakeClient {
    let configuration: ClientConfiguration
    let environment: ClientEnvironment
    let addresses: ClientAddresses
    let secrets: any LocalSecrets
    let handler: any MatchHandler
    let transport: any ClientTransport
    let directory: StateDirectory
    let state: StateDatabase
    let cache: FeedCache

    /// The feed's row, as it was saved last.
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
    var isTelling = false
    /// Told by this process, and not yet noted in the state.
    var toldUnnoted: Set<MatchID> = []
    var isStreaming = false
    var hasWarnedOfFullDisk = false

    let wakeBox = WakeBox()
    let cycleBell = Bell()
    let registrationBell = Bell()
    let tellingBell = Bell()

    let executor: any SerialExecutor

    /// Opens the profile, or makes it. No request is made.
    /// - Throws: `configuration`, `locked`, `state` or `diskFull`.
    public init(
        _ configuration: ClientConfiguration, secrets: some LocalSecrets,
        handler: some MatchHandler, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        let addresses = try ClientAddresses(configuration)
        self.configuration = configuration
        self.environment = environment
        self.addresses = addresses
        self.secrets = secrets
        self.handler = handler
        executor = environment.executor()
        do throws(FetchError) {
            let fetch = try Self.fetchConfiguration(configuration, environment)
            transport = try environment.transport(fetch)
        } catch {
            throw ClientError(error)
        }
        directory = try StateDirectory(configuration.stateDirectory)
        let now = environment.wallSeconds()
        let (state, wasReset) = try Self.openState(
            directory, faultPoint: environment.faultPoint, now: now)
        self.state = state
        do throws(StateError) {
            record =
                try state.feed()
                ?? FeedRecord(
                    cursor: FeedCursor(key: addresses.feedKey), watch: Watch(start: now))
            if wasReset { try state.save(record, warnings: [.stateReset], as: .feed) }
        } catch {
            throw error.clientError
        }
        guard record.cursor.feedID == addresses.feedKey.feedID else {
            throw .configuration(.otherFeed)
        }
        cache = FeedCache(configuration.cacheDirectory, feed: record.cursor.feedID)
    }

    static func fetchConfiguration(
        _ configuration: ClientConfiguration, _ environment: ClientEnvironment
    ) throws(FetchError) -> FetchConfiguration {
        var fetch = FetchConfiguration()
        guard let proxy = configuration.proxy else { return fetch }
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
