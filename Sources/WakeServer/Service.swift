import CLinux
import Glibc
import Synchronization
package import WakeHTTP
import WakeModel
import WakePush
package import WakeStore

/// The daemon: a store, a feed to serve, two listeners, one stream of wakes.
package struct Service: Sendable {
    private let configuration: Configuration
    private let log: Log
    private let store: Store
    private let server: HTTPServer
    private let broadcaster: Broadcaster
    private let relay: RelayRoute?

    /// Opens the store and binds the listeners: clients can connect, and are answered by `run`.
    package init(_ configuration: Configuration, log: Log) async throws(ServiceError) {
        self.configuration = configuration
        self.log = log
        Hardening.apply()
        let gateways: [any Gateway]
        do throws(GatewayError) {
            gateways = try Gateways.make(configuration) { service, _ in
                log(.gatewayStopped(service, .unavailable(.libraryMissing, service)))
            }
        } catch {
            throw .gateway(error)
        }
        let remote: RemoteHead?
        do throws(WatchError) {
            remote = try configuration.remoteHead()
        } catch {
            throw .watch(error)
        }
        let store: Store
        let start = ContinuousClock.now
        do throws(StoreOpenError) {
            store = try Store(opening: configuration.store(log: log))
        } catch {
            throw .store(error)
        }
        self.store = store
        let opening = (ContinuousClock.now - start) / .milliseconds(1)
        log(.storeOpened(milliseconds: Int(opening)))
        relay = Self.relay(configuration, gateways: gateways, log: log)
        if configuration.keysInMemory {
            let strays = store.counters.strayRows.load(ordering: .relaxed)
            log(.keysInMemory(forgotten: strays))
        }
        do throws(HTTPServerError) {
            (server, broadcaster) = try Self.bind(
                configuration, store: store, gateways: gateways, relay: relay, log: log,
                remote: remote)
        } catch {
            await store.close()
            throw .http(error)
        }
    }

    /// The public listener's TCP port; 0 on a Unix socket.
    package var port: UInt16 { server.ports.first ?? 0 }

    /// Serves until the task is cancelled, then drains, empties the store's log and returns.
    package func run() async {
        log(.started(port: port))
        await withTaskGroup(of: Void.self) { [broadcaster, relay] group in
            group.addTask { await broadcaster.run() }
            if let relay { group.addTask { await relay.desk.run() } }
            await server.run()
            group.cancelAll()
        }
        log(.stopping)
        await store.close()
        log(.stopped)
    }

    /// Passes on the wake-ups of installations, where the configuration says so.
    private static func relay(
        _ configuration: Configuration, gateways: [any Gateway], log: Log
    ) -> RelayRoute? {
        guard let settings = configuration.relay else { return nil }
        let file = InstallationFile(path: settings.installations, log: log)
        if let count = file.count { log(.relayOn(installations: count)) }
        let gate = RelayGate(settings, file: file)
        // Never those that go through a relay themselves: two could ask each other for ever.
        let gateways = gateways.filter { !($0 is RelayGateway) }
        return RelayRoute(gate: gate, desk: RelayDesk(gate: gate, gateways: gateways, log: log))
    }

    private static func bind(
        _ configuration: Configuration, store: Store, gateways: [any Gateway],
        relay: RelayRoute?, log: Log, remote: RemoteHead?
    ) throws(HTTPServerError) -> (HTTPServer, Broadcaster) {
        let loop = try EventLoop()
        let wakes = StreamHub(loop: loop)
        let site = FeedSite(
            directory: configuration.feed, maxAge: configuration.cacheSeconds, log: log)
        let sequence: @Sendable () -> UInt64 = { site.sequence }
        let health = Health(store: store.counters)
        let planner = BroadcastPlanner(
            store: store, wakes: wakes, site: site, gateways: gateways,
            configuration: configuration)
        let file = RoundFile(path: configuration.roundRecord)
        let desk = BroadcastDesk(
            path: configuration.broadcastState,
            settings: BroadcastSchedule.Settings(
                heartbeatSeconds: configuration.heartbeat ? configuration.intervalSeconds : nil),
            resuming: file.find()?.header)
        let watch = FeedWatch(
            site, remote: remote, isOn: configuration.watch,
            cacheSeconds: configuration.cacheSeconds)
        let rotator = Rotator(
            store: store, file: RotationFile(path: configuration.rotationRecord),
            interval: configuration.rotationSeconds, log: log)
        let people = PeopleRoute(retentionDays: 2 * configuration.rotationDays)
        let broadcaster = Broadcaster(
            wakes: wakes, watch: watch, store: store, gateways: gateways, planner: planner,
            desk: desk, file: file, rotator: rotator, log: log
        ) { [counters = store.counters] in
            people.take(ExactCounts(store: counters, broadcaster: $0))
        }
        let counters = Once<HTTPCounters>()
        let admin = AdminRoutes(
            broadcaster: broadcaster, planner: planner,
            rotation: RotationRoute(rotator: rotator, store: store, broadcaster: broadcaster),
            metrics: Metrics(
                http: { counters.value }, store: store.counters, wakes: wakes,
                broadcaster: broadcaster, rotator: rotator, planner: planner,
                relay: relay?.desk.counters, sequence: sequence),
            health: health, people: people)
        let open = PublicRoutes(
            registration: RegistrationRoute(
                store: store, watch: StoreWatch(store.counters, log: log),
                admission: Admission(gateways)),
            feed: configuration.feedServed ? FeedRoute(site: site) : nil,
            relay: relay, wakes: wakes, sequence: sequence, health: health, people: people)
        let server = try HTTPServer(
            listeners: [
                ListenerConfiguration(
                    configuration.listen.listening(mode: 0o666),
                    proxyProtocol: configuration.proxyProtocol,
                    bodyBytes: Limits.requestBodyBytes, largeBodies: relay?.largeBodies
                ) { open.handle($0, $1) },
                ListenerConfiguration(configuration.admin.listening(mode: 0o600)) {
                    admin.handle($0, $1)
                },
            ],
            limits: configuration.httpLimits, loop: loop)
        counters.set(server.counters)
        return (server, broadcaster)
    }
}

