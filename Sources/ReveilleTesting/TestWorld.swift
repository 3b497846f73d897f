import FoundationEssentials
public import Reveille
import WakeFeed
import WakeFetch
import WakeSystem

/// A feed, a service, the network between them and one device, on simulated time: an app's tests
/// see matches, warnings and retries of weeks in milliseconds, and make no request.
///
/// ```swift
/// let world = try TestWorld()
/// let secrets = SecretDirectory(stateDirectory: world.configuration().stateDirectory)
/// try secrets.add(Array("a secret of this device".utf8), named: "visit")
/// let model = Model()
/// let client = try WakeClient(
///     world.configuration(), secrets: secrets, handler: model, environment: world.environment)
/// try world.feed.publish([Array("a secret of this device".utf8)], note: "see a doctor")
/// try await world.run(client, for: .seconds(3600))
/// #expect(await model.matches.map(\.note) == ["see a doctor"])
/// ```
///
/// It polls every hour, without a random wait after wakes. Its files are removed with it.
public final class TestWorld: Sendable {
    /// The clocks of the device, and the time in which everything happens.
    public let time: SimulatedTime
    /// The feed that the client fetches.
    public let feed: SimulatedFeed
    /// The service that the client registers with.
    public let service: SimulatedService
    /// The network between the client and both.
    public let network: SimulatedNetwork
    /// A directory of this world, for state, cache and whatever the app keeps.
    public let directory: String

    /// Nothing happened for a minute of real time, and `run` had not come to its end.
    public struct Stuck: Error {
        init() {}
    }

    static let patience = Duration.seconds(60)

    /// A world in which nothing was published yet.
    /// - Parameter seed: of everything that is drawn at random.
    public init(seed: UInt64 = 1) throws {
        directory = FileManager.default.temporaryDirectory.path + "/reveille-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        time = SimulatedTime(seed: seed, isStepped: false)
        feed = try SimulatedFeed(directory + "/feed", time)
        service = SimulatedService()
        network = SimulatedNetwork(time) { [feed, service] request in
            switch request.purpose {
            case .feed: feed.route(request)
            case .registration, .gateway: service.route(request)
            case .stream:
                .init(
                    body: Self.event((try? feed.head.sequence) ?? 0), contentType: .eventStream)
            }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private static func event(_ sequence: UInt64) -> [UInt8] {
        Array("retry: 30000\nid: \(sequence)\nevent: wake\ndata: \(sequence)\n\n".utf8)
    }

    // MARK: The client

    /// The environment to make clients with. Logs nothing.
    public var environment: ClientEnvironment {
        let (time, network) = (time, network)
        var environment = ClientEnvironment.live
        environment.transport = { (_) throws(FetchError) in network }
        environment.wallSeconds = { time.wall }
        environment.uptime = { time.now }
        environment.sleep = { await time.sleep($0) }
        environment.resumes = ResumeNotifier { time.observe($0) }
        environment.randomUnit = { time.randomUnit() }
        environment.randomBytes = { time.randomBytes($0) }
        environment.executor = { time.executor }
        environment.appExecutor = { time.tasks }
        environment.taskExecutor = time.tasks
        environment.appWork = { time.noteAppWork($0) }
        return environment
    }

    /// The configuration of the one device.
    public func configuration(
        channel: ClientConfiguration.Channel = .poll
    ) -> ClientConfiguration {
        ClientConfiguration(
            feed: "https://feed.example/feed/", feedKey: feed.feedKey.text,
            service: "https://wake.example", channel: channel,
            stateDirectory: directory + "/state", cacheDirectory: directory + "/cache")
    }

    /// The configuration of the one device with a `DataSource`.
    public func sourceConfiguration(
        channel: ClientConfiguration.Channel = .poll
    ) -> SourceConfiguration {
        SourceConfiguration(
            stateDirectory: directory + "/state", service: "https://wake.example",
            channel: channel, pollInterval: .seconds(3600), spread: .zero)
    }

    // MARK: Time

    /// Lets the client's `run` live for so long, and ends it. May be called again.
    /// - Throws: what `run` throws, or ``Stuck``.
    public func run(_ client: WakeClient, for duration: Duration) async throws {
        try await run { [time] in
            let running = Task(executorPreference: time.tasks) { try await client.run() }
            await time.sleep(duration)
            running.cancel()
            try await running.value
        }
    }

    /// Runs `body` to its end with all the simulated time that it takes: for `synchronize`,
    /// `register` and whatever else waits.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, or ``Stuck``.
    public func run<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await time.drive(body)
    }

    /// Sends an event to all open streams, as the service does when something was published.
    public func wake() throws { network.broadcast(Self.event(try feed.head.sequence)) }
}
