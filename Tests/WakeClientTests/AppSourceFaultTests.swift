import Glibc
import ReveilleTesting
import Synchronization
import Testing
import WakeFetch

@testable import Reveille

@Suite("A source of the app's own that misbehaves harms nothing but itself")
struct AppSourceFaultTests {
    private func world() throws -> (World, SimulatedSource) {
        let world = try World()
        let source = SimulatedSource(world.time)
        source.want("red")
        return (world, source)
    }

    @Test("killed at any write, every match is delivered with one id, the cursor never ahead")
    func crashes() throws {
        let words = ["red", "grey", "green", "white", "blue"]
        var point = 0
        while true {
            let world = try World()
            let source = SimulatedSource(world.time)
            for word in ["red", "green", "blue"] { source.want(word) }
            for word in words { source.publish(word) }
            let crash = SimulatedCrash(of: world, at: point)
            try world.time.run {
                guard let client = try? world.client(of: source) else { return }
                _ = try? await client.synchronize()
            }
            try crash.restore()
            let toldBefore = Set(world.handler.matches.map(\.secretID))
            try world.time.run { [point] in
                let client = try world.client(of: source)
                // What the cursor has passed was delivered or waits in the outbox.
                let passed = words.prefix(Int(await client.sourceCursor ?? "0") ?? 99)
                let found = passed.count { ["red", "green", "blue"].contains($0) }
                let waiting = await client.status.matchesToDeliver
                #expect(found <= toldBefore.count + waiting, "point \(point)")
                try await client.synchronize()
                #expect(await client.sourceCursor == "5")
                #expect(await client.status.matchesToDeliver == 0)
            }
            let delivered = world.handler.matches
            #expect(Set(delivered.map(\.secretID)) == ["red", "green", "blue"], "point \(point)")
            #expect(Set(delivered.map(\.id)).count == 3)
            #expect(delivered.count <= 4, "one match at most is delivered twice: point \(point)")
            guard crash.hasCrashed else { break }
            point += 1
        }
        #expect(point > 20)
    }

    @Test("a source that throws is tried again ever more seldom, and what it had is found")
    func backsOff() throws {
        let (world, source) = try world()
        source.misbehave(.throwing(SimulatedSource.Failure()))
        source.publish("red")
        try world.time.run {
            let client = try world.client(of: source) { $0.pollInterval = .seconds(86_400) }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(6 * 3600))
            #expect(await client.status.failure == .source(.failed))
            let times = source.fetches.map(\.time)
            #expect((8...40).contains(times.count))
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
            source.misbehave(nil)
            await world.time.sleep(.seconds(3601))
            #expect(await client.status.failure == nil)
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
        let failures = world.events.withLock { $0 }.compactMap { event -> ClientError? in
            if case .cycleFailed(let error, _) = event { error } else { nil }
        }
        #expect(failures.allSatisfy { $0 == .source(.failed) } && failures.count > 5)
    }

