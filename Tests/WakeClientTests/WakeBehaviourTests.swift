import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

extension BehaviourTests {
    static func pushToken(_ text: [UInt8] = token) throws -> AppPushToken {
        try AppPushToken(.fcm, text: text)
    }

    /// Lets a client run beside `body`, which ends it.
    private func beside(
        _ world: World, _ channel: ClientConfiguration.Channel = .stream,
        _ body: @escaping @Sendable (WakeClient) async throws -> Void
    ) throws {
        try world.time.run {
            let client = try world.client(channel)
            try await world.live(client, for: .zero) { try await body(client) }
        }
    }

    @Test(
        "wakes: a thousand in a second are two cycles at most and one notification",
        arguments: [0, 60] as [UInt32], [false, true])
    func thousandWakes(spread: UInt32, isOffline: Bool) throws {
        let settings = FeedSettings(pollSeconds: 86_400, spreadSeconds: spread)
        let world = try World(settings: settings)
        world.secrets.add("visit", Self.secret)
        try beside(world) { client in
            await world.time.sleep(.seconds(1000))
            let sequence = try world.feed.publish([Self.secret])
            let before = world.headFetches.count
            if isOffline { world.network.fail(.feed, with: .network(code: 7)) }
            world.feed.tamper { _, bytes in .init(body: bytes, delay: .seconds(20)) }
            let pushes = Task(executorPreference: world.time.tasks) {
                await withTaskGroup(of: Void.self) { group in
                    for index in 0..<1000 {
                        world.network.broadcast(World.event(sequence))
                        group.addTask {
                            let reason = index % 2 == 0 ? SyncReason.push : .wake(hint: sequence)
                            _ = try? await client.synchronize(reason)
                        }
                        await world.time.sleep(.milliseconds(1))
                    }
                }
            }
            await pushes.value
            // Failures back off; what they ask for by themselves comes later.
            #expect((1...(isOffline ? 4 : 2)).contains(world.headFetches.count - before))
            world.network.fail(.feed, with: nil)
            await world.time.sleep(.seconds(7200))
        }
        #expect(world.handler.matches.count == 1)
    }

