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

    @Test("streams that are equally short are cut on the way, and one that lives longer ends that")
    func cut() {
        var cuts = StreamCuts()
        var now = Duration.zero
        /// - Returns: what is said during the next connection.
        func live(_ seconds: Double, isCut: Bool = true) -> Duration? {
            cuts.began(at: now)
            now += .seconds(seconds)
            cuts.ended(after: .seconds(seconds), isCut: isCut)
            cuts.began(at: now)
            return cuts.after(now: now)
        }
        #expect(live(60.1) == nil && live(60.2) == nil)
        #expect(live(60.1) == .seconds(60.2))
        #expect(cuts.after(now: now + .seconds(120)) != nil)
        #expect(cuts.after(now: now + .seconds(121)) == nil, "this one lives")
        #expect(live(60.3) == .seconds(60.3))
        // A network that comes and goes, a restart, and an end that was this client's own.
        for (life, isCut) in [(20.0, true), (300, true), (60, false), (700, true)] {
            #expect(live(life, isCut: isCut) == nil)
            #expect(live(60) == nil && live(60) == nil)
        }
        #expect(live(60) != nil)
        // A proxy that cuts at 100 s whatever is said: nothing needs be exact to the second.
        for life in [99, 103] as [Double] { #expect(live(life) == nil) }
        #expect(live(101) == .seconds(103))
    }

    @Test("the status says after how long streams are cut, and no more when one stays")
    func cutStatus() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client(.stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            for _ in 0..<3 {
                #expect(await client.status.streamCutAfter == nil)
                while world.network.openStreams == 0 { await world.time.sleep(.seconds(1)) }
                await world.time.sleep(.seconds(100))
                world.network.dropStreams()
                await world.time.sleep(.seconds(1))
            }
            while world.network.openStreams == 0 { await world.time.sleep(.seconds(1)) }
            let status = await client.status
            let seconds = try #require(status.streamCutAfter?.wholeSeconds)
            #expect((99...103).contains(seconds))
            #expect(status.json.contains("\"streamCutSeconds\":\(seconds)"))
            let read = try JSONDecoder().decode(ClientStatus.self, from: Data(status.json.utf8))
            #expect(read.streamCutAfter == .seconds(seconds))
            await world.time.sleep(.seconds(300))
            #expect(await client.status.streamCutAfter == nil)
            running.cancel()
            _ = await running.result
        }
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
