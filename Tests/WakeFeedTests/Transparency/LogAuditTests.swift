import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeFeed

@Suite("A monitor of the log of heads")
struct LogAuditTests {
    private static let now = TemporaryFeed.now

    private static func audit(_ feed: TemporaryFeed, since old: UInt64 = 0) throws -> LogAudit {
        let directory = FeedDirectory(feed.directory)
        let tree = try #require(try directory.checkpoint()).checkpoint
        let roots = try CompleteSubtree.covering(0..<old).map {
            try directory.root(of: $0, size: tree.size)
        }
        var audit = LogAudit(
            try directory.keys(feed.publicKey), after: MerkleFrontier(size: old, roots: roots))
        if old > 0 { audit.resume(with: try directory.logEntry(old - 1, size: tree.size)) }
        for index in old..<tree.size {
            audit.add(try directory.logEntry(index, size: tree.size))
        }
        #expect(audit.root == tree.root && audit.size == tree.size)
        return audit
    }

    /// Logs a head that is signed with the real key and not served to everybody.
    private static func log(_ head: [UInt8], in feed: TemporaryFeed) throws {
        let directory = FeedDirectory(feed.directory)
        let served = try directory.headBytes()
        let service = HeadService(
            directory: directory, key: feed.key, witnesses: nil, observer: { _ in })
        let log = try FeedLog(directory, new: NoteKeyName(defaultFor: feed.publicKey.feedID))
        try service.publish(head, in: log)
        try Files.replace(directory.headPath, with: served.span)
    }

    @Test("an honest publisher's log has nothing odd in it, from the start or from any tree")
    func honest() throws {
        let feed = try TemporaryFeed()
        for minute in 1...6 {
            if minute % 2 == 0 {
                try feed.publisher().publishCover(now: Self.now + Int64(minute) * 60)
            } else {
                try feed.publisher().resign(now: Self.now + Int64(minute) * 60)
            }
        }
        for old in 0...7 {
            #expect(try Self.audit(feed, since: UInt64(old)).findings == [])
        }
    }

    @Test("the audit names what a publisher with the key did for one person")
    func odd() throws {
        let feed = try TemporaryFeed()
        try feed.publisher().publishCover(now: Self.now + 60)
        try feed.publisher().publishCover(now: Self.now + 120)
        let head = try feed.headBytes()
        // Another batch under the newest number.
        let other = Forge.head(head, with: feed.key) {
            for offset in 56..<64 { $0[offset] ^= 1 }
            for offset in 264..<272 { $0[offset] ^= 1 }
        }
        try Self.log(other, in: feed)
        // One more batch, which no later head names.
        let more = Forge.head(head, with: feed.key) { bytes in
            bytes[24] = 3
            for offset in 272..<280 { bytes[offset] = 7 }
            for offset in 56..<64 { bytes[offset] = 7 }
        }
        try Self.log(more, in: feed)
        try Self.log(head, in: feed)
        // A directive, and a time before.
        let retired = Forge.head(head, with: feed.key) { $0[104] = 2 }
        try Self.log(retired, in: feed)
        let early = Forge.head(head, with: feed.key) { $0[42] ^= 1 }
        let isEarlier = early[42] < head[42]
        try Self.log(early, in: feed)
        try Self.log([UInt8](repeating: 7, count: 4096), in: feed)
        let findings = try Self.audit(feed).findings
        #expect(findings.contains(.fork(index: 3, sequence: 2)))
        #expect(findings.contains(.dropped(index: 5, sequence: 3)))
        #expect(findings.contains(.retired(index: 6)))
        #expect(findings.contains(.timeWentBack(index: 7)) == isEarlier)
        #expect(findings.contains(.foreignEntry(index: 8)))
        for finding in findings {
            #expect(!finding.code.isEmpty && !finding.message.isEmpty)
        }
        let record = MonitoredLog(
            origin: NoteKeyName(defaultFor: feed.publicKey.feedID), size: 9,
            root: MerkleTree.emptyRoot)
        #expect(try MonitoredLog(stateFile: record.stateFile()) == record)
    }
}