    @Test("wakes: every 10 ms for a minute, slow cycles end and find what is published midway")
    func constantWakes() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        world.secrets.add("visit", Self.secret)
        try beside(world) { client in
            await world.time.sleep(.seconds(1000))
            world.feed.tamper { _, bytes in .init(body: bytes, delay: .seconds(4)) }
            let before = world.headFetches.count
            var sequence: UInt64 = 0
            var published = Duration.zero
            for tick in 0..<6000 {
                if tick == 3100 {
                    sequence = try world.feed.publish([Self.secret])
                    published = world.time.now
                }
                world.network.broadcast(World.event(sequence))
                await world.time.sleep(.milliseconds(10))
            }
            // One after the other, all the time, and none cut short.
            #expect((10...13).contains(world.headFetches.count - before))
            let delivered = try #require(world.handler.times.first)
            // What runs does not know it yet; the next one does: two heads and the batch.
            #expect(delivered - published <= .seconds(14) + .milliseconds(200))
            #expect(await client.status.failure == nil)
        }
        #expect(world.handler.matches.count == 1)
    }

    @Test("wakes: the same news by the stream and by a push is one cycle")
    func bothChannels() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 60))
        try world.feed.publishCover()
        try beside(world) { client in
            await world.time.sleep(.seconds(1000))
            let sequence = try world.feed.publish([Self.secret])
            let before = world.headFetches.count
            world.network.broadcast(World.event(sequence))
            _ = try await client.synchronize(.push)
            await world.time.sleep(.seconds(200))
            #expect(world.headFetches.count - before == 1)
        }
    }

    @Test("wakes: one that comes after the head's fetch began is never lost")
    func lateWake() throws {
        for moment in 1...40 {
            let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
            world.secrets.add("visit", Self.secret)
            try beside(world) { client in
                await world.time.sleep(.seconds(1000))
                try world.feed.publishCover()
                world.feed.tamper { _, bytes in .init(body: bytes, delay: .seconds(1)) }
                let sequence = try world.feed.head.sequence
                world.network.broadcast(World.event(sequence))
                // At any moment of a cycle of two seconds, and just after.
                await world.time.sleep(.milliseconds(Int64(moment) * 60))
                let newer = try world.feed.publish([Self.secret])
                world.network.broadcast(World.event(newer))
                await world.time.sleep(.seconds(30))
                #expect(world.handler.matches.count == 1, "moment \(moment)")
            }
        }
    }

    /// One secret, whose reading takes a while.
    private struct SlowSecrets: LocalSecrets {
        let time: SimulatedTime
        let work: Duration

        func generation() -> UInt64 { 1 }

        func lend(to body: (String, Span<UInt8>) -> Void) async {
            await time.sleep(work)
            let secret = BehaviourTests.secret
            body("visit", secret.span)
        }
    }

    @Test("requests: the time that the secrets take to read shows in none, and they are found")
    func slowSecrets() throws {
        let times = try [Duration.zero, .milliseconds(700), .seconds(7)].map { work in
            let world = try World()
            for note in ["one", "two", "three"] {
                try world.feed.publish([Self.secret], note: note)
            }
            let secrets = SlowSecrets(time: world.time, work: work)
            try world.time.run {
                let client = try WakeClient(
                    world.configuration(.stream), secrets: secrets, handler: world.handler,
                    environment: world.environment)
                try await world.live(client, for: .seconds(60)) {
                    await world.time.sleep(.seconds(30))
                    let sequence = try world.feed.publish([Self.secret], note: "four")
                    world.network.broadcast(World.event(sequence))
                }
                #expect(await client.status.sequence == 4)
            }
            #expect(world.handler.matches.count == 4)
            return world.network.requestTimes(to: .feed)
        }
        #expect(times[0].count > 6, "head, keys, three batches; head, batch")
        #expect(times[1] == times[0] && times[2] == times[0])
    }

    @Test("polling: at once on start, on resume from suspend and on reconnect")
    func pollsAtOnce() throws {
        let alone = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        try beside(alone, .poll) { _ in
            await alone.time.sleep(.seconds(2))
            #expect(alone.headFetches.count == 1)
        }
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        try world.feed.publishCover()
        try beside(world) { _ in
            await world.time.sleep(.seconds(15))
            // One for the start; the stream's first event came before it had ended, and is followed
            // within ten seconds, as no head has said otherwise.
            #expect((1...2).contains(world.headFetches.count))
            #expect(world.headFetches.first.map(PacedTransport.isBegin) == true)
            let start = world.headFetches.count
            await world.time.sleep(.seconds(1000))
            #expect(world.headFetches.count == start)
            world.time.suspend(for: .seconds(3 * 3600), isTold: false)
            // Noticed when the sleep is over during which the machine was suspended.
            await world.time.sleep(.seconds(901))
            #expect(world.headFetches.count == start + 1)
            await world.time.sleep(.seconds(1000))
            world.network.dropStreams()
            // What the first event names is here already.
            await world.time.sleep(.seconds(60))
            #expect(world.headFetches.count == start + 1)
            try world.feed.publishCover()
            world.network.dropStreams()
            await world.time.sleep(.seconds(60))
            #expect(world.headFetches.count == start + 2)
        }
    }

    @Test("polling: underneath the stream, at random, and clamped whatever the feed says")
    func pollsClamped() throws {
        for (asked, shortest, longest) in [
            (UInt32(1), 900, 900), (3600, 1800, 5400), (0, 7200, 21_600), (.max, 86_400, 86_400),
        ] {
            let settings = FeedSettings(pollSeconds: asked, spreadSeconds: 0)
            let world = try World(seed: UInt64(asked), settings: settings)
            try world.feed.publishCover()
            try beside(world) { _ in
                for _ in 0..<720 where world.headFetches.count < 500 {
                    await world.time.sleep(.seconds(3600))
                }
            }
            let headFetches = world.headFetches.drop { $0 < .seconds(12) }
            let gaps = zip(headFetches, headFetches.dropFirst()).map { $1 - $0 }
            #expect(gaps.count >= 28)
            for gap in gaps {
                #expect(gap > .seconds(shortest - 2) && gap < .seconds(longest + 3), "\(asked)")
            }
            let isRandom = Set(gaps.map(\.wholeSeconds)).count > gaps.count / 2
            #expect(isRandom == (shortest < longest))
        }
    }

    @Test("polling: a server's Retry-After is kept, up to six hours, also when wakes come")
    func retryAfter() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 1, spreadSeconds: 0))
        try beside(world) { _ in
            await world.time.sleep(.seconds(100))
            for (asked, kept) in [(3000, 3000), (20_000, 20_000), (999_999, 21_600)] {
                world.feed.tamper { _, _ in .init(status: 503, retryAfter: asked) }
                let before = world.headFetches.count
                var refused = Duration.zero
                for _ in 0..<300 {
                    world.network.broadcast(World.event(9))
                    await world.time.sleep(.seconds(100))
                    guard world.headFetches.count > before else { continue }
                    if refused == .zero { refused = try #require(world.headFetches.last) }
                    world.feed.tamper(nil)
                    if world.headFetches.count > before + 1 { break }
                }
                let next = world.headFetches[before + 1]
                #expect(next - refused >= .seconds(kept))
                #expect(next - refused <= .seconds(kept + 200))
            }
        }
    }

    @Test(
        "jitter: a wake is followed at random within the feed's spread", arguments: [false, true])
    func jitter(isPush: Bool) throws {
        var waits: [Duration] = []
        for seed in 1...60 as ClosedRange<UInt64> {
            let settings = FeedSettings(pollSeconds: 86_400, spreadSeconds: 600)
            let world = try World(seed: seed, settings: settings)
            try world.feed.publishCover()
            try beside(world) { client in
                await world.time.sleep(.seconds(1000))
                world.network.broadcast(isPush ? [] : World.event(1))
                if isPush {
                    _ = try await client.synchronize(.push)
                } else {
                    await world.time.sleep(.seconds(601))
                }
            }
            waits.append(try #require(world.headFetches.last) - .seconds(1000))
        }
        #expect(waits.allSatisfy { $0 >= .zero && $0 <= .seconds(601) })
        // Evenly: a quarter of them in each quarter, give or take.
        for quarter in 0..<4 {
            let range = Duration.seconds(150 * quarter)..<Duration.seconds(150 * (quarter + 1))
            #expect((5...28).contains(waits.count { range.contains($0) }))
        }
    }

    @Test("light and full: an unchanged head is all that is fetched, a new one brings its batches")
    func lightAndFull() throws {
        let world = try World()
        for _ in 0..<3 { try world.feed.publishCover() }
        try world.time.run {
            let client = try world.client()
            var expected = 0
            for (isNew, requests) in [(false, 5), (false, 1), (true, 2), (false, 1)] {
                if isNew { try world.feed.publish([Self.secret]) }
                try await client.synchronize()
                expected += requests
                #expect(world.network.traces.count == expected)
            }
            // Nobody knew the secret then; the past is searched where it lies.
            world.secrets.add("late", Self.secret)
            #expect(try await client.recheckRetained() == 1)
            #expect(world.network.traces.count == expected)
        }
        let paths = world.network.traces.map(\.path).filter { !$0.hasSuffix("/head") }
        #expect(paths.count == 5 && Set(paths).count == 5)
    }
}
