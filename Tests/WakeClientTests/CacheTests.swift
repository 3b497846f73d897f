import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("Batches that are kept for secrets added later")
struct CacheTests {
    private static let secret = Array("only this device knows this".utf8)
    /// The most bytes of a cover batch; it has hardly less.
    private static let batch = 8192 * 50 / 8 + 256

    private func client(_ world: World, capacity: Int) throws -> WakeClient {
        var configuration = world.configuration()
        configuration.cacheCapacity = capacity
        return try WakeClient(
            configuration, secrets: world.secrets, handler: world.handler,
            environment: world.environment)
    }

    private func directory(_ world: World) throws -> String {
        world.cacheDirectory + "/" + world.feed.feedKey.feedID.text
    }

    @Test("the bound holds while a cycle fetches many, and the newest stay", arguments: 0...3)
    func bound(_ batches: Int) throws {
        let world = try World()
        for _ in 0..<6 { try world.feed.publishCover(digests: 8192) }
        let directory = try directory(world)
        let most = Mutex(0)
        world.feed.tamper { path, _ in
            let names = (try? Files.names(in: directory)) ?? []
            let kept = names.filter { $0.hasPrefix("0") && !$0.hasSuffix(".part") }.count
            most.withLock { $0 = max($0, kept) }
            return nil
        }
        try world.time.run {
            let client = try client(world, capacity: batches * Self.batch + 100)
            #expect(try await client.synchronize() == .checked(batches: 6, matches: 0))
        }
        #expect(most.withLock { $0 } == batches)
        let cache = FeedCache(world.cacheDirectory, feed: world.feed.feedKey.feedID, capacity: 1)
        #expect(
            cache.batches().map(\.sequence)
                == (0..<UInt64(batches)).map { $0 + 7 - UInt64(batches) })
    }

    @Test("what is not ours in the directory stays, whatever its name, also when all is erased")
    func foreign() throws {
        let world = try World()
        let directory = try directory(world)
        try Files.makeDirectory(directory)
        let names = [
            "notes.txt", "notes.part", "00000000000000000001-nothexadecimal!!",
            "00000000000000000001-0123456789abcde", "00000000000000000001-0123456789abcdef.bak",
            "+0000000000000000001-0123456789abcdef",
        ]
        for name in names { try Files.create(directory + "/" + name, with: [1, 2, 3].span) }
        // Ours, of a batch that no head names any more.
        let old = "00000000000000000009-0123456789abcdef"
        for name in [old, old + ".part"] {
            try Files.create(directory + "/" + name, with: [1].span)
        }
        try world.feed.publishCover()
        try world.time.run {
            let client = try client(world, capacity: 1)
            try await client.synchronize()
            #expect(try Set(Files.names(in: directory)) == Set(names))
            try await client.erase()
        }
        #expect(try Set(Files.names(in: directory)) == Set(names))
    }

    @Test("a negative size is refused, and zero keeps nothing but what is being fetched")
    func sizes() throws {
        let world = try World()
        #expect(throws: ClientError.configuration(.cacheCapacity)) {
            try client(world, capacity: -1)
        }
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret], digests: 43_008)
        try world.time.run {
            let client = try client(world, capacity: 0)
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, cutAfter: 200_000)
            }
            await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            world.feed.tamper(nil)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
        #expect(world.network.traces.compactMap(\.range) == [196_608])
        #expect(try Files.names(in: directory(world)) == [])
    }
}
