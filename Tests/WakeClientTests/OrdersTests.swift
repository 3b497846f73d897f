import Testing
import WakeFeed
import WakeFetch

@testable import WakeClient

@Suite("What the publisher may order, and how far")
struct OrdersTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    @Test("while wakes are paused they are ignored and polling finds what is published")
    func paused() throws {
        let world = try World(
            settings: FeedSettings(
                pollSeconds: 3600, spreadSeconds: 0, flags: .paused, pauseSeconds: 20_000))
        world.secrets.add("visit", Self.secret)
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(60))
            #expect(await client.status.pausedUntil != nil)
            let before = world.network.traces.count { $0.purpose == .feed }
            let sequence = try world.feed.publish([Self.secret])
            for _ in 0..<10 {
                world.network.broadcast(World.event(sequence))
                await world.time.sleep(.seconds(10))
            }
            #expect(world.network.traces.count { $0.purpose == .feed } == before)
            #expect(try await client.synchronize(.push) == .ignored)
            await world.time.sleep(.seconds(5400))
            #expect(world.handler.matches.count == 1)
            await world.time.sleep(.seconds(20_000))
            #expect(await client.status.pausedUntil == nil)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("while registrations are off no push token is sent, and afterwards it is")
    func noRegistration() throws {
        let settings = FeedSettings(
            pollSeconds: 3600, spreadSeconds: 0, flags: .noRegistration)
        let world = try World(settings: settings)
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            #expect(try await client.register(try .init(.fcm, text: Self.token)) == .suspended)
            try await world.live(client, for: .seconds(86_400))
            #expect(world.service.puts == 0)
            try world.feed.resign(FeedSettings(pollSeconds: 3600, spreadSeconds: 0))
            try await world.live(client, for: .seconds(7200))
            #expect(await client.status.registration == .registered)
        }
        #expect(world.service.rows == [Self.token])
    }

    @Test("a retired feed has the client unregister, say so once, and end")
    func retired() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client(.stream)
            #expect(try await client.register(try .init(.fcm, text: Self.token)) == .registered)
            world.network.fail(.registration, with: .network(code: 7))
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(10))
            try world.feed.resign(
                FeedSettings(pollSeconds: 3600, spreadSeconds: 0, flags: .retired))
            await world.time.sleep(.seconds(20_000))
            guard case .unregistering = await client.status.registration else {
                Issue.record("the erasure is not wished")
                return
            }
            world.network.fail(.registration, with: nil)
            try await running.value
            #expect(await client.status.registration == .none)
        }
        #expect(world.service.rows.isEmpty)
        #expect(world.handler.warnings == [.retired])
    }

    @Test("an older head cannot bring an older order back")
    func oldOrders() throws {
        let world = try World(
            settings: FeedSettings(pollSeconds: 3600, spreadSeconds: 0, flags: .noRegistration))
        let old = try FeedDirectory(world.feed.directory).headBytes()
        try world.time.run {
            await world.time.sleep(.seconds(3600))
            try world.feed.resign(FeedSettings(pollSeconds: 3600, spreadSeconds: 0))
            let client = try world.client()
            try await client.synchronize()
            world.feed.tamper { path, _ in path == "head" ? .init(body: old) : nil }
            try await client.synchronize()
            #expect(try await client.register(try .init(.fcm, text: Self.token)) == .registered)
        }
    }
}
