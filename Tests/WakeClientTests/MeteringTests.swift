import FoundationEssentials
import Glibc
import ReveilleTesting
import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("A client with a budget of bytes a day")
struct MeteringTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let day: Int64 = 86_400
    private func client(_ world: World, budget: Int?, cache: String? = nil) throws -> WakeClient {
        var configuration = world.configuration()
        configuration.dailyByteBudget = budget
        if let cache { configuration.cacheDirectory = cache }
        return try WakeClient(
            configuration, secrets: world.secrets, handler: world.handler,
            environment: world.environment)
    }

    private func batches(_ world: World) -> [SimulatedNetwork.Trace] {
        world.network.traces.filter { $0.path.firstRange(of: "/b/") != nil }
    }

    /// The first second of a day, so that what a test does fits into one.
    private func world() throws -> World {
        let world = try World()
        world.time.setWall(by: Self.day - world.time.wall % Self.day)
        world.secrets.add("visit", Self.secret)
        return world
    }

    @Test("what does not fit waits for midnight, in order, and nothing is skipped")
    func waits() throws {
        let world = try world()
        for _ in 0..<3 { try world.feed.publishCover(digests: 21_504) }
        try world.feed.publish([Self.secret], note: "the fourth")
        let midnight = Date(seconds: world.time.wall + Self.day)
        try world.time.run {
            // Two batches of 130 KiB, and no third: its rest is begun, then cut.
            let client = try client(world, budget: 360_000)
            let outcome = try await client.synchronize()
            #expect(outcome == .metered(batches: 2, matches: 0, waiting: 2, until: midnight))
            let status = await client.status
            #expect(status.batchesWaiting == 2 && status.waitingUntil == midnight)
            #expect(status.sequence == 2)
            let requests = batches(world).count
            // Nothing is left for today: heads, and no batch is asked for.
            for _ in 0..<5 {
                #expect(
                    try await client.synchronize()
                        == .metered(batches: 0, matches: 0, waiting: 2, until: midnight))
            }
            #expect(batches(world).count == requests)
            let access = try ProfileAccess(
                metered(world, 360_000), environment: world.environment)
            #expect(try access.status().batchesWaiting == 2)
            world.time.setWall(by: Self.day)
            let rest = try await client.synchronize()
            #expect(rest == .checked(batches: 2, matches: 1), "\(rest)")
            #expect(await client.status.batchesWaiting == 0)
            #expect(await client.status.waitingUntil == nil)
        }
        #expect(world.handler.matches.map(\.noteBytes) == [Array("the fourth".utf8)])
    }

    private func metered(_ world: World, _ budget: Int) -> ClientConfiguration {
        var configuration = world.configuration()
        configuration.dailyByteBudget = budget
        return configuration
    }

    @Test("a batch of many budgets comes over days, every byte once, and no day brings too much")
    func spread() throws {
        let world = try world()
        // A mebibyte, for the most part notes.
        try world.feed.publish([Self.secret], note: "x", digests: 4096)
        let budget = DailyQuota.least
        try world.time.run {
            let client = try client(world, budget: budget)
            var days = 0
            while await client.status.sequence == 0 {
                let before = world.network.bytesSent
                for _ in 0..<4 { try await client.synchronize() }
                // No server sends more of a batch, not even what nobody takes; heads always come.
                #expect(world.network.bytesSent - before <= budget + 3 * world.headBytes)
                world.time.setWall(by: Self.day)
                days += 1
            }
            #expect((4...8).contains(days), "\(days)")
        }
        #expect(batches(world).allSatisfy { $0.range != nil && $0.rangeEnd != nil })
        let ranges = batches(world).compactMap(\.range)
        #expect(ranges.allSatisfy { $0 % 65_536 == 0 } && ranges == ranges.sorted())
        #expect(Set(ranges).count == ranges.count && !ranges.isEmpty)
        #expect(world.handler.matches.count == 1)
    }

    @Test("a server that ignores ranges, or names no length, is read as far as there is room")
    func unhelpful() throws {
        for isUnannounced in [false, true] {
            let world = try world()
            try world.feed.publish([Self.secret], digests: 43_008)
            world.feed.tamper { path, bytes in
                path == "head"
                    ? nil
                    : .init(
                        body: bytes, isUnannounced: isUnannounced, ignoresRange: !isUnannounced)
            }
            try world.time.run {
                let client = try client(world, budget: DailyQuota.least)
                for _ in 0..<12 where await client.status.sequence == 0 {
                    _ = try await client.synchronize()
                    world.time.setWall(by: Self.day)
                }
                #expect(await client.status.sequence == 1, "\(isUnannounced)")
            }
        }
    }

    @Test("a continued fetch counts what is fetched, not what was there")
    func resumed() throws {
        let world = try world()
        try world.feed.publish([Self.secret], digests: 43_008)
        try world.time.run {
            let client = try client(world, budget: 1 << 20)
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, cutAfter: 200_000)
            }
            await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            #expect(try counted(world) == 4096 + world.headBytes + 200_000)
            world.feed.tamper(nil)
            try await client.synchronize()
            let rest = try world.feed.newestBytes() - 196_608
            #expect(try counted(world) == 4096 + 2 * world.headBytes + 200_000 + rest)
        }
    }

    @Test("a damaged batch that is fetched again is counted again")
    func damaged() throws {
        let world = try world()
        try world.feed.publish([Self.secret], digests: 4096)
        try world.time.run {
            let client = try client(world, budget: 1 << 20)
            world.feed.tamper { path, bytes in
                guard path != "head" else { return nil }
                var bytes = bytes
                bytes[5000] ^= 1
                return .init(body: bytes)
            }
            await #expect(throws: ClientError.corruptBatch) { try await client.synchronize() }
            #expect(
                try counted(world) == 4096 + world.headBytes + 2 * world.feed.newestBytes())
        }
    }

    @Test("a cache on the way that damages a batch every day is passed by though it costs")
    func damagedDaily() throws {
        let world = try world()
        try world.feed.publish([Self.secret], digests: 43_008)
        try world.time.run {
            let client = try client(world, budget: world.feed.newestBytes() + 50_000)
            world.feed.tamper { path, bytes in
                // Damaged in the cache, whole at its origin.
                guard path != "head", world.network.traces.last?.fields.isEmpty == true else {
                    return nil
                }
                var bytes = bytes
                bytes[5000] ^= 1
                return .init(body: bytes)
            }
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
    }

    @Test("killed at any write, no byte that was fetched is forgotten")
    func killed() throws {
        for point in stride(from: 0, to: 60, by: SimulatedCrash.stride) {
            let world = try world()
            for _ in 0..<2 { try world.feed.publishCover(digests: 21_504) }
            let left = Countdown(point)
            world.failWrites { left.isOver ? EIO : 0 }
            try world.time.run {
                let client = try? client(world, budget: 1 << 20)
                _ = try? await client?.synchronize()
            }
            world.failWrites(nil)
            let came = world.network.bytesDelivered
            #expect(try counted(world) >= came, "killed at write \(point)")
        }
    }

    @Test("a clock set back in the middle of a day brings nothing more")
    func setBack() throws {
        let world = try world()
        for _ in 0..<8 { try world.feed.publishCover(digests: 21_504) }
        try world.time.run {
            let client = try client(world, budget: 360_000)
            try await client.synchronize()
            let before = batches(world).count
            for jump in [-3600, -Self.day, -365 * Self.day] {
                world.time.setWall(by: jump)
                try await client.synchronize()
                #expect(batches(world).count == before)
                world.time.setWall(by: -jump)
                try await client.synchronize()
                #expect(batches(world).count == before)
            }
        }
    }

    @Test("without a cache a batch of many budgets is fetched whole, once a day, on a fresh day")
    func uncached() throws {
        let world = try world()
        for _ in 0..<2 {
            try world.feed.publish([Self.secret], note: "x", digests: 2048, again: true)
        }
        // A directory that others can write is not used.
        let cache = world.scratch.path + "/open"
        try Files.makeDirectory(cache + "/" + world.feed.feedKey.feedID.text)
        unsafe chmod(cache + "/" + world.feed.feedKey.feedID.text, 0o777)
        try world.time.run {
            let client = try client(world, budget: DailyQuota.least, cache: cache)
            for sequence in UInt64(1)...2 {
                for _ in 0..<3 { try await client.synchronize() }
                #expect(await client.status.sequence == sequence)
                world.time.setWall(by: Self.day)
            }
        }
        #expect(batches(world).count == 2)
    }

    @Test("a server that ignores Range does not keep a batch away for ever")
    func ignoresRange() throws {
        let world = try world()
        try world.feed.publish([Self.secret], note: "x", digests: 2048)
        world.feed.tamper { path, bytes in
            path == "head" ? nil : .init(body: bytes, ignoresRange: true)
        }
        try world.time.run {
            let client = try client(world, budget: DailyQuota.least)
            try await client.synchronize()
            #expect(await client.status.sequence == 0)
            world.time.setWall(by: Self.day)
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
    }

    @Test("a metered client's requests are the same, match or no match")
    func sameRequests() throws {
        func traces(_ secret: [UInt8]) throws -> [SimulatedNetwork.Trace] {
            let world = try World(seed: 3)
            world.secrets.add("visit", secret)
            let random = Mutex(SplitMix64(seed: 3))
            let source = RandomSource { count in random.withLock { $0.bytes(count) } }
            for _ in 0..<3 {
                try world.feed.publish(
                    [Self.secret], digests: 43_008, again: true, random: source)
            }
            try world.time.run {
                let client = try client(world, budget: DailyQuota.least)
                try await world.live(client, for: .seconds(4 * Self.day))
            }
            #expect(world.handler.matches.count == (secret == Self.secret ? 1 : 0))
            return world.network.traces.map {
                SimulatedNetwork.Trace(
                    time: $0.time, purpose: $0.purpose, method: $0.method,
                    path: $0.path.firstRange(of: "/b/") == nil ? $0.path : "/b/",
                    fields: $0.fields, bodyBytes: $0.bodyBytes, range: $0.range,
                    rangeEnd: $0.rangeEnd)
            }
        }
        let matched = try traces(Self.secret)
        #expect(try matched == traces(Array("what nobody has published".utf8)))
        #expect(matched.contains { $0.range != nil })
    }

    /// What the state says of the day.
    private func counted(_ world: World) throws -> Int {
        try StateDatabase(path: world.stateDirectory + "/client.db").quota(limit: 1 << 20).bytes
    }
}

/// Lets so many things happen.
private final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    var isOver: Bool {
        left.withLock { left in
            left -= 1
            return left < 0
        }
    }
}
