import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("A monitor of the log of heads")
struct LogAuditTests {
    private static let now = TemporaryFeed.now

    private static func audit(
        _ feed: TemporaryFeed, since old: UInt64 = 0, memory: UInt64 = LogAudit.memory
    ) throws -> LogAudit {
        let directory = FeedDirectory(feed.directory)
        let tree = try #require(try directory.checkpoint()).checkpoint
        let first = old - min(old, memory)
        let roots = try CompleteSubtree.covering(0..<first).map {
            try directory.root(of: $0, size: tree.size)
        }
        var audit = LogAudit(
            try directory.keys(feed.publicKey), after: MerkleFrontier(size: first, roots: roots))
        for index in first..<tree.size {
            let entry = try directory.logEntry(index, size: tree.size)
            if index < old { audit.resume(with: entry) } else { audit.add(entry) }
        }
        #expect(audit.root == tree.root && audit.size == tree.size)
        return audit
    }

    /// Logs a head that is signed with the real key and not served to everybody.
    private static func log(_ head: [UInt8], in feed: TemporaryFeed) throws {
        let directory = FeedDirectory(feed.directory)
        let served = try directory.headFile()
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
            for memory in 0...3 {
                let audit = try Self.audit(feed, since: UInt64(old), memory: UInt64(memory))
                #expect(audit.findings == [])
            }
        }
    }

    @Test("batches that retention drops are not missed: too old, or more than a head can name")
    func retention() throws {
        let feed = try TemporaryFeed()
        // Eight days apart: each is dropped by the second head after it.
        for week in 1...6 {
            try feed.publisher().publishCover(now: Self.now + Int64(week) * 8 * 86_400)
        }
        #expect(try Self.audit(feed).findings == [])
        // A head that drops the newest two before their time, and one that has nothing at all.
        let head = try feed.headBytes()
        let named = try #require(FeedHead(stored: head))
        #expect(named.count == 2)
        let bare = Forge.head(head, with: feed.key) { bytes in
            bytes.put(littleEndian: named.sequence + 1, at: 32)
            bytes.removeSubrange(256..<272)
        }
        try Self.log(bare, in: feed)
        let index = try Self.audit(feed).size - 1
        let dropped = [named.sequence - 1, named.sequence].map {
            LogFinding.dropped(index: index, sequence: $0)
        }
        #expect(try Self.audit(feed).findings == dropped)
        // A reader of the end alone has seen when the second was named first, and not the first.
        #expect(try Self.audit(feed, since: index, memory: 2).findings == [dropped[1]])
        #expect(try Self.audit(feed, since: index, memory: 1).findings == [])
        // After a head without batches an older one ends no reader.
        let older = Forge.head(head, with: feed.key) { bytes in
            bytes.put(littleEndian: UInt64(2), at: 24)
            bytes.put(littleEndian: UInt64(3), at: 32)
            bytes.removeSubrange(256..<272)
        }
        try Self.log(older, in: feed)
        #expect(try Self.audit(feed).findings.count == 2)
    }

    @Test("a head of a key that was succeeded is no head any more")
    func succeeded() throws {
        let feed = try TemporaryFeed()
        let old = try feed.headBytes()
        let next = SigningKey(seed: [UInt8](repeating: 5, count: 32).span)
        try FeedPublisher(directory: feed.directory, key: next)
            .succeed(feed.key, now: Self.now + 60)
        #expect(try Self.audit(feed).findings == [])
        let again = Forge.head(old, with: feed.key) { $0[104] = 2 }
        try Self.log(again, in: feed)
        let place = try Self.audit(feed).size - 1
        #expect(try Self.audit(feed).findings == [.foreignEntry(index: place)])
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
            bytes.insert(contentsOf: [UInt8](repeating: 7, count: 8), at: 272)
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
        let signed = try #require(try FeedDirectory(feed.directory).checkpoint())
        let origin = NoteKeyName(defaultFor: feed.publicKey.feedID)
        let record = MonitoredLog(origin: origin, signed, reviewed: 4)
        #expect(try MonitoredLog(stateFile: record.stateFile()) == record)
        let beyond = MonitoredLog(origin: origin, signed, reviewed: 10)
        #expect(throws: StateFileFault.damaged) {
            try MonitoredLog(stateFile: beyond.stateFile())
        }
    }

    @Test("of thousands of odd entries the first hundred are kept, and the others counted")
    func bounded() throws {
        let feed = try TemporaryFeed()
        try feed.publisher().resign(now: Self.now + 60)
        var audit = LogAudit(try FeedDirectory(feed.directory).keys(feed.publicKey))
        for _ in 0..<5000 { audit.add([1, 2, 3]) }
        #expect(audit.findings.count == LogAudit.findingsLimit && audit.findings.count == 100)
        #expect(audit.omitted == 4900 && audit.size == 5000)
    }

    @Test("more batches than any feed has end the reading, in bounded memory")
    func manyBatches() throws {
        let feed = try TemporaryFeed()
        try feed.publisher().publishCover(now: Self.now + 60)
        let directory = FeedDirectory(feed.directory)
        let head = try directory.headFile()
        var audit = LogAudit(try directory.keys(feed.publicKey))
        var number: UInt64 = 0
        while !audit.isFull, number < 2000 {
            number += 1
            // A full table of batches, with numbers of its own; the newest one's suffix is 7s.
            let hostile = Forge.head(head, with: feed.key) { bytes in
                bytes.put(littleEndian: number * 448, at: 24)
                bytes.put(littleEndian: number * 448 - 447, at: 32)
                for offset in 56..<64 { bytes[offset] = 7 }
                bytes.replaceSubrange(
                    256..<264, with: [UInt8](repeating: 7, count: 448 * 8))
            }
            audit.add(hostile)
        }
        #expect(audit.isFull && number == (1 << 18) / 448 + 1)
        #expect(audit.findings.contains(.tooManyBatches(index: number - 1)))
    }
}
