import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch
import WakePublish

@testable import Reveille

extension BehaviourTests {
    private static func settings(
        _ flags: FeedFlags = [], pause: UInt32 = 0, poll: UInt32 = 86_400
    ) -> FeedSettings {
        FeedSettings(pollSeconds: poll, spreadSeconds: 0, flags: flags, pauseSeconds: pause)
    }

    /// Looks caused by a wake now.
    private static func fetchesAfterWake(_ world: World, _ client: WakeClient) async throws -> Int {
        let before = world.headFetches.count
        world.network.broadcast(World.event(try world.feed.head.sequence + 1))
        await world.time.sleep(.seconds(5))
        return world.headFetches.count - before
    }

    @Test("remote flags: paused ignores wakes for 72 hours at most, and nothing but wakes")
    func paused() throws {
        let world = try World(settings: Self.settings(.paused, pause: .max, poll: 3600))
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let client = try world.client(.stream)
            try await world.live(client, for: .zero) {
                await world.time.sleep(.seconds(60))
                #expect(try await client.register(Self.pushToken()) == .registered)
                try world.feed.publish([Self.secret])
                for _ in 0..<70 {
                    #expect(try await Self.fetchesAfterWake(world, client) == 0)
                    #expect(try await client.synchronize(.push) == .ignored)
                    await world.time.sleep(.seconds(3590))
                }
                // Polled all the while.
                #expect(world.handler.matches.count == 1)
                #expect(world.headFetches.count > 40)
                // From when it was signed last: the publication signed it again.
                await world.time.sleep(.seconds(5 * 3600))
                #expect(try await Self.fetchesAfterWake(world, client) >= 1)
                // Signed again, it holds again.
                try world.feed.resign(Self.settings(.paused, pause: 7200, poll: 3600))
                await world.time.sleep(.seconds(5401))
                #expect(try await Self.fetchesAfterWake(world, client) == 0)
                await world.time.sleep(.seconds(7200))
                #expect(try await Self.fetchesAfterWake(world, client) >= 1)
            }
        }
    }

    @Test("remote flags: no registration sends no push token, erases as ever, and hears wakes")
    func noRegistration() throws {
        let world = try World(settings: Self.settings())
        try world.time.run {
            let client = try world.client(.stream)
            try await world.live(client, for: .zero) {
                await world.time.sleep(.seconds(60))
                #expect(try await client.register(Self.pushToken()) == .registered)
                await world.time.sleep(.seconds(60))
                try world.feed.resign(Self.settings(.noRegistration))
                try await client.synchronize()
                let puts = world.service.puts
                #expect(try await client.register(Self.pushToken(Self.other)) == .suspended)
                await world.time.sleep(.seconds(5 * 86_400))
                #expect(world.service.puts == puts, "not renewed either")
                #expect(try await Self.fetchesAfterWake(world, client) >= 1)
                #expect(try await client.unregister() == .none)
                #expect(world.service.rows.isEmpty)
                #expect(try await client.register(Self.pushToken(Self.other)) == .suspended)
                try world.feed.resign(Self.settings())
                #expect(try await Self.fetchesAfterWake(world, client) >= 1)
                // All clients learn of it at once, and none registers beside its fetch.
                #expect(world.service.rows == [])
                await world.time.sleep(.seconds(601))
                #expect(world.service.rows == [Self.other])
            }
        }
    }

    @Test("remote flags: retired checks what came last, unregisters, says so once, and ends")
    func retired() throws {
        let world = try World(settings: Self.settings())
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(60))
            #expect(try await client.register(Self.pushToken()) == .registered)
            // Published and retired between two cycles, and the network drops the first fetch.
            try world.feed.publish([Self.secret])
            try world.feed.resign(Self.settings(.retired))
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, cutAfter: 100)
            }
            world.network.broadcast(World.event(1))
            await world.time.sleep(.seconds(1))
            world.feed.tamper(nil)
            await world.time.sleep(.seconds(3600))
            #expect(await client.status.registration == .none)
            #expect(await client.status.isRetired)
            #expect(await client.isRunning == false)
            running.cancel()
            _ = await running.result
        }
        #expect(world.service.rows.isEmpty)
        #expect(world.handler.matches.count == 1)
        #expect(world.handler.warnings == [.retired])
        let requests = world.network.traces.count
        // The next start ends by itself, with one cycle at most.
        try world.time.run { try await world.client().run() }
        #expect(world.network.traces.count <= requests + 2)
        #expect(world.handler.warnings == [.retired])
    }

    @Test("remote flags: retired while the app handles a match, the client ends after the app")
    func retiredInDelivery() throws {
        let world = try World(settings: Self.settings())
        world.secrets.add("visit", Self.secret)
        let handler = PatientHandler(world.time)
        try world.time.run {
            let client = try WakeClient(
                world.configuration(.stream), secrets: world.secrets, handler: handler,
                environment: world.environment)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(60))
            try world.feed.publish([Self.secret])
            world.network.broadcast(World.event(1))
            await world.time.sleep(.seconds(60))
            #expect(handler.handled == [])
            try world.feed.resign(Self.settings(.retired))
            world.network.broadcast(World.event(2))
            try await running.value
        }
        #expect(handler.handled == ["match", "retired"])
    }

    @Test("remote flags: retired offline, the client unregisters once the service is reached")
    func retiredOffline() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client(.stream)
            #expect(try await client.register(Self.pushToken()) == .registered)
            world.network.fail(.registration, with: .network(code: 7))
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(10))
            try world.feed.resign(
                FeedSettings(pollSeconds: 3600, spreadSeconds: 0, flags: .retired))
            await world.time.sleep(.seconds(20_000))
            guard case .unregistering = await client.status.registration else {
                Issue.record("no erasure is desired")
                return
            }
            world.network.fail(.registration, with: nil)
            try await running.value
            #expect(await client.status.registration == .none)
        }
        #expect(world.service.rows.isEmpty)
        #expect(world.handler.warnings == [.retired])
    }

    @Test("remote flags: a retired feed that lost its last batch ends all the same")
    func retiredWithoutBatch() throws {
        let world = try World(settings: Self.settings())
        try world.time.run {
            let client = try world.client()
            #expect(try await client.register(Self.pushToken()) == .registered)
            try world.feed.publish([Self.secret])
            try world.feed.resign(Self.settings(.retired))
            world.feed.tamper { path, _ in path == "head" ? nil : .init(status: 404) }
            try await world.live(client, for: .seconds(3600)) {
                await world.time.sleep(.seconds(3600))
                #expect(await client.isRunning == false)
            }
        }
        #expect(world.service.rows.isEmpty)
        #expect(world.handler.warnings == [.retired])
    }

    @Test("remote flags: obeyed only from the signed head with the highest issued")
    func signedFlags() throws {
        for flags in [FeedFlags.paused, .noRegistration, .retired] {
            let world = try World(settings: Self.settings(flags, pause: 7200))
            let obsolete = try FeedDirectory(world.feed.directory).headFile()
            try world.time.run {
                await world.time.sleep(.seconds(600))
                try world.feed.resign(Self.settings())
                let client = try world.client(.stream)
                try await world.live(client, for: .zero) {
                    await world.time.sleep(.seconds(60))
                    for forged in [true, false] {
                        // Offset 104: flags, little-endian.
                        world.feed.tamper { path, bytes in
                            guard path == "head" else { return nil }
                            guard forged else { return .init(body: obsolete) }
                            var bytes = bytes
                            bytes[104] |= UInt8(flags.rawValue)
                            return .init(body: bytes)
                        }
                        _ = try? await client.synchronize()
                        world.feed.tamper(nil)
                        #expect(await client.status.pausedUntil == nil)
                        #expect(await client.status.isRetired == false)
                        let state = try await client.register(Self.pushToken())
                        #expect(state == .registered)
                        #expect(try await Self.fetchesAfterWake(world, client) >= 1)
                        #expect(try await client.unregister() == .none)
                    }
                }
            }
            #expect(world.handler.warnings.isEmpty)
        }
    }
}

/// Takes an hour for each match and warning; forgets those in which it is interrupted.
private final class PatientHandler: MatchHandler {
    private let time: SimulatedTime
    private let state = Mutex<[String]>([])

    init(_ time: SimulatedTime) { self.time = time }

    var handled: [String] { state.withLock { $0 } }

    func didFind(_ match: Match) async throws { await handle("match") }

    func didWarn(_ warning: Warning) async { await handle(warning.code) }

    private func handle(_ name: String) async {
        await time.sleep(.seconds(3600))
        if !Task.isCancelled { state.withLock { $0.append(name) } }
    }
}
