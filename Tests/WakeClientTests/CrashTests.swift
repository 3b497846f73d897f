import Glibc
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch
import WakeSystem

@testable import Reveille

@Suite("Killed at any write, nothing is lost")
struct CrashTests {
    private static let secrets = (1...3).map { Array("a secret number \($0) of the device".utf8) }
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    private func world() throws -> World {
        let world = try World()
        for (index, secret) in Self.secrets.enumerated() {
            world.secrets.add("secret-\(index)", secret)
            try world.feed.publish([secret], note: "note \(index)")
        }
        return world
    }

    /// Lives until `crash`, then again without, and returns how many points were passed at most.
    private func liveAndDie(_ world: World, _ crash: SimulatedCrash) throws {
        try world.time.run {
            // Opening may die as well.
            guard let client = try? world.client() else { return }
            _ = try? await client.synchronize()
            let sequence = await client.status.sequence
            #expect(sequence <= 3)
        }
        try crash.restore()
    }

    @Test("every match is delivered at least once with the same id, and the cursor is never ahead")
    func synchronize() throws {
        var point = 0
        var ids: Set<[MatchID]> = []
        while true {
            let world = try world()
            let crash = SimulatedCrash(of: world, at: point)
            try liveAndDie(world, crash)
            let deliveredBefore = world.handler.matches
            try world.time.run { [point] in
                let client = try world.client()
                // What the cursor has passed was delivered or waits in the outbox.
                let sequence = await client.status.sequence
                let waiting = await client.status.matchesToDeliver
                let delivered = Set(deliveredBefore.map(\.id)).count
                #expect(Int(sequence) <= delivered + waiting, "point \(point)")
                try await client.synchronize()
                #expect(await client.status.sequence == 3)
                #expect(await client.status.matchesToDeliver == 0)
            }
            let delivered = world.handler.matches
            #expect(Set(delivered.map(\.secretID)).count == 3, "point \(point)")
            #expect(delivered.count <= 4, "one match at most is delivered twice: point \(point)")
            ids.insert(Set(delivered.map(\.id)).sorted { $0.text < $1.text })
            guard crash.hasCrashed else { break }
            point += SimulatedCrash.stride
        }
        #expect(point > 20)
        #expect(ids.count == 1, "the same ids whatever happened")
    }

    @Test("killed at any write of a registration, what is desired and one row are left")
    func registration() throws {
        var point = 0
        while true {
            let world = try World()
            let crash = SimulatedCrash(of: world, at: point)
            let accepted = try world.time.run {
                guard let client = try? world.client() else { return false }
                // The call returned: from here on the desired registration must outlive everything.
                return (try? await client.register(try .init(.fcm, text: Self.token))) != nil
            }
            try crash.restore()
            try world.time.run { [point] in
                let client = try world.client()
                try await world.live(client, for: .seconds(86_400))
                let state = await client.status.registration
                #expect(world.service.rows.count <= 1, "point \(point)")
                #expect(!accepted || state == .registered, "point \(point)")
                #expect((state == .registered) == (world.service.rows == [Self.token]))
                #expect(try await client.unregister() == .none)
            }
            #expect(world.service.rows.isEmpty)
            guard crash.hasCrashed else { break }
            point += SimulatedCrash.stride
        }
        #expect(point >= 5)
    }

    @Test("killed at any write of an erasure, it is brought to its end and leaves no byte")
    func erasure() throws {
        var point = 0
        while true {
            let world = try World()
            let instance = try world.time.run {
                let client = try world.client()
                _ = try await client.register(try .init(.fcm, text: Self.token))
                return try #require(try await client.instanceBytes)
            }
            let crash = SimulatedCrash(of: world, at: point)
            let accepted = try world.time.run {
                guard let client = try? world.client() else { return false }
                return (try? await client.unregister()) != nil
            }
            try crash.restore()
            try world.time.run { [point] in
                let client = try world.client()
                if !accepted { _ = try await client.unregister() }
                try await world.live(client, for: .seconds(86_400))
                #expect(await client.status.registration == .none)
                // While it lives: closing a database tidies up by itself.
                for (path, bytes) in try world.scratch.contents() {
                    let holds = bytes.holds(instance)
                    #expect(!holds, "point \(point) \(path)")
                }
            }
            #expect(world.service.rows.isEmpty)
            guard crash.hasCrashed else { break }
            point += SimulatedCrash.stride
        }
        #expect(point >= 5)
    }

    @Test("a full disk moves no cursor, loses no match and is one warning")
    func fullDisk() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            // For an hour.
            world.failWrites { [time = world.time] in time.now < .seconds(3600) ? ENOSPC : 0 }
            let running = Task(executorPreference: world.time.tasks) { try await client.run() }
            await world.time.sleep(.seconds(1800))
            #expect(await client.status.sequence == 0)
            #expect(world.handler.matches.isEmpty)
            #expect(await client.status.failure == .diskFull)
            await world.time.sleep(.seconds(4 * 3600))
            #expect(await client.status.sequence == 3)
            running.cancel()
            _ = await running.result
        }
        #expect(world.handler.matches.count == 3)
        #expect(world.handler.warnings.count { $0 == .diskFull } == 1)
    }
}
