import ReveilleTesting
import Synchronization
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

/// A device, a feed, a service and the network between them, on simulated time.
final class World: Sendable {
    let scratch: Scratch
    let time: SimulatedTime
    let feed: SimulatedFeed
    let service: SimulatedService
    let network: SimulatedNetwork
    let secrets = DeviceSecrets()
    let handler: RecordingHandler
    /// The service's answer to requests of the stream; nil for a stream with its first event.
    let streamAnswer: Override
    let events = Mutex<[ClientLogEvent]>([])

    init(
        seed: UInt64 = 1, settings: FeedSettings = FeedSettings(pollSeconds: 3600, spreadSeconds: 0)
    ) throws {
        scratch = try Scratch()
        time = SimulatedTime(seed: seed)
        feed = try SimulatedFeed(scratch.path + "/feed", time, settings: settings)
        service = SimulatedService()
        handler = RecordingHandler(time)
        let streamAnswer = Override()
        self.streamAnswer = streamAnswer
        network = SimulatedNetwork(time) { [feed, service] request in
            switch request.purpose {
            case .feed: feed.route(request)
            // A client has no gateways: such a request is answered like any that is unknown.
            case .registration, .gateway: service.route(request)
            case .stream:
                streamAnswer.withLock { $0 }
                    ?? .init(
                        body: Self.event((try? feed.head.sequence) ?? 0),
                        contentType: .eventStream)
            }
        }
    }

    static func event(_ sequence: UInt64) -> [UInt8] {
        Array("retry: 30000\nid: \(sequence)\nevent: wake\ndata: \(sequence)\n\n".utf8)
    }

    var stateDirectory: String { scratch.path + "/state" }
    var cacheDirectory: String { scratch.path + "/cache" }

    var environment: ClientEnvironment {
        let (time, network) = (time, network)
        return ClientEnvironment(
            transport: { (_) throws(FetchError) in network }, wallSeconds: { time.wall },
            uptime: { time.now }, sleep: { await time.sleep($0) },
            resumes: ResumeNotifier { time.observe($0) },
            randomUnit: { time.randomUnit() }, randomBytes: { time.randomBytes($0) },
            executor: { time.executor }, appExecutor: { time.tasks },
            log: { event in self.events.withLock { $0.append(event) } })
    }

    func configuration(_ channel: ClientConfiguration.Channel = .poll) -> ClientConfiguration {
        ClientConfiguration(
            feed: "https://feed.example/feed/", feedKey: feed.feedKey.text,
            service: "https://wake.example", channel: channel, stateDirectory: stateDirectory,
            cacheDirectory: cacheDirectory)
    }

    func client(_ channel: ClientConfiguration.Channel = .poll) throws(ClientError) -> WakeClient {
        try WakeClient(
            configuration(channel), secrets: secrets, handler: handler, environment: environment)
    }

    deinit { failWrites(nil) }

    /// Lets writes to the state fail by the number of errno(3) that `rule` returns, 0 for none.
    func failWrites(_ rule: StateWrites.Rule?) { StateWrites.set(rule, below: stateDirectory) }

    /// Every file of the state, as it is on disk.
    func stateFiles() throws -> [String: [UInt8]] {
        try scratch.contents().filter { $0.key.hasPrefix(stateDirectory + "/") }
    }

    /// When heads were asked for.
    var headFetches: [Duration] {
        network.traces.filter { $0.path.hasSuffix("/feed/head") }.map(\.time)
    }

    /// When registrations were sent, renewed or erased.
    var registrations: [Duration] {
        network.traces.filter { $0.purpose == .registration }.map(\.time)
    }

    /// Lets a client live for so long.
    func live(
        _ client: WakeClient, for duration: Duration,
        while body: @Sendable () async throws -> Void = {}
    ) async throws {
        let running = Task(executorPreference: time.tasks) { try await client.run() }
        try await body()
        await time.sleep(duration)
        running.cancel()
        _ = await running.result
    }
}

/// An answer in place of the usual one.
final class Override: Sendable {
    private let answer = Mutex<SimulatedNetwork.Answer?>(nil)

    func withLock<Result>(
        _ body: (inout sending SimulatedNetwork.Answer?) -> sending Result
    ) -> Result {
        answer.withLock(body)
    }
}

/// Secrets in memory, as an app would keep them.
final class DeviceSecrets: LocalSecrets {
    private let state = Mutex<(generation: UInt64, secrets: [(String, [UInt8])])>((0, []))

    func add(_ id: String, _ secret: [UInt8]) {
        state.withLock { state in
            state.generation += 1
            state.secrets.append((id, secret))
        }
    }

    func generation() -> UInt64 { state.withLock { $0.generation } }

    func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) {
        for (id, secret) in state.withLock({ $0.secrets }) { body(id, secret.span) }
    }
}

/// Remembers what it was delivered, and fails when asked to.
final class RecordingHandler: MatchHandler {
    struct Refusal: Error {}

    private struct State {
        var matches: [(match: Match, time: Duration)] = []
        var warnings: [Warning] = []
        var refusals = 0
    }

    private let state = Mutex(State())
    private let time: SimulatedTime

    init(_ time: SimulatedTime) {
        self.time = time
    }

    var matches: [Match] { state.withLock { $0.matches.map(\.match) } }
    var times: [Duration] { state.withLock { $0.matches.map(\.time) } }
    var warnings: [Warning] { state.withLock { $0.warnings } }

    func refuse(next count: Int) { state.withLock { $0.refusals = count } }

    func didFind(_ match: Match) throws {
        let isRefused = state.withLock { state in
            guard state.refusals > 0 else {
                state.matches.append((match, time.now))
                return false
            }
            state.refusals -= 1
            return true
        }
        if isRefused { throw Refusal() }
    }

    func didWarn(_ warning: Warning) {
        state.withLock { $0.warnings.append(warning) }
    }
}

extension WakeClient {
    /// The secret itself, to look for it where it must not be.
    var instanceBytes: [UInt8]? {
        get throws { try registration.desired()?.instanceToken.bytes.copy() }
    }
}

extension World {
    /// Bytes of the file `head`.
    var headBytes: Int { (try? FeedDirectory(feed.directory).headFile().count) ?? 0 }
}
