import Glibc
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeSystem

@testable import Reveille

@Suite("Loops over events", .timeLimit(.minutes(2)))
struct EventTests {
    private static func secret(_ number: UInt8) -> [UInt8] {
        [UInt8](repeating: number, count: 32)
    }

    /// A world with these secrets, all of them published.
    private func world(_ secrets: ClosedRange<UInt8> = 1...1) throws -> World {
        let world = try World()
        for number in secrets { world.secrets.add("\(number)", Self.secret(number)) }
        try world.feed.publish(secrets.map(Self.secret), note: "planted")
        return world
    }

    private func client(_ world: World) throws -> WakeClient {
        try WakeClient(
            world.configuration(), secrets: world.secrets, environment: world.environment)
    }

    @Test("an acknowledged match is never delivered again, and nothing of it is left")
    func acknowledged() throws {
        let world = try world()
        try world.time.run {
            let loop = EventLoop(of: try client(world), in: world)
            try await loop.live(for: .seconds(3600))
            #expect(loop.matches == ["1"])
            #expect(await loop.client.status.matchesToDeliver == 0)
        }
        let holders = try world.stateFiles().filter { $0.value.holds(Array("planted".utf8)) }
        #expect(holders.keys.sorted() == [])
        try world.time.run {
            let loop = EventLoop(of: try client(world), in: world)
            try await loop.live(for: .seconds(7 * 86_400))
            #expect(loop.matches == [])
        }
    }

    @Test("a delivery that is dropped comes again, later each time, until it is acknowledged")
    func dropped() throws {
        let world = try world()
        try world.time.run {
            let loop = EventLoop(of: try client(world), in: world, acknowledgesAfter: 3)
            try await loop.live(for: .seconds(86_400))
            #expect(loop.matches == ["1", "1", "1", "1"])
            let gaps = zip(loop.times.dropFirst(), loop.times).map { $0 - $1 }
            #expect(gaps.allSatisfy { $0 >= .seconds(60) && $0 <= .seconds(6 * 3600 + 60) })
            #expect(Set(loop.ids).count == 1)
        }
    }

    @Test("on a full disk, what a loop drops or has handled does not come without end")
    func fullDisk() throws {
        let world = try world()
        try world.feed.resign(FeedSettings(flags: .retired))
        try world.time.run {
            let client = try client(world)
            try await client.synchronize()
            world.failWrites { ENOSPC }
            let loop = EventLoop(of: client, in: world, acknowledgesAfter: 1)
            loop.start()
            await world.time.sleep(.seconds(3600))
            #expect(loop.matches == ["1"])
            #expect(loop.warnings.count { $0 == .retired } == 1)
            world.failWrites(nil)
            // Something has to ask.
            try await client.synchronize()
            await world.time.sleep(.seconds(86_400))
            await loop.stop()
            #expect(loop.matches == ["1", "1"])
            #expect(loop.warnings.count { $0 == .retired } == 1)
            #expect(await client.status.matchesToDeliver == 0)
        }
    }

    @Test("what is postponed comes again as what is dropped, and only the first end counts")
    func postponed() throws {
        let world = try world()
        try world.time.run {
            let client = try client(world)
            try await client.synchronize()
            var first: MatchDelivery?
            for await case .match(let delivery) in client.events {
                first = delivery
                break
            }
            let delivery = try #require(first)
            await delivery.postpone()
            await delivery.acknowledge()
            #expect(await client.status.matchesToDeliver == 1)
            let before = world.time.now
            for await case .match(let delivery) in client.events {
                await delivery.acknowledge()
                break
            }
            #expect(world.time.now - before >= .seconds(60))
            #expect(await client.status.matchesToDeliver == 0)
        }
    }

    @Test("a process that dies with a match in its hands delivers it at the next start, at once")
    func killed() throws {
        let world = try world()
        for _ in 0..<3 {
            let crash = SimulatedCrash(of: world, at: .max)
            try world.time.run {
                let client = try client(world)
                try await client.synchronize()
                for await case .match(let delivery) in client.events {
                    crash.crashNow()
                    await delivery.acknowledge()
                    break
                }
            }
            try crash.restore()
        }
        try world.time.run {
            let loop = EventLoop(of: try client(world), in: world)
            try await loop.live(for: .seconds(60))
            #expect(loop.matches == ["1"])
        }
    }

