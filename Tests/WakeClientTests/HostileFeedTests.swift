import Foundation
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

@Suite("Whatever a feed or a line does, each fault has its name and moves no cursor")
struct HostileFeedTests {
    private static let secret = Array("only this device knows this".utf8)

    /// A client that has checked batch 1 of a feed that has published batch 2.
    private func world() throws -> World {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.time.run { try await world.client().synchronize() }
        try world.feed.publish([Self.secret])
        return world
    }

    /// Looks once and expects `error`; then the line is clean again and the rest is found.
    private func expect(
        _ error: ClientError, _ tamper: @escaping SimulatedFeed.Tamper
    ) throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            world.feed.tamper(tamper)
            await #expect(throws: error) { try await client.synchronize() }
            #expect(await client.status.sequence == 1)
            #expect(world.handler.matches.isEmpty)
            world.feed.tamper(nil)
            try await client.synchronize()
            #expect(await client.status.sequence == 2)
            #expect(world.handler.matches.count == 1)
        }
    }

    @Test("a captive portal's page is a bad signature, or too large")
    func portal() throws {
        let page = Array(String(repeating: "<html>", count: 3000).utf8)
        try expect(.tooLarge) { _, _ in .init(body: page, contentType: .html) }
        try expect(.badSignature) { _, _ in
            .init(body: Array(page.prefix(4096)), contentType: .html)
        }
        // Not a head that broke off: nothing of it can be continued.
        try expect(.badSignature) { _, _ in
            .init(body: Array(page.prefix(300)), contentType: .html)
        }
    }

    @Test("statuses, resets and bad certificates have their own codes")
    func statuses() throws {
        try expect(.httpStatus(503, retryAfter: .seconds(5))) { _, _ in
            .init(status: 503, retryAfter: 5)
        }
        try expect(.missingBatch) { path, _ in
            path == "head" ? nil : .init(status: 404)
        }
        try expect(.httpStatus(302, retryAfter: nil)) { _, _ in .init(status: 302) }
        let world = try world()
        try world.time.run {
            let client = try world.client()
            world.network.fail(.feed, with: .tls(code: 60))
            await #expect(throws: ClientError.tls(.otherName)) { try await client.synchronize() }
            world.network.fail(.feed, with: .network(code: 7))
            await #expect(throws: ClientError.network) { try await client.synchronize() }
            #expect(await client.status.sequence == 1)
        }
    }

    @Test("a head truncated at any length is refused")
    func truncatedHead() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            for length in stride(from: 0, to: try world.feed.head.byteCount, by: 5) {
                world.feed.tamper { path, bytes in
                    path == "head" ? .init(body: Array(bytes.prefix(length))) : nil
                }
                await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            }
            #expect(await client.status.sequence == 1)
        }
    }

    @Test("a batch truncated at any length is refused, and continued when it comes whole")
    func truncatedBatch() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            for length in stride(from: 0, to: try world.feed.newestBytes(), by: 397) {
                world.feed.tamper { path, bytes in
                    path == "head" ? nil : .init(body: Array(bytes.prefix(length)))
                }
                await #expect(throws: ClientError.truncated) { try await client.synchronize() }
            }
            #expect(await client.status.sequence == 1)
            world.feed.tamper(nil)
            try await client.synchronize()
            #expect(world.handler.matches.count == 1)
        }
    }

    @Test("two thousand flipped bits are refused, in heads and in batches")
    func flippedBits() throws {
        let world = try world()
        try world.time.run {
            let client = try world.client()
            let signed = try world.feed.head.byteCount
            for round in 0..<2000 {
                let draw = world.time.random()
                world.feed.tamper { path, bytes in
                    guard (path == "head") == (round % 2 == 0) else { return nil }
                    var bytes = bytes
                    // Of the file `head` the head: nothing depends on its proof here.
                    let count = path == "head" ? signed : bytes.count
                    bytes[Int(draw % UInt64(count))] ^= 1 << UInt8(draw >> 60 & 7)
                    return .init(body: bytes, delay: .zero)
                }
                await #expect(throws: ClientError.self) { try await client.synchronize() }
            }
            #expect(await client.status.sequence == 1)
            #expect(world.handler.matches.isEmpty)
            world.feed.tamper(nil)
            try await client.synchronize()
            #expect(world.handler.matches.count == 1)
        }
    }

    @Test("a damaged batch is fetched once more, past all caches")
    func corruptOnce() throws {
        let world = try world()
        let count = Mutex(0)
        try world.time.run {
            let client = try world.client()
            world.feed.tamper { path, bytes in
                guard path != "head",
                    count.withLock({
                        $0 += 1; return $0
                    }) == 1
                else { return nil }
                var bytes = bytes
                bytes[5000] ^= 1
                return .init(body: bytes)
            }
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
        }
        #expect(world.network.traces.last?.fields == ["Cache-Control"])
    }

    @Test("an old head is a rollback, with a warning after a day of nothing else")
    func rollback() throws {
        let world = try World()
        let old = try FeedDirectory(world.feed.directory).headFile()
        try world.feed.publishCover()
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            world.feed.tamper { path, _ in path == "head" ? .init(body: old) : nil }
            await #expect(throws: ClientError.rollback) { try await client.synchronize() }
            try await world.live(client, for: .seconds(86_400 + 7200))
            #expect(await client.status.sequence == 1)
        }
        #expect(world.handler.warnings == [.rollback])
    }

    @Test("another feed's head is no signature of ours")
    func foreignKey() throws {
        let world = try world()
        let other = try SimulatedFeed(world.scratch.path + "/other", world.time, keySeed: 9)
        let foreign = try FeedDirectory(other.directory).headFile()
        try world.time.run {
            let client = try world.client()
            world.feed.tamper { path, _ in path == "head" ? .init(body: foreign) : nil }
            await #expect(throws: ClientError.badSignature) { try await client.synchronize() }
            try await world.live(client, for: .seconds(86_400 + 7200))
            #expect(await client.status.sequence == 1)
        }
        #expect(world.handler.warnings == [.badFeed])
    }

    @Test("two histories under one number stop the cursor for good, loudly, with evidence")
    func fork() throws {
        let world = try world()
        let twin = try SimulatedFeed(world.scratch.path + "/twin", world.time)
        for _ in 0..<2 { try twin.publishCover() }
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            world.feed.tamper { path, _ in
                path == "head"
                    ? (try? FeedDirectory(twin.directory).headFile()).map { .init(body: $0) } : nil
            }
            await #expect(throws: ClientError.fork) { try await client.synchronize() }
            try twin.publishCover()
            try world.feed.publishCover()
            world.feed.tamper(nil)
            // Not even the true one is followed any more: which is true cannot be known.
            await #expect(throws: ClientError.fork) { try await client.synchronize() }
            try await world.live(client, for: .seconds(7200))
            #expect(await client.status.isForked)
            #expect(await client.status.sequence == 2)
        }
        #expect(world.handler.warnings == [.fork(sequence: 2)])
        let files = try world.scratch.contents().keys
        #expect(files.contains(world.stateDirectory + "/evidence-2-known-head"))
        #expect(files.contains(world.stateDirectory + "/evidence-2-other-head"))
    }

    @Test("a history that differs before its newest batch is a fork at once; starting over ends it")
    func olderFork() throws {
        let world = try world()
        let twin = try SimulatedFeed(world.scratch.path + "/twin", world.time)
        for _ in 0..<2 { try twin.publishCover() }
        try twin.publish([Self.secret], note: "of the twin")
        for name in try Files.names(in: twin.directory + "/b") {
            let bytes = try Files.read("\(twin.directory)/b/\(name)", limit: 1 << 20)
            try Files.create("\(world.feed.directory)/b/\(name)", with: bytes.span)
        }
        try world.time.run {
            let client = try world.client()
            try await client.synchronize()
            let fingerprint = await client.status.fingerprint
            let requests = world.network.traces.count
            world.feed.tamper { path, _ in
                path == "head"
                    ? (try? FeedDirectory(twin.directory).headFile()).map { .init(body: $0) } : nil
            }
            await #expect(throws: ClientError.fork) { try await client.synchronize() }
            #expect(world.network.traces.count == requests + 1)
            #expect(await client.status.isForked)
            #expect(await client.status.fingerprint == fingerprint)
            try await client.startOver()
            #expect(try await client.synchronize() == .checked(batches: 3, matches: 1))
            #expect(await client.status.fingerprint != fingerprint)
        }
        #expect(world.handler.warnings == [.fork(sequence: 2)])
        #expect(world.handler.matches.count == 2)
        let files = try world.scratch.contents().keys
        for half in ["known", "other"] {
            #expect(files.contains("\(world.stateDirectory)/evidence-2-\(half)-head"))
        }
    }

    /// Copies a feed's files, to be continued as another history.
    private static func copy(of feed: SimulatedFeed, to directory: String) throws -> String {
        try FileManager.default.copyItem(atPath: feed.directory, toPath: directory)
        return directory
    }

    @Test(
        "another history is a fork also where it is older, or differs in what was not checked yet",
        arguments: [true, false])
    func earlierFork(isOlder: Bool) throws {
        let world = try World()
        try world.feed.publishCover()
        try world.time.run { try await world.client().synchronize() }
        let twin = try Self.copy(of: world.feed, to: world.scratch.path + "/twin")
        let cover = PublishOptions(minimumDigests: 1024)
        try FeedPublisher(directory: twin, key: world.feed.key).publishCover(
            options: cover, now: world.time.wall)
        let other = try FeedDirectory(twin).headFile()
        for _ in 0..<(isOlder ? 2 : 1) { try world.feed.publishCover() }
        let isOther = Mutex(false)
        world.feed.tamper { path, _ in
            if path == "head" { return isOther.withLock { $0 } ? .init(body: other) : nil }
            return isOlder ? nil : .init(status: 404)
        }
        try world.time.run {
            let client = try world.client()
            _ = try? await client.synchronize()
            #expect(await client.status.sequence == (isOlder ? 3 : 1))
            isOther.withLock { $0 = true }
            await #expect(throws: ClientError.fork) { try await client.synchronize() }
        }
        #expect(world.handler.warnings == [.fork(sequence: 2)])
    }

    @Test("a clock that is off by a year stops nothing", arguments: [-31_536_000, 31_536_000])
    func wrongClock(_ offset: Int64) throws {
        let world = try world()
        world.time.setWall(by: offset)
        try world.time.run {
            let client = try world.client()
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
            try await client.synchronize()
        }
        #expect(world.handler.warnings.count == 1)
        #expect(world.handler.matches.count == 1)
    }

    @Test("endless bodies are left at their bound")
    func endless() throws {
        let world = try world()
        let huge = [UInt8](repeating: 7, count: 6 << 20)
        try world.time.run {
            let client = try world.client()
            let before = world.network.bytesDelivered
            world.feed.tamper { _, _ in .init(body: huge, isUnannounced: true) }
            await #expect(throws: ClientError.tooLarge) { try await client.synchronize() }
            #expect(
                world.network.bytesDelivered - before
                    <= FeedLimits.headFileBytes + 16_384)
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes + huge, isUnannounced: true)
            }
            let start = world.network.bytesDelivered
            await #expect(throws: ClientError.tooLarge) { try await client.synchronize() }
            #expect(
                world.network.bytesDelivered - start
                    <= world.headBytes + 6656 + 16_384)
            #expect(await client.status.sequence == 1)
        }
    }
}
