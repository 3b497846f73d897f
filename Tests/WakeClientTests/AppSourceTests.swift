import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch
import WakeSystem

@testable import Reveille

@Suite("An app's own data goes through the same cycle as the feed")
struct OwnSourceTests {
    @Test("what the device searches for is delivered once, and the cursor goes on, across restarts")
    func tellsOnce() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        source.publish("green", "red", "blue")
        try world.time.run {
            let client = try world.client(of: source)
            #expect(try await client.synchronize() == .checked(batches: 3, matches: 1))
            #expect(try await client.synchronize() == .upToDate)
        }
        source.publish("yellow", "red")
        try world.time.run {
            let client = try world.client(of: source)
            #expect(try await client.synchronize() == .checked(batches: 2, matches: 0))
            #expect(await client.status.lastVerified != nil)
            #expect(await client.status.sequence == 0)
        }
        #expect(source.fetches.map(\.after) == [nil, "2", "3", "3"])
        #expect(world.handler.matches.map(\.secretID) == ["red"])
        #expect(world.handler.matches.map(\.noteBytes) == [Array("found".utf8)])
        #expect(world.handler.matches.map(\.sequence) == [0])
    }

    @Test("a handler that fails is asked again, and the source is not")
    func retriesTelling() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        source.publish("red")
        world.handler.refuse(next: 3)
        try world.time.run {
            let client = try world.client(of: source) { $0.pollInterval = .seconds(86_400) }
            try await world.live(client, for: .seconds(40_000))
        }
        #expect(world.handler.matches.count == 1)
        #expect(source.fetches.count == 1)
    }

    @Test("it is looked at when asked: once on start, then within half to one and a half intervals")
    func polls() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        try world.time.run {
            try await world.live(try world.client(of: source), for: .seconds(14 * 86_400))
        }
        let times = source.fetches.map(\.time)
        #expect(try #require(times.first) < .seconds(1))
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 >= .seconds(1800) && $0 <= .seconds(5401) })
        #expect(times.count > 250)
    }

    @Test("no app can make it poll more often than four times an hour or less than once a day")
    func clamps() throws {
        for (asked, bounds) in [(0, 900...21_601), (1, 900...901), (900_000, 86_400...86_401)] {
            let world = try World()
            let source = SimulatedSource(world.time)
            try world.time.run {
                let client = try world.client(of: source) {
                    $0.pollInterval = .seconds(Int64(asked))
                }
                try await world.live(client, for: .seconds(7 * 86_400))
            }
            let times = source.fetches.map(\.time)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(
                gaps.allSatisfy {
                    $0 >= .seconds(bounds.lowerBound) && $0 <= .seconds(bounds.upperBound)
                })
            #expect(times.count >= 7)
        }
    }

    @Test("a thousand wakes in a second make two fetches at most, and one notification")
    func coalesces() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        try world.time.run {
            let client = try world.client(of: source, .stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1000))
            let before = source.fetches.count
            source.publish("red")
            source.answer(after: .seconds(30))
            for tick in 0..<1000 {
                world.network.broadcast(World.event(UInt64(tick + 1)))
                await world.time.sleep(.milliseconds(1))
            }
            // The second one came for the wakes during the first; a later one runs one more cycle.
            await world.time.sleep(.seconds(60))
            #expect((1...2).contains(source.fetches.count - before))
            await world.time.sleep(.seconds(200))
            running.cancel()
            _ = await running.result
        }
        #expect(world.handler.matches.count == 1)
    }

    @Test("a wake that comes while an older page is on its way is not lost")
    func wakeDuringFetch() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        try world.time.run {
            let client = try world.client(of: source)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(100))
            source.answer(after: .seconds(50))
            client.wake(.manual)
            await world.time.sleep(.seconds(1))
            source.publish("red")
            client.wake(.manual)
            await world.time.sleep(.seconds(110))
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("wakes are spread over the time that the app asks for")
    func spreads() throws {
        var waits: [Duration] = []
        for seed in 1...40 as ClosedRange<UInt64> {
            let world = try World(seed: seed)
            let source = SimulatedSource(world.time)
            try world.time.run {
                let client = try world.client(of: source) {
                    $0.spread = .seconds(200)
                    $0.pollInterval = .seconds(86_400)
                }
                let running = Task(executorPreference: world.time.tasks) { try await client.run() }
                await world.time.sleep(.seconds(1000))
                client.wake(.push)
                await world.time.sleep(.seconds(201))
                running.cancel()
                _ = await running.result
            }
            waits += source.fetches.dropFirst().prefix(1).map { $0.time - .seconds(1000) }
        }
        #expect(waits.count == 40)
        #expect(waits.allSatisfy { $0 >= .zero && $0 <= .seconds(200) })
        #expect((.seconds(70)...(.seconds(130))).contains(waits.reduce(.zero, +) / 40))
    }

    @Test("registration, the event stream and unregistration work as they do with the feed")
    func registers() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        try world.time.run {
            let client = try world.client(of: source, .stream)
            let token = try AppPushToken(.fcm, text: Array("a-token:of-this-device".utf8))
            #expect(try await client.register(token) == .registered)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1000))
            #expect(await client.status.stream == .connected)
            source.publish("red")
            world.network.broadcast(World.event(0))
            await world.time.sleep(.seconds(1))
            #expect(world.handler.matches.count == 1)
            #expect(try await client.unregister() == .none)
            running.cancel()
            _ = await running.result
        }
        #expect(world.service.rows.isEmpty)
        #expect(world.network.traces.allSatisfy { $0.purpose != .feed })
    }

    @Test("no request and no fetch is caused by a match")
    func sameTraces() throws {
        func traces(_ wanted: String) throws -> ([SimulatedNetwork.Trace], [Duration]) {
            let world = try World(seed: 5)
            let source = SimulatedSource(world.time)
            source.want(wanted)
            source.publish("red")
            try world.time.run {
                let client = try world.client(of: source, .stream)
                try await world.live(client, for: .seconds(86_400))
            }
            #expect(world.handler.matches.count == (wanted == "red" ? 1 : 0))
            return (world.network.traces, source.fetches.map(\.time))
        }
        let matched = try traces("red")
        let other = try traces("something else")
        #expect(matched == other)
        #expect(matched.1.count > 15)
    }

    @Test("what is added later is checked against what the source kept, without a fetch")
    func recheck() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.publish("red", "green")
        try world.time.run {
            let client = try world.client(of: source)
            try await client.synchronize()
            let (fetches, rechecks) = (source.fetches.count, source.rechecks)
            source.want("green")
            #expect(try await client.recheckRetained() == 1)
            #expect(try await client.recheckRetained() == 0)
            #expect(source.rechecks == rechecks + 1)
            try await client.deliver()
            #expect(source.fetches.count == fetches)
            #expect(world.network.traces.isEmpty)
        }
        #expect(world.handler.matches.map(\.secretID) == ["green"])
    }

    @Test("a profile of a feed is refused to a source of the app's own, and the other way round")
    func otherKind() throws {
        let first = try World()
        try first.feed.publishCover()
        try first.time.run { try await first.client().synchronize() }
        #expect(throws: ClientError.configuration(.otherFeed)) {
            try first.client(of: SimulatedSource(first.time))
        }
        let second = try World()
        let source = SimulatedSource(second.time)
        try second.time.run { try await second.client(of: source).synchronize() }
        #expect(throws: ClientError.configuration(.otherFeed)) { try second.client() }
        _ = try second.client(of: source)
    }

    @Test("erasing forgets the cursor, and everything is checked again")
    func erases() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        source.publish("red")
        try world.time.run {
            let client = try world.client(of: source)
            try await client.synchronize()
            try await client.erase()
            #expect(await client.sourceCursor == nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
        #expect(source.fetches.map(\.after) == [nil, nil])
        #expect(world.handler.matches.count == 2)
        #expect(Set(world.handler.matches.map(\.id)).count == 1)
    }

    @Test("a match is delivered once, and again when it comes back after the retention")
    func tombstones() throws {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.bringEverything()
        source.want("red")
        source.publish("red")
        try world.time.run {
            let client = try world.client(of: source)
            try await world.live(client, for: .seconds(60 * 86_400))
            #expect(world.handler.matches.count == 1)
            source.unpublishAll()
            source.publish("other")
            try await world.live(client, for: .seconds(13 * 86_400))
            source.publish("red")
            try await world.live(client, for: .seconds(86_400))
            #expect(world.handler.matches.count == 1)
            source.unpublishAll()
            try await world.live(client, for: .seconds(16 * 86_400))
            source.publish("red")
            try await world.live(client, for: .seconds(86_400))
        }
        #expect(world.handler.matches.count == 2)
    }

    @Test("an item's id depends on every byte of it and on nothing else, and nothing prints it")
    func items() {
        let one = Match(item: [1, 2, 3], secretID: "a", note: "9")
        #expect(one.id == Match(item: [1, 2, 3], secretID: "b").id)
        #expect(one.id != Match(item: [1, 2], secretID: "a", note: "3").id)
        #expect(one.id != Match(item: [], secretID: "a").id)
        #expect(one.id.bytes.count == 16)
        let cursor = DataCursor(Array("where I was".utf8))
        #expect("\(cursor) \(String(reflecting: cursor))" == "(DataCursor) (DataCursor)")
        #expect(Mirror(reflecting: cursor).children.isEmpty)
    }
}
