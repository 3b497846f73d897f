import ReveilleTesting
import Testing
import WakeFeed
import WakePublish

@testable import Reveille

@Suite("Wakes that the app hands over without waiting")
struct HandedWakeTests {
    private static let secret = Array("only this device knows this".utf8)

    private func world(spread: UInt32 = 0, flags: FeedFlags = []) throws -> World {
        let world = try World(
            settings: FeedSettings(
                pollSeconds: 86_400, spreadSeconds: spread, flags: flags, pauseSeconds: 86_400))
        world.secrets.add("visit", Self.secret)
        return world
    }

    private func heads(_ world: World) -> [Duration] {
        world.network.traces.filter { $0.path.hasSuffix("/head") }.map(\.time)
    }

    @Test("a wake makes a running client fetch at once, and any number of them one or two times")
    func coalesces() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(100))
            let before = heads(world).count
            let sequence = try world.feed.publish([Self.secret])
            for _ in 0..<1000 { client.wake(.wake(hint: sequence)) }
            await world.time.sleep(.seconds(2))
            #expect(world.handler.matches.count == 1)
            #expect((1...2).contains(heads(world).count - before))
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a wake that comes while an older head is on its way is not lost")
    func duringFetch() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(100))
            world.feed.tamper { _, bytes in .init(body: bytes, delay: .seconds(5)) }
            client.wake(.manual)
            await world.time.sleep(.seconds(2))
            try world.feed.publish([Self.secret])
            client.wake(.manual)
            await world.time.sleep(.seconds(30))
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a wake before the client runs is kept, and served by its first cycle")
    func beforeRun() throws {
        let world = try world()
        let old = try FeedDirectory(world.feed.directory).headFile()
        let sequence = try world.feed.publish([Self.secret])
        try world.time.run {
            let client = try world.client()
            client.wake(.wake(hint: sequence))
            // Only the wake knows that there is more than this head says.
            world.feed.tamper { path, _ in path == "head" ? .init(body: old) : nil }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(2))
            world.feed.tamper(nil)
            await world.time.sleep(.seconds(200))
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a push that finds nothing new runs one more cycle, when the caches have let go")
    func fetchesAgain() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(100))
            let before = heads(world).count
            client.wake(.push)
            await world.time.sleep(.seconds(3000))
            #expect(heads(world).count - before == 2)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("while the publisher has wakes paused a push is dropped, and a person is not")
    func paused() throws {
        let world = try world(flags: .paused)
        try world.time.run {
            let client = try world.client()
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(100))
            let before = heads(world).count
            client.wake(.push)
            await world.time.sleep(.seconds(3000))
            #expect(heads(world).count == before)
            client.wake(.manual)
            await world.time.sleep(.seconds(2))
            #expect(heads(world).count == before + 1)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("wakes that follow one another share the first one's jittered start")
    func sharesStart() throws {
        var sum = Duration.zero
        for seed in 1...40 as ClosedRange<UInt64> {
            var schedule = CycleSchedule()
            let time = SimulatedTime(seed: seed)
            for _ in 0..<100 {
                schedule.requestByWake(
                    .init(), at: .seconds(300) * time.randomUnit(), isJittered: true)
            }
            sum += try #require(schedule.nextStart)
        }
        // The mean of the earliest of a hundred draws would be three seconds.
        #expect((.seconds(100)...(.seconds(200))).contains(sum / 40))
    }

    @Test("a jittered start does not keep anything else waiting")
    func urgentFirst() {
        var schedule = CycleSchedule()
        schedule.requestByWake(.init(), at: .seconds(200), isJittered: true)
        schedule.request(.init(), at: .seconds(1))
        #expect(schedule.nextStart == .seconds(1))
        #expect(schedule.begin(at: .seconds(1)) != nil)
        schedule.requestByWake(.init(), at: .seconds(50), isJittered: true)
        #expect(schedule.nextStart == nil)
    }
}