    @Test("a server's own words of when to come back are kept to, and no word of ours is forged")
    func clientErrors() throws {
        let (world, source) = try world()
        source.misbehave(.throwing(ClientError.httpStatus(503, retryAfter: .seconds(3000))))
        try world.time.run {
            let client = try world.client(of: source) { $0.pollInterval = .seconds(86_400) }
            try await world.live(client, for: .seconds(2990))
            #expect(await client.status.failure == .httpStatus(503, retryAfter: .seconds(3000)))
        }
        #expect(source.fetches.count == 1)
        for forged in [ClientError.state(.exposed), .diskFull, .cancelled, .locked] {
            source.misbehave(.throwing(forged))
            try world.time.run {
                let client = try world.client(of: source)
                await #expect(throws: ClientError.source(.failed)) {
                    try await client.synchronize()
                }
            }
        }
        #expect(world.handler.warnings.isEmpty)
    }

    @Test("a check that throws stores nothing of its page")
    func failingCheck() throws {
        let (world, source) = try world()
        source.publish("red")
        source.misbehave(.throwingAtCheck)
        try world.time.run {
            let client = try world.client(of: source)
            await #expect(throws: ClientError.source(.failed)) { try await client.synchronize() }
            #expect(await client.sourceCursor == nil)
            source.misbehave(nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
    }

    @Test("a fetch that takes too long is cancelled, and says so")
    func slow() throws {
        let (world, source) = try world()
        source.publish("red")
        source.answer(after: .seconds(3600))
        try world.time.run {
            let client = try world.client(of: source)
            await #expect(throws: ClientError.source(.slow)) { try await client.synchronize() }
            #expect(world.time.now == .seconds(600))
            source.answer(after: .seconds(599))
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
    }

    @Test("a source that does not let itself be cancelled holds up nothing but further cycles")
    func deaf() throws {
        let (world, source) = try world()
        source.publish("red")
        source.misbehave(.deaf(.seconds(20_000)))
        try world.time.run {
            let client = try world.client(of: source)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(700))
            #expect(await client.status.failure == .source(.slow))
            let token = try AppPushToken(.fcm, text: Array("a-token:of-this-device".utf8))
            #expect(try await client.register(token) == .registered)
            client.wake(.manual)
            await world.time.sleep(.seconds(10_000))
            #expect(source.fetches.count == 1)
            source.misbehave(nil)
            await world.time.sleep(.seconds(15_000))
            #expect(world.handler.matches.count == 1)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a cancelled fetch does not wedge the next one, in a call or in a run")
    func cancelled() throws {
        let (world, source) = try world()
        source.publish("red")
        source.answer(after: .seconds(60))
        try world.time.run {
            let client = try world.client(of: source)
            let first = Task(executorPreference: world.time.tasks) {
                try await client.synchronize()
            }
            let second = Task(executorPreference: world.time.tasks) {
                await world.time.sleep(.seconds(1))
                return try await client.synchronize()
            }
            await world.time.sleep(.seconds(5))
            first.cancel()
            await #expect(throws: ClientError.cancelled) { try await first.value }
            #expect(world.time.now < .seconds(6))
            #expect(await client.sourceCursor == nil)
            #expect(try await second.value == .checked(batches: 1, matches: 1))
            source.publish("grey")
            try await world.live(client, for: .seconds(5))
            #expect(await client.sourceCursor == "1")
            try await world.live(client, for: .seconds(100))
            #expect(await client.sourceCursor == "2")
            #expect(await client.status.failure == nil)
        }
    }

    @Test("a cursor that never moves while there is more ends the cycle; its matches are delivered")
    func stuck() throws {
        let (world, source) = try world()
        source.publish("red")
        source.misbehave(.stuck)
        try world.time.run {
            let client = try world.client(of: source)
            await #expect(throws: ClientError.source(.stuck)) { try await client.synchronize() }
            #expect(source.fetches.count == 2)
            #expect(world.handler.matches.count == 1)
            // Forever, in a daemon: no more often than any other failure.
            try await world.live(client, for: .seconds(6 * 3600))
            #expect(source.fetches.count < 90)
            #expect(world.handler.matches.count == 1)
        }
    }

    @Test("cursors that run in a circle end after a bounded number of pages")
    func circling() throws {
        let (world, source) = try world()
        source.misbehave(.circling)
        try world.time.run {
            let client = try world.client(of: source)
            await #expect(throws: ClientError.source(.endless)) { try await client.synchronize() }
            #expect(source.fetches.count == AppSourceCycle.pagesPerCycle)
        }
    }

    @Test("a cursor of 4096 bytes is kept; one more byte is refused, and nothing is stored")
    func longCursors() throws {
        let (world, source) = try world()
        source.publish("red")
        try world.time.run {
            let client = try world.client(of: source)
            source.misbehave(.longCursor(4097))
            await #expect(throws: ClientError.source(.cursorTooLarge)) {
                try await client.synchronize()
            }
            #expect(await client.sourceCursor == nil)
            #expect(world.handler.matches.isEmpty)
            source.misbehave(.longCursor(4096))
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
            #expect(await client.sourceCursor?.utf8.count == 4096)
        }
        // An empty one is a cursor like any other, also after a restart.
        source.misbehave(.longCursor(0))
        try world.time.run { try await world.client(of: source).synchronize() }
        try world.time.run {
            let client = try world.client(of: source)
            #expect(await client.sourceCursor == "")
        }
    }

    @Test("silence is a warning after two and after seven days, counted from the last good fetch")
    func silence() throws {
        let (world, source) = try world()
        try world.time.run {
            let client = try world.client(of: source, .stream)
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(86_400))
            source.misbehave(.throwing(SimulatedSource.Failure()))
            let verified = try #require(await client.status.lastVerified)
            var delivered: [Int64] = []
            // Wakes keep coming: they prove nothing.
            for _ in 0..<(10 * 24) {
                client.wake(.push)
                world.network.broadcast(World.event(9))
                await world.time.sleep(.seconds(3600))
                if world.handler.warnings.count > delivered.count {
                    delivered.append(world.time.wall - verified.wholeSeconds)
                }
            }
            #expect(world.handler.warnings == [.silence(days: 2), .silence(days: 7)])
            try #require(delivered.count == 2)
            for (days, seconds) in zip([2, 7] as [Int64], delivered) {
                let due: Int64 = days * 86_400
                #expect(seconds >= due && seconds <= due + 4000)
            }
            source.misbehave(nil)
            await world.time.sleep(.seconds(86_400))
            #expect(await client.status.failure == nil)
            running.cancel()
            _ = await running.result
        }
    }

    @Test("a full disk moves no cursor and loses no match")
    func fullDisk() throws {
        let (world, source) = try world()
        source.publish("red")
        try world.time.run {
            let client = try world.client(of: source)
            // For an hour.
            world.failWrites { [time = world.time] in time.now < .seconds(3600) ? ENOSPC : 0 }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1800))
            #expect(await client.sourceCursor == nil)
            #expect(world.handler.matches.isEmpty)
            await world.time.sleep(.seconds(4 * 3600))
            #expect(await client.sourceCursor == "1")
            running.cancel()
            _ = await running.result
        }
        #expect(world.handler.matches.count == 1)
        #expect(world.handler.warnings.count { $0 == .diskFull } == 1)
    }
}
