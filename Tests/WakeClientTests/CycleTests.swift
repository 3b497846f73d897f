import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

@Suite("A cycle fetches what everybody fetches and delivers only here")
struct CycleTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let later = Array("a secret that is added later".utf8)

    @Test("a published secret is delivered once, with its note, and the cursor moves")
    func delivers() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.feed.publish([Self.secret], note: "see a doctor")
        try world.time.run {
            let client = try world.client()
            #expect(try await client.synchronize() == .checked(batches: 2, matches: 1))
            #expect(try await client.synchronize() == .upToDate)
            #expect(await client.status.sequence == 2)
        }
        let match = try #require(world.handler.matches.first)
        #expect(world.handler.matches.count == 1)
        #expect(match.secretID == "visit")
        #expect(match.noteBytes == Array("see a doctor".utf8))
        #expect(match.sequence == 2)
    }

    @Test("an item that is published again is delivered once, also after a restart")
    func tellsOnce() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret])
        try world.time.run { try await world.client().synchronize() }
        try world.feed.publish([Self.secret], again: true)
        try world.time.run {
            let outcome = try await world.client().synchronize()
            #expect(outcome == .checked(batches: 1, matches: 0))
        }
        #expect(world.handler.matches.count == 1)
    }

    @Test("a handler that fails is asked again after a minute to six hours, until it succeeds")
    func retriesTelling() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret])
        world.handler.refuse(next: 4)
        try world.time.run {
            try await world.live(try world.client(), for: .seconds(86_400))
        }
        #expect(world.handler.matches.count == 1)
        let waits = world.events.withLock { $0 }.compactMap { event -> Int? in
            if case .deliveryFailed(let seconds) = event { seconds } else { nil }
        }
        #expect(waits.count == 4)
        #expect(waits.allSatisfy { (60...21_600).contains($0) })
    }

    @Test("a batch that breaks off is continued from a 64 KiB mark")
    func resumes() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], digests: 16_384)
        try world.time.run {
            let client = try world.client()
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, cutAfter: 200_000)
            }
            await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            #expect(await client.status.sequence == 0)
            world.feed.tamper(nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
        #expect(world.network.traces.compactMap(\.range) == [196_608])
        #expect(world.handler.matches.count == 1)
    }

    @Test("a server that ignores Range is read from the start")
    func ignoresRange() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], digests: 16_384)
        try world.time.run {
            let client = try world.client()
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, cutAfter: 200_000)
            }
            await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, ignoresRange: true)
            }
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
    }

    @Test("batches beyond retention are a gap with a warning, and what exists is checked")
    func gap() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.time.run { try await world.client().synchronize() }
        for _ in 0..<3 { try world.feed.publishCover() }
        try world.time.run { await world.time.sleep(.seconds(15 * 86_400)) }
        try world.feed.publish([Self.secret])
        try world.time.run {
            let client = try world.client()
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
        #expect(world.handler.warnings.contains(.gap(first: 2, last: 4)))
        #expect(world.handler.matches.count == 1)
    }
}
