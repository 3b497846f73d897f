import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

@Suite("Wakes, polls and silence")
struct WakeTests {
    private static let secret = Array("only this device knows this".utf8)

    private func heads(_ world: World) -> [SimulatedNetwork.Trace] {
        world.network.traces.filter { $0.path.hasSuffix("/head") }
    }

    @Test("a stream client delivers within two seconds of a broadcast when the spread is 0")
    func stream() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        let published = try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1000))
            let sequence = try world.feed.publish([Self.secret])
            let published = world.time.now
            world.network.broadcast(World.event(sequence))
            await world.time.sleep(.seconds(2))
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
            return published
        }
        let delivered = try #require(world.handler.times.first)
        #expect(delivered - published < .seconds(2))
    }

    @Test("a polling client delivers within one and a half poll intervals", arguments: 1...20)
    func polling(seed: UInt64) throws {
        let world = try World(
            seed: seed, settings: FeedSettings(pollSeconds: 3600, spreadSeconds: 0))
        world.secrets.add("visit", Self.secret)
        let published = try world.time.run {
            let client = try world.client()
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(Int64(10_000 + world.time.randomUnit() * 10_000)))
            try world.feed.publish([Self.secret])
            let published = world.time.now
            await world.time.sleep(.seconds(5401))
            running.cancel()
            _ = await running.result
            return published
        }
        let delivered = try #require(world.handler.times.first)
        #expect(delivered - published <= .seconds(5401))
    }

    @Test("a client runs a cycle at once on start, and polls for weeks within its clamps")
    func polls() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 1, spreadSeconds: 0))
        try world.time.run {
            try await world.live(try world.client(), for: .seconds(14 * 86_400))
        }
        let times = heads(world).map(\.time)
        #expect(times.first == PacedTransport.firstStep)
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 >= .seconds(900) && $0 <= .seconds(86_401) })
        #expect(times.count > 1000)
    }

    @Test("a head that is older than the wake's hint is fetched again, five times at most")
    func behind() throws {
        let world = try World(
            settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0, cacheSeconds: 30))
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let old = try FeedDirectory(world.feed.directory).headBytes()
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1000))
            let sequence = try world.feed.publish([Self.secret])
            world.feed.tamper { path, _ in path == "head" ? .init(body: old) : nil }
            world.network.broadcast(World.event(sequence))
            await world.time.sleep(.seconds(70))
            world.feed.tamper(nil)
            await world.time.sleep(.seconds(100))
            #expect(world.handler.matches.count == 1)
            world.feed.tamper { path, _ in path == "head" ? .init(body: old) : nil }
            let headFetches = heads(world).count
            world.network.broadcast(World.event(sequence + 5))
            await world.time.sleep(.seconds(3000))
            #expect(heads(world).count - headFetches <= 12)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a stream that ends is opened again after the server's pause, and missed news is found")
    func reconnects() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(5000))
            try world.feed.publish([Self.secret])
            world.network.dropStreams()
            await world.time.sleep(.seconds(1))
            #expect(await client.status.stream == .waiting)
            await world.time.sleep(.seconds(60))
            #expect(await client.status.stream == .connected)
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
        let opened = world.network.traces.filter { $0.purpose == .stream }.map(\.time)
        #expect(opened.count == 2)
        #expect(opened[1] - opened[0] >= .seconds(5030))
        #expect(world.network.traces.allSatisfy { $0.purpose != .stream || $0.fields.isEmpty })
    }

    @Test("a dead service is asked ever more seldom, and polling goes on")
    func deadService() throws {
        let world = try World()
        world.network.fail(.stream, with: .network(code: 7))
        try world.time.run {
            try await world.live(try world.client(.stream), for: .seconds(86_400))
        }
        let opened = world.network.traces.count { $0.purpose == .stream }
        #expect((60...300).contains(opened))
        #expect((18...60).contains(heads(world).count))
    }

    @Test("calls that come while a cycle runs share the next one")
    func shares() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask { _ = try? await client.synchronize() }
                }
            }
        }
        #expect((1...2).contains(heads(world).count))
    }
}
