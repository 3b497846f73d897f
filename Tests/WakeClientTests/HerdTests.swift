import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

@Suite("Many clients at once")
struct HerdTests {
    private static let secret = Array("only this device knows this".utf8)

    @Test("a thousand clients whose service restarts fetch the head over the whole spread")
    func restart() throws {
        let spread = 600
        let settings = FeedSettings(pollSeconds: 86_400, spreadSeconds: UInt32(spread))
        let world = try World(settings: settings)
        try world.feed.publishCover()
        let count = 1000
        try world.time.run {
            let clients = try (0..<count).map { index in
                var configuration = world.configuration(.stream)
                configuration.stateDirectory += "-\(index)"
                configuration.cacheDirectory += "-\(index)"
                return try WakeClient(
                    configuration, secrets: world.secrets, handler: world.handler,
                    environment: world.environment)
            }
            let running = clients.map { client in
                Task(executorPreference: world.time.tasks) { try await client.run() }
            }
            await world.time.sleep(.seconds(1000))
            #expect(world.network.openStreams == count)
            // While nobody listens something is published.
            world.network.dropStreams()
            try world.feed.publish([Self.secret])
            let (start, before) = (world.time.now, world.headFetches.count)
            await world.time.sleep(.seconds(60 + spread))
            let waits = world.headFetches.dropFirst(before).map { $0 - start }
            // Polls of a day apart.
            #expect((count...count + 20).contains(waits.count), "\(waits.count)")
            // Evenly over the spread: in each tenth a tenth, give or take five deviations.
            for tenth in 1..<10 {
                let width = Duration.seconds(spread) / 10
                let range = width * tenth..<width * (tenth + 1)
                let inside = waits.count { range.contains($0 - .seconds(20)) }
                #expect((50...150).contains(inside), "\(tenth): \(inside)")
            }
            // The second half of a minute, in which all of them came.
            let soon = waits.count { $0 < .seconds(35) }
            #expect(soon < 100, "\(soon)")
            for task in running { task.cancel() }
            for task in running { _ = await task.result }
        }
    }

    @Test("a reconnection that names what is there already brings about no fetch")
    func known() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 10))
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client(.stream)
            try await world.live(client, for: .zero) {
                await world.time.sleep(.seconds(1000))
                let before = world.headFetches.count
                world.network.dropStreams()
                await world.time.sleep(.seconds(1000))
                #expect(world.headFetches.count == before)
            }
        }
    }

    @Test("a first start waits seconds for a wake, and not for a spread that nobody asked for")
    func firstStart() throws {
        for seed in 1...40 as ClosedRange<UInt64> {
            let world = try World(
                seed: seed, settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
            world.secrets.add("visit", Self.secret)
            world.feed.tamper { _, bytes in .init(body: bytes, delay: .seconds(2)) }
            try world.time.run {
                let client = try world.client(.stream)
                try await world.live(client, for: .zero) {
                    // While the first head is on its way.
                    await world.time.sleep(.seconds(1))
                    let sequence = try world.feed.publish([Self.secret])
                    world.network.broadcast(World.event(sequence))
                    await world.time.sleep(.seconds(20))
                    #expect(world.handler.matches.count == 1, "\(seed)")
                }
            }
        }
    }

    @Test("a service that wakes all the time costs a bounded number of heads, and nothing is lost")
    func constantWakes() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client(.stream)
            try await world.live(client, for: .zero) {
                await world.time.sleep(.seconds(1000))
                let start = world.headFetches.count
                for _ in 0..<6 {
                    let before = world.headFetches.count
                    for second in 0..<3600 {
                        // Of a batch that is not there, as well.
                        world.network.broadcast(World.event(second % 2 == 0 ? 1 : 99))
                        if second % 7 == 0 { client.wake(.push) }
                        await world.time.sleep(.seconds(1))
                    }
                    let heads = world.headFetches.count - before
                    #expect(heads <= 2 * CycleSchedule.wakesPerHour + 2)
                    #expect(heads >= CycleSchedule.wakesPerHour - 2)
                }
                // What may come at once, and six hours.
                #expect(world.headFetches.count - start <= 7 * CycleSchedule.wakesPerHour)
                let sequence = try world.feed.publish([Self.secret])
                world.network.broadcast(World.event(sequence))
                await world.time.sleep(.seconds(150))
                #expect(world.handler.matches.count == 1)
                // Quiet hours later a wake is followed at once.
                await world.time.sleep(.seconds(7200))
                let newer = try world.feed.publish([Self.secret + [1]])
                world.network.broadcast(World.event(newer))
                await world.time.sleep(.seconds(2))
                #expect(await client.status.sequence == newer)
            }
        }
    }

    @Test(
        "after a sleep of the machine stream and head are asked for at once", arguments: [1, 9000])
    func resumed(seconds: Int64) throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client(.stream)
            try await world.live(client, for: .zero) {
                await world.time.sleep(.seconds(1000))
                let (heads, streams) = (world.headFetches.count, Self.streams(world))
                world.time.suspend(for: .seconds(seconds))
                await world.time.sleep(.seconds(2))
                #expect(world.headFetches.count == heads + 1)
                #expect(Self.streams(world) == streams + 1)
                #expect(world.network.openStreams == 1)
                #expect(await client.status.stream == .connected)
                // Also in a pause between two connections, which would last for half an hour.
                world.streamAnswer.withLock { $0 = .init(status: 503, retryAfter: 1800) }
                world.network.dropStreams()
                await world.time.sleep(.seconds(100))
                world.streamAnswer.withLock { $0 = nil }
                world.time.suspend(for: .seconds(seconds))
                await world.time.sleep(.seconds(1))
                #expect(await client.status.stream == .connected)
            }
        }
    }

    private static func streams(_ world: World) -> Int {
        world.network.traces.count { $0.purpose == .stream }
    }
}
