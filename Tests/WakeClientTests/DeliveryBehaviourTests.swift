import Glibc
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

extension BehaviourTests {
    @Test("atomicity: while a batch arrives the cursor on disk is before it; then all or nothing")
    func atomicity() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        for note in ["one", "two"] {
            try world.feed.publish([Self.secret + Array(note.utf8)])
        }
        try world.feed.publish([Self.secret], note: "three")
        let seen = Mutex<[UInt64]>([])
        let (configuration, environment) = (world.configuration(), world.environment)
        world.feed.tamper { path, _ in
            guard path != "head" else { return nil }
            let access = try? ProfileAccess(configuration, environment: environment)
            let sequence = (try? access?.status().sequence) ?? .max
            seen.withLock { $0.append(sequence) }
            return nil
        }
        // The power fails between the third batch's commit and the telling.
        let crash = SimulatedCrash(of: world, at: .max)
        world.failWrites {
            let isChecked = world.events.withLock { $0.contains(.cycleEnded(batches: 3)) }
            if isChecked { crash.crashNow() }
            return crash.reach()
        }
        try world.time.run { _ = try? await world.client().synchronize() }
        #expect(seen.withLock { $0 } == [0, 1, 2])
        #expect(crash.hasCrashed)
        // Whatever the dead one still did, nobody heard.
        let before = world.handler.matches.count
        try crash.restore()
        world.network.failEverything(with: .network(code: 7))
        try world.time.run {
            let client = try world.client()
            #expect(await client.status.sequence == 3)
            try await world.live(client, for: .seconds(60))
        }
        #expect(world.handler.matches.dropFirst(before).map(\.noteBytes) == [Array("three".utf8)])
    }

    @Test("an empty note is not the same as none", arguments: [nil, ""])
    func emptyNote(_ note: String?) throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], note: note)
        try world.time.run { try await world.client().synchronize() }
        #expect(world.handler.matches.map(\.note) == [note])
    }

    @Test("delivery: at least once, the same id for ever, and a delivered match stays delivered")
    func telling() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], note: "note")
        world.handler.refuse(next: 6)
        // Every process asks a few times and ends.
        for _ in 0..<4 {
            try world.time.run {
                try await world.live(try world.client(), for: .seconds(3 * 3600))
            }
        }
        #expect(world.handler.matches.count == 1)
        for _ in 0..<3 {
            try world.time.run { await world.time.sleep(.seconds(4 * 86_400)) }
            try world.feed.publish([Self.secret], note: "note", again: true)
            try world.time.run { try await world.client().synchronize() }
        }
        #expect(world.handler.matches.count == 1, "12 days on, within the retention window")
        #expect(world.handler.warnings.isEmpty)
    }

    @Test("delivery: a disk too full to record it is no reason to deliver every minute")
    func tellingOnFullDisk() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], note: "note")
        world.failWrites { world.handler.matches.isEmpty ? 0 : ENOSPC }
        try world.time.run { try await world.live(try world.client(), for: .seconds(86_400)) }
        #expect(world.handler.matches.count == 1)
        #expect(world.handler.warnings.contains(.diskFull))
        // Another process cannot know.
        world.failWrites(nil)
        for _ in 0..<2 { try world.time.run { try await world.client().synchronize() } }
        #expect(world.handler.matches.count == 2)
        #expect(Set(world.handler.matches.map(\.id)).count == 1)
    }

    @Test("silence: a warning after 2 and 7 days without a head, though wakes come")
    func silence() throws {
        for clock in [0, -31_536_000] as [Int64] {
            let world = try World()
            try world.time.run { try await world.client().synchronize() }
            world.network.fail(.feed, with: .network(code: 7))
            world.time.setWall(by: clock)
            var delivered: [(day: Int, warning: Warning)] = []
            for day in 0..<12 {
                // A new process every day.
                try world.time.run {
                    let client = try world.client(.stream)
                    try await world.live(client, for: .zero) {
                        for _ in 0..<24 {
                            world.network.broadcast(World.event(9))
                            await world.time.sleep(.seconds(3600))
                        }
                    }
                }
                for warning in world.handler.warnings.dropFirst(delivered.count) {
                    delivered.append((day, warning))
                }
            }
            #expect(delivered.map(\.warning) == [.silence(days: 2), .silence(days: 7)], "\(clock)")
            #expect([[2, 7], [1, 6]].contains(delivered.map(\.day)), "\(clock)")
        }
    }
}