    @Test("a loop that is cancelled on a warning leaves it to the next one")
    func warningKept() throws {
        let world = try world()
        try world.feed.resign(FeedSettings(flags: .retired))
        try world.time.run {
            let client = try client(world)
            try await client.synchronize()
            for _ in 0..<2 {
                let seen = Mutex<Warning?>(nil)
                let loop = Task(executorPreference: world.time.tasks) {
                    for await case .warning(let warning) in client.events {
                        seen.withLock { $0 = warning }
                        await world.time.sleep(.seconds(3600))
                    }
                }
                await world.time.sleep(.seconds(60))
                loop.cancel()
                await loop.value
                #expect(seen.withLock { $0 } == .retired)
            }
            var seen: [Warning] = []
            var iterator = client.events.makeAsyncIterator()
            while seen.isEmpty {
                if case .warning(let warning) = await iterator.next() { seen.append(warning) }
            }
            // Asking for more ends it: there is nothing but the match, and then silence.
            if case .match(let delivery) = await iterator.next() { await delivery.acknowledge() }
            let other = EventLoop(of: client, in: world)
            other.start()
            await world.time.sleep(.seconds(3600))
            await other.stop()
            #expect(other.warnings.isEmpty && other.matches.isEmpty)
        }
    }

    @Test("no more than the bound is out, and the rest comes as what is out is acknowledged")
    func bounded() throws {
        let world = try world(1...100)
        try world.time.run {
            let client = try client(world)
            try await client.synchronize()
            let held = Mutex<[MatchDelivery]>([])
            let loop = Task(executorPreference: world.time.tasks) {
                for await case .match(let delivery) in client.events {
                    held.withLock { $0.append(delivery) }
                }
            }
            await world.time.sleep(.seconds(3600))
            #expect(held.withLock { $0.count } == MatchDelivery.mostUnacknowledged)
            while await client.status.matchesToDeliver > 0 {
                let all = held.withLock { held in
                    defer { held = [] }
                    return held
                }
                for delivery in all { await delivery.acknowledge() }
                await world.time.sleep(.seconds(1))
            }
            loop.cancel()
            await loop.value
            #expect(held.withLock { $0.isEmpty })
        }
    }

    @Test("loops share matches and warnings, and each sees the status")
    func shared() throws {
        let world = try world(1...40)
        try world.feed.resign(FeedSettings(flags: .retired))
        try world.time.run {
            let client = try client(world)
            let loops = (0..<3).map { _ in EventLoop(of: client, in: world) }
            for loop in loops { loop.start() }
            try await client.synchronize()
            await world.time.sleep(.seconds(3600))
            for loop in loops { await loop.stop() }
            let matches: [String] = loops.flatMap(\.matches)
            #expect(matches.sorted() == (1...40).map { "\($0)" }.sorted())
            #expect(loops.flatMap(\.warnings) == [.retired])
            for loop in loops {
                #expect(loop.statuses.last?.matchesToDeliver == 0)
                #expect(loop.statuses.first?.sequence == 0)
            }
        }
    }

    @Test("with a handler, matches and warnings go to it alone, and events are statuses")
    func besideHandler() throws {
        let world = try world()
        try world.time.run {
            let loop = EventLoop(of: try world.client(), in: world)
            try await loop.live(for: .seconds(3600))
            #expect(world.handler.matches.map(\.secretID) == ["1"])
            #expect(loop.matches.isEmpty && loop.warnings.isEmpty)
            #expect(loop.statuses.contains { $0.sequence == 1 && $0.matchesToDeliver == 0 })
        }
    }

    @Test("a loop ends with `run`, after the last match and warning of a feed that is retired")
    func ends() throws {
        let world = try world()
        try world.feed.resign(FeedSettings(flags: .retired))
        try world.time.run {
            let client = try client(world)
            async let running: Void = client.run()
            var seen: [String] = []
            for await event in client.events {
                switch event {
                case .match(let delivery):
                    seen.append(delivery.match.note ?? "")
                    await delivery.acknowledge()
                case .warning(let warning): seen.append(warning.code)
                case .status: break
                }
            }
            try await running
            #expect(seen == ["retired", "planted"])
            // One that begins now ends as well.
            for await case .match in client.events { Issue.record("delivered again") }
        }
    }