/// Why the daemon could not start.
package enum ServiceError: Error {
    case gateway(GatewayError)
    case watch(WatchError)
    case store(StoreOpenError)
    case http(HTTPServerError)
}

extension Configuration {
    package var store: StoreConfiguration {
        var store = StoreConfiguration(
            dataDirectory: data, keyFile: keysInMemory ? nil : keys)
        store.maxPages = storeMegabytes * 256  // pages of 4 KiB
        return store
    }

    /// A failed flush is said before the process ends and its supervisor starts it anew.
    fileprivate func store(log: Log) -> StoreConfiguration {
        var store = store
        store.onFatal = {
            log(.storeFailed)
            _exit(1)
        }
        return store
    }

    /// The broadcaster's state, beside the database.
    var broadcastState: String { data + "/broadcast" }

    /// The feed elsewhere that is watched, if one is.
    func remoteHead() throws(WatchError) -> RemoteHead? {
        guard let watchedFeed else { return nil }
        return try RemoteHead(watchedFeed, key: watchKey)
    }

    /// What keeps a feed elsewhere from being watched; nil when nothing does.
    package var watchProblem: WatchError? {
        do throws(WatchError) {
            _ = try remoteHead()
            return nil
        } catch {
            return error
        }
    }

    /// Where the round in work stands, beside the database.
    var roundRecord: String { data + "/round" }

    /// How old the current generation is, beside the database.
    var rotationRecord: String { data + "/rotation" }

    var rotationSeconds: Int { rotationDays * 86_400 }

    /// The provider token of APNs between two runs, beside the database.
    var providerToken: String { data + "/apns-token" }

    var httpLimits: HTTPLimits {
        var limits = HTTPLimits()
        limits.headBytes = Limits.requestHeadBytes
        limits.fieldCount = Limits.requestFields
        limits.targetBytes = Limits.requestTargetBytes
        limits.bodyBytes = Limits.requestBodyBytes
        limits.headSeconds = Limits.headSeconds
        limits.bodySeconds = Limits.bodySeconds
        limits.idleSeconds = Limits.idleSeconds
        limits.streamKeepAliveSeconds = Limits.keepAliveSeconds
        limits.connections = connections
        limits.connectionsPerSource = connectionsPerAddress
        limits.streams = streams
        limits.streamsPerSource = streamsPerAddress
        limits.drainSeconds = drainSeconds
        return limits
    }
}

extension Configuration.Address {
    func listening(mode: mode_t) -> ListenerConfiguration.Address {
        switch self {
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .unix(let path): .unix(path: path, mode: mode)
        }
    }
}
