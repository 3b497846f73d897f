import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("A log whose files were damaged, lost or exchanged")
struct LogDamageTests {
    private static let now = TemporaryFeed.now

    /// What a publisher leaves: changed by nothing that was refused.
    private static func state(_ feed: TemporaryFeed) throws -> [[UInt8]] {
        try ["head", "checkpoint", ".log"].map {
            try Files.read(feed.directory + "/" + $0, limit: FeedLimits.headFileBytes)
        }
    }

    private static func fault(_ feed: TemporaryFeed, minute: Int64) -> FeedDirectoryError? {
        failure { () throws(FeedDirectoryError) in
            try feed.publisher().resign(now: now + minute * 60)
        }
    }

    @Test(
        "a tile that is missing, cut, changed or another's is never signed, and can be restored",
        arguments: [3, 256])
    func tiles(size: Int) throws {
        // Of one key: nothing but the tree tells them apart.
        let (feed, other) = (try TemporaryFeed(), try TemporaryFeed())
        for minute in 1..<size {
            try feed.publisher().resign(now: Self.now + Int64(minute))
            try other.publisher().resign(now: Self.now + 7200 + Int64(minute))
        }
        let ends = [LogTile.Content.entries, .hashes(level: 0)].map { content in
            LogTile(content, index: UInt64(size - 1) / 256, size: UInt64(size)).path
        }
        let before = try Self.state(feed)
        var random = SplitMix64(seed: UInt64(size))
        for path in ends {
            let file = feed.directory + "/" + path
            let bytes = try Files.read(file, limit: 2 << 20)
            let foreign = try Files.read(other.directory + "/" + path, limit: 2 << 20)
            var changed = bytes
            changed[Int.random(in: 2..<bytes.count, using: &random)] ^= 1
            let damages: [[UInt8]?] = [
                nil, [], Array(bytes.dropLast()), bytes + [0], changed, foreign,
            ]
            for damage in damages {
                if let damage {
                    try Files.replace(file, with: damage.span)
                } else {
                    try Files.remove(file)
                }
                let fault = Self.fault(feed, minute: 1000)
                guard case .log = fault else {
                    Issue.record("\(path): \(String(describing: fault))")
                    continue
                }
                #expect(try Self.state(feed) == before)
            }
            try Files.replace(file, with: bytes.span)
        }
        // Both of another log at once: they fit to each other, and not to what is served.
        for path in ends {
            let foreign = try Files.read(other.directory + "/" + path, limit: 2 << 20)
            try FileManager.default.moveItem(
                atPath: feed.directory + "/" + path,
                toPath: feed.path + "/" + path.replacing("/", with: "_"))
            try Files.replace(feed.directory + "/" + path, with: foreign.span)
        }
        #expect(Self.fault(feed, minute: 1000) == .log(.root))
        #expect(try Self.state(feed) == before)
        for path in ends {
            try Files.remove(feed.directory + "/" + path)
            try FileManager.default.moveItem(
                atPath: feed.path + "/" + path.replacing("/", with: "_"),
                toPath: feed.directory + "/" + path)
        }
        #expect(Self.fault(feed, minute: 1000) == nil)
        #expect(try feed.verify(now: Self.now + 60_000).head.sequence == 0)
        let signed = try #require(try FeedDirectory(feed.directory).checkpoint())
        #expect(signed.checkpoint.size == UInt64(size) + 1)
    }

    @Test("a file of the log's size of an earlier day, or of another log, replaces nothing")
    func formerSize() throws {
        let feed = try TemporaryFeed()
        try feed.publisher().resign(now: Self.now + 60)
        let old = try Files.read(feed.directory + "/.log", limit: 4096)
        for minute in 2...5 { try feed.publisher().resign(now: Self.now + Int64(minute) * 60) }
        try Files.replace(feed.directory + "/.log", with: old.span)
        let entries = try (0..<6).map {
            try FeedDirectory(feed.directory).logEntry($0, size: 6)
        }
        #expect(Self.fault(feed, minute: 6) == nil)
        let signed = try #require(try FeedDirectory(feed.directory).checkpoint())
        #expect(signed.checkpoint.size == 7)
        for (index, entry) in entries.enumerated() {
            let kept = try FeedDirectory(feed.directory).logEntry(UInt64(index), size: 7)
            #expect(kept == entry)
        }
        let other = try TemporaryFeed(seed: 2)
        let foreign = try Files.read(other.directory + "/.log", limit: 4096)
        try Files.replace(feed.directory + "/.log", with: foreign.span)
        #expect(Self.fault(feed, minute: 7) == .log(.damaged))
        try Files.remove(feed.directory + "/.log")
        #expect(Self.fault(feed, minute: 7) == nil)
    }
}
