import Synchronization
import WakeFetch
import WakeHTTP
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The daemon: a store, a feed to serve, two listeners, a broadcaster.
package struct Service: Sendable {
    private let configuration: Configuration
    private let log: Log
    private let store: Store
    private let server: HTTPServer
    private let broadcaster: Broadcaster
    private let health: HealthMonitor
    private let relay: RelayRoute?
    private let testPushes: TestPushes
    private let reloader: Reloader
    private let transparency: TransparencyRoute
    private let reloadRequest = AsyncEvent()

    /// Opens the store and binds the listeners: clients can connect, and are answered by `run`.
    /// - Parameter source: reads the configuration again, for a reload.
    package init(
        _ configuration: Configuration, log: Log,
        reloadingFrom source: @escaping @Sendable () throws(ReloadRefusal) -> Configuration
    ) async throws(ServiceError) {
        self.configuration = configuration
        self.log = log
        let parts = try mapError(
            ServiceError.setup, try OpenedParts(configuration, log: log))
        parts.budget.raiseLimit()
        let settings = Settings(Settings.Values(configuration, parts.gateways))
        let start = ContinuousClock.now
        let store = try mapError(ServiceError.store) { () throws(StoreOpenError) in
            try Store(opening: configuration.store(log: log))
        }
        self.store = store
        log(.storeOpened(milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1))))
        relay = Self.relay(configuration, gateways: parts.gateways.all, log: log)
        testPushes = TestPushes(parts.gateways.all) { log(.gatewayStopped($0, $1)) }
        if KeyMemory.isSwappable { log(.keysUnlocked) }
        if configuration.keysInMemory {
            log(.keysInMemory(forgotten: store.counters.strayRows.load(ordering: .relaxed)))
        }
        do throws(HTTPServerError) {
            (server, broadcaster, health, reloader, transparency) = try Self.bind(
                settings, parts, store: store, relay: relay, testPushes: testPushes, log: log,
                source: source)
        } catch {
            await store.close()
            throw .http(error)
        }
    }

    package var port: UInt16 { server.ports.first ?? 0 }

    /// Returns once both threads that every request needs have answered: the event loop and the
    /// store's writer. Does not return while one of them hangs.
    package func proveLife() async {
        while !Task.isCancelled {
            let isServing = await server.isServing
            let isAnswering = await store.isAnswering()
            if isServing, isAnswering { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Asks for the configuration to be read again, from any thread; the log tells the result.
    package func requestReload() { reloadRequest.signal() }

    /// Several requests within a second are one.
    private func reloadOnRequest() async {
        while true {
            await reloadRequest.wait()
            guard !Task.isCancelled else { return }
            _ = await reloader.reload()
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Serves until the task is cancelled, then drains, empties the store's log and returns.
    package func run() async {
        log(.started(port: port))
        identifyProgram()
        await withTaskGroup(of: Void.self) { [broadcaster, health, relay, self] group in
            group.addTask { await broadcaster.run() }
            group.addTask { await health.run() }
            group.addTask { [testPushes] in await testPushes.run() }
            if let relay { group.addTask { await relay.service.run() } }
            group.addTask { await reloadOnRequest() }
            await server.run()
            group.cancelAll()
        }
        log(.stopping)
        await store.close()
        log(.stopped)
    }

    /// On a thread of its own: reading the program may take a while, and the start does not wait.
    private func identifyProgram() {
        try? SystemThread.start { [transparency] in
            guard let hash = try? ProgramIdentity.hash(of: ProgramIdentity.ownFile) else { return }
            transparency.setProgramHash(hash)
        }
    }

    private static func relay(
        _ configuration: Configuration, gateways: [any Gateway], log: Log
    ) -> RelayRoute? {
        guard let settings = configuration.relay else { return nil }
        let file = InstallationFile(path: settings.installations) {
            log(.relayInstallationsUnusable)
        }
        if let count = file.count { log(.relayOn(installations: count)) }
        return RelayRoute(settings, file: file, gateways: gateways) { log(LogEvent($0)) }
    }

    private static func bind(
        _ settings: Settings, _ parts: OpenedParts, store: Store, relay: RelayRoute?,
        testPushes: TestPushes, log: Log,
        source: @escaping Reloader.Source
    ) throws(HTTPServerError) -> (
        HTTPServer, Broadcaster, HealthMonitor, Reloader, TransparencyRoute
    ) {
        let configuration = settings.now.configuration
        let loop = try EventLoop()
        let wakes = StreamHub(loop: loop)
        let feed = FeedFileServer(
            directory: configuration.feed, maxAge: configuration.cacheSeconds, log: log)
        let health = Health(store: store.counters)
        let checkpoints = CheckpointFile(path: configuration.data + "/checkpoint")
        let schedule = ScheduleStore(
            path: configuration.data + "/broadcast",
            heartbeatSeconds: configuration.heartbeatSeconds, resuming: checkpoints.find()?.header)
        let planner = BroadcastPlanner(
            store: store, wakes: wakes, feed: feed, settings: settings,
            learnt: { schedule.history.learnt })
        let monitor = FeedMonitor(
            feed, remote: parts.remote, file: StateFile(configuration.data + "/watched-feed"),
            isOn: configuration.watch,
            cacheSeconds: configuration.cacheSeconds)
        let rotator = Rotator(
            store: store, file: StateFile(configuration.data + "/rotation"),
            interval: configuration.rotationSeconds, log: log)
        let transparency = TransparencyRoute(PrivacyPage(configuration)) { monitor.pausedUntil }
        let broadcaster = Broadcaster(
            planner, feed: monitor, schedule: schedule, checkpoints: checkpoints, rotator: rotator,
            log: log
        ) { transparency.update(PublicCounters(rotator, $0)) }
        transparency.update(PublicCounters(rotator, broadcaster))
        let newRegistrations = NewRegistrations(configuration, store)
        let client = ServiceClient()
        let peers = ShardPeers(configuration.peers, client)
        let operation = HealthMonitor(
            broadcaster, planner, rotator, feed: monitor, peers: peers,
            transparency: transparency, log: log)
        let registration = RegistrationRoute(
            store: store, health: operation, settings: settings,
            newRegistrations: newRegistrations, peers: peers, testPushes: testPushes)
        let oblivious = ObliviousRoute(
            parts.ring, upstream: configuration.obliviousUpstream, registration: registration,
            client: client)
        let bound = Once<HTTPServer>()
        let access = AdminAccess(parts.token)
        let reloader = Reloader(
            settings, from: source,
            parts: Reloader.Parts(
                access: access, feed: monitor, newRegistrations: newRegistrations,
                schedule: schedule, relay: relay, testPushes: testPushes, oblivious: oblivious,
                peers: peers,
                transparency: transparency,
                setDescriptors: { bound.value?.setDescriptors($0) }),
            log: log)
        let admin = AdminRoutes(
            broadcaster: broadcaster, planner: planner,
            rotation: RotationRoute(rotator: rotator, store: store, broadcaster: broadcaster),
            metrics: Metrics(
                http: { bound.value?.counters }, broadcaster: broadcaster, rotator: rotator,
                planner: planner, newRegistrations: newRegistrations, testPushes: testPushes,
                relay: relay?.service.counters, oblivious: oblivious),
            health: operation, transparency: transparency, access: access,
            reloader: reloader)
        let open = PublicRoutes(
            registration: registration,
            feed: configuration.feedServed ? FeedRoute(files: feed) : nil, relay: relay,
            oblivious: oblivious, wakes: wakes, sequence: { feed.sequence }, health: health,
            transparency: transparency,
            crossOrigin: CrossOriginResponses(configuration.origins))
        let listeners = configuration.listeners.map { section, address in
            switch section {
            case "http":
                ListenerConfiguration(
                    address, proxyProtocol: configuration.proxyProtocol,
                    largeBodies: relay?.largeBodies
                ) { open.handle($0, $1) }
            case "cluster":
                ListenerConfiguration(address, reserved: ShardPeers.connections) {
                    registration.handleHandedOn($0, $1)
                }
            case "metrics":
                ListenerConfiguration(address, reserved: DescriptorBudget.metricsConnections) {
                    [isLocalFile = configuration.metrics?.isFile == true] in
                    admin.handleMetrics($0, $1, isLocalFile: isLocalFile)
                }
            default:
                ListenerConfiguration(address, reserved: DescriptorBudget.adminConnections) {
                    admin.handle($0, $1)
                }
            }
        }
        let server = try HTTPServer(
            listeners: listeners, limits: configuration.httpLimits(parts.budget), loop: loop)
        bound.set(server)
        return (server, broadcaster, operation, reloader, transparency)
    }
}

extension LogEvent {
    fileprivate init(_ event: RelayEvent) {
        self =
            switch event {
            case .batch(let counts):
                .relayBatch(
                    accepted: counts.accepted, gone: counts.gone, retried: counts.retried,
                    stopped: counts.stopped)
            case .refused(let problem): .relayRefused(problem)
            case .gatewayStopped(let service, let failure): .gatewayStopped(service, failure)
            }
    }
}

/// A value that is set once, after its readers were made.
private final class Once<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) {
        stored.withLock { stored in
            precondition(stored == nil, "set once")
            stored = value
        }
    }
}