    @Test("nothing is handed out before the last request of the check is answered")
    func afterRequests() throws {
        let world = try world()
        for index in 0..<5 { try world.feed.publish([Self.secret(1)], note: "\(index)") }
        try world.time.run {
            let client = try client(world)
            let loop = EventLoop(of: client, in: world)
            loop.start()
            try await client.synchronize()
            await world.time.sleep(.seconds(3600))
            await loop.stop()
            #expect(loop.matches.count == 6)
            let last = try #require(world.network.traces.map(\.time).max())
            #expect(loop.times.allSatisfy { $0 > last })
        }
    }

    @Test("after a run that was cancelled, a loop that begins first waits for the next run")
    func beginsFirst() throws {
        let world = try world()
        try world.time.run {
            let client = try client(world)
            let first = EventLoop(of: client, in: world)
            try await first.live(for: .seconds(3600))
            #expect(first.matches == ["1"])
            let second = EventLoop(of: client, in: world)
            second.start()
            await world.time.sleep(.seconds(3600))
            try world.feed.publish([Self.secret(1)], note: "again")
            try await world.live(client, for: .seconds(7200))
            await second.ended()
            #expect(second.matches == ["1"])
        }
    }

    @Test("erasing is refused while it runs, and starts over once that has ended")
    func erase() throws {
        let world = try world()
        try world.time.run {
            let loop = EventLoop(of: try client(world), in: world)
            loop.start()
            let running = Task(executorPreference: world.time.tasks) {
                try await loop.client.run()
            }
            await world.time.sleep(.seconds(3600))
            await #expect(throws: ClientError.locked) {
                try await loop.client.erase(force: true)
            }
            #expect(await loop.client.status.sequence == 1)
            running.cancel()
            try await running.value
            try await loop.client.erase()
            #expect(await loop.client.status.sequence == 0)
            let next = EventLoop(of: loop.client, in: world)
            try await next.live(for: .seconds(3600))
            #expect(loop.matches == ["1"])
            #expect(next.matches == ["1"] && next.ids == loop.ids)
        }
    }
}

/// A loop over the events of a client that remembers them, and acknowledges each match.
private final class EventLoop: Sendable {
    private struct State {
        var deliveries: [(match: Match, time: Duration)] = []
        var warnings: [Warning] = []
        var statuses: [ClientStatus] = []
        var drops: Int
        var task: Task<Void, Never>?
    }

    let client: WakeClient
    private let world: World
    private let state: Mutex<State>

    /// - Parameter acknowledgesAfter: deliveries that are dropped first.
    init(of client: WakeClient, in world: World, acknowledgesAfter drops: Int = 0) {
        self.client = client
        self.world = world
        state = Mutex(State(drops: drops))
    }

    var matches: [String] { state.withLock { $0.deliveries.map(\.match.secretID) } }
    var ids: [MatchID] { state.withLock { $0.deliveries.map(\.match.id) } }
    var times: [Duration] { state.withLock { $0.deliveries.map(\.time) } }
    var warnings: [Warning] { state.withLock { $0.warnings } }
    var statuses: [ClientStatus] { state.withLock { $0.statuses } }

    func start() {
        let task = Task(executorPreference: world.time.tasks) {
            for await event in self.client.events { await self.receive(event) }
        }
        state.withLock { $0.task = task }
    }

    func stop() async {
        let task = state.withLock { $0.task }
        task?.cancel()
        await task?.value
    }

    /// Returns when the loop has come to its end by itself.
    func ended() async { await state.withLock { $0.task }?.value }

    /// Beside `run`, for so long.
    func live(for duration: Duration) async throws {
        start()
        try await world.live(client, for: duration)
        await stop()
    }

    private func receive(_ event: ClientEvent) async {
        switch event {
        case .match(let delivery):
            let isDropped = state.withLock { state in
                state.deliveries.append((delivery.match, world.time.now))
                state.drops -= 1
                return state.drops >= 0
            }
            if !isDropped { await delivery.acknowledge() }
        case .warning(let warning): state.withLock { $0.warnings.append(warning) }
        case .status(let status): state.withLock { $0.statuses.append(status) }
        }
    }
}
