import FoundationEssentials
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

@Suite("The first event of the stream")
struct FirstEventTests {
    @Test("one that is kept back: not connected, said, and asked for ever more seldom")
    func silent() throws {
        let world = try World()
        world.streamAnswer.withLock { $0 = .init(contentType: .eventStream) }
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(59))
            #expect(await client.status.stream == .connecting)
            await world.time.sleep(.seconds(2))
            let status = await client.status
            #expect(status.stream == .silent)
            #expect(
                status.lastChecked != nil
                    && status.nextCheck ?? .distantPast > status.lastChecked ?? .distantPast)
            await world.time.sleep(.seconds(86_400))
            #expect(world.network.openStreams <= 1)
            world.streamAnswer.withLock { $0 = nil }
            await world.time.sleep(.seconds(2000))
            #expect(await client.status.stream == .connected)
            running.cancel()
            _ = await running.result
            #expect(await client.status.stream == .unused)
        }
        let tries = world.network.traces.count { $0.purpose == .stream }
        #expect((40...300).contains(tries), "\(tries)")
        let events = world.events.withLock { $0 }
        #expect(events.count { if case .streamSilent = $0 { true } else { false } } > 30)
        #expect(events.count { $0 == .streamConnected } == 1)
    }

    @Test("a refusal says with which status")
    func refused() throws {
        let world = try World()
        world.streamAnswer.withLock { $0 = .init(status: 503) }
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1))
            #expect(await client.status.stream == .refused(status: 503))
            let json = await client.status.json
            #expect(json.contains("\"stream\":\"refused\",\"streamStatus\":503"))
            running.cancel()
            _ = await running.result
        }
    }
}
