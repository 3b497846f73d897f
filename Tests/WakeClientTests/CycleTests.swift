import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import WakeClient

@Suite("A cycle fetches what everybody fetches and tells only here")
struct CycleTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let later = Array("a secret that is added later".utf8)

    @Test("a published secret is told once, with its note, and the cursor moves")
    func tells() throws {
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
        #expect(match.note == Array("see a doctor".utf8))
        #expect(match.sequence == 2)
    }

    @Test("an item that is published again is told once, also after a restart")
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

    @Test("a light look fetches the head alone; a full one each missing batch once")
    func lightAndFull() throws {
        let world = try World()
        for _ in 0..<3 { try world.feed.publishCover() }
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            #expect(world.network.traces.map(\.path).count == 4)
            try await client.synchronize()
            #expect(world.network.traces.count == 5)
            #expect(world.network.traces.last?.path.hasSuffix("/feed/head") == true)
        }
        #expect(Set(world.network.traces.map(\.path)).count == 4)
    }

    @Test("requests for the feed carry nothing of the client, match or no match")
    func sameRequests() throws {
        func traces(_ secret: [UInt8]) throws -> [SimulatedNetwork.Trace] {
            let world = try World(seed: 3)
            world.secrets.add("visit", secret)
            try world.feed.publish([Self.secret], note: "note")
            try world.time.run {
                let client = try world.client(.stream)
                try await world.live(client, for: .seconds(86_400))
            }
            #expect(world.handler.matches.count == (secret == Self.secret ? 1 : 0))
            return world.network.traces.map {
                // Batch names are random here, as decoys are.
                SimulatedNetwork.Trace(
                    time: $0.time, purpose: $0.purpose, method: $0.method,
                    path: $0.path.range(of: "/b/") == nil ? $0.path : "/b/",
                    fields: $0.fields, bodyBytes: $0.bodyBytes, range: $0.range)
            }
        }
        let matched = try traces(Self.secret)
        let other = try traces(Self.later)
        #expect(matched == other)
        #expect(matched.count > 20)
        #expect(matched.allSatisfy { $0.fields.isEmpty && $0.bodyBytes == 0 })
    }

    @Test("a secret that is added later is checked against the past without any request")
    func recheck() throws {
        let world = try World()
        try world.feed.publish([Self.later], note: "yesterday")
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            let requests = world.network.traces.count
            world.secrets.add("late", Self.later)
            #expect(try await client.recheckRetained() == 1)
            #expect(try await client.recheckRetained() == 0)
            try await client.tell()
            #expect(world.network.traces.count == requests)
        }
        #expect(world.handler.matches.map(\.secretID) == ["late"])
        #expect(world.handler.matches.map(\.note) == [Array("yesterday".utf8)])
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
            if case .tellingFailed(let seconds) = event { seconds } else { nil }
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

    @Test("the cache stays under its bound and drops the oldest first")
    func trims() throws {
        let world = try World()
        for _ in 0..<4 { try world.feed.publishCover(digests: 8192) }
        let head = try world.feed.head
        let cache = FeedCache(
            world.cacheDirectory, feed: head.feedID, capacity: 2 * (8192 * 16 + 256))
        try world.time.run { try await world.client().synchronize() }
        #expect(cache.batches().map(\.sequence) == [1, 2, 3, 4])
        cache.trim(head: head)
        #expect(cache.batches().map(\.sequence) == [3, 4])
    }

    @Test("batches beyond retention are a gap that is told, and what exists is checked")
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
