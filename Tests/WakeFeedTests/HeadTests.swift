import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Head")
struct HeadTests {
    private let now = TemporaryFeed.now

    private func makeFeed() throws -> TemporaryFeed {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input(0..<3), now: now)
        return feed
    }

    private func error(
        _ bytes: [UInt8], _ cursor: FeedCursor, now: Int64? = nil
    ) -> FeedError? {
        failure { () throws(FeedError) in
            _ = try HeadVerifier(cursor: cursor).verify(bytes.span, now: now ?? self.now)
        }
    }

    @Test("a head truncated at any length is refused as truncated, a file too long as too large")
    func lengths() throws {
        let feed = try makeFeed()
        let bytes = try feed.headBytes()
        #expect(bytes.count == 256 + 8 + 72)
        let cursor = FeedCursor(key: feed.publicKey)
        for length in 0..<bytes.count {
            #expect(error(Array(bytes[..<length]), cursor) == .truncated)
        }
        // What follows is nothing to a client without a policy of witnesses.
        #expect(error(try FeedDirectory(feed.directory).headFile(), cursor) == nil)
        for more in [0, 1, 8192, FeedLimits.headFileBytes - bytes.count] {
            #expect(error(bytes + [UInt8](repeating: 7, count: more), cursor) == nil)
        }
        let long = [UInt8](repeating: 7, count: FeedLimits.headFileBytes + 1 - bytes.count)
        #expect(error(bytes + long, cursor) == .tooLarge)
    }

    @Test("each of 2,000 flipped bits makes the head badly signed, whatever it said")
    func bitFlips() throws {
        let feed = try makeFeed()
        let bytes = try feed.headBytes()
        let cursor = try feed.verifiedHead().cursor
        var generator = SplitMix64(seed: 1)
        // All bits of the fields, the signer's id and the signature; then any.
        var bits = Array(0..<160 * 8) + Array((bytes.count - 72) * 8..<bytes.count * 8)
        while bits.count < 2000 {
            bits.append(Int.random(in: 0..<bytes.count * 8, using: &generator))
        }
        for bit in bits {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            // Followed by more, or a number of more batches would make it one that is cut.
            let file = flipped + [UInt8](repeating: 7, count: 4096)
            #expect(error(file, cursor) == .badSignature, "bit \(bit)")
        }
    }

    @Test("a captive portal's page of any length is badly signed")
    func portal() throws {
        let feed = try makeFeed()
        for count in [1, 7, 8, 255, 256, 336, 4096, FeedLimits.headFileBytes] {
            let page = [UInt8](repeating: UInt8(ascii: "<"), count: count)
            #expect(error(page, FeedCursor(key: feed.publicKey)) == .badSignature)
        }
    }

    @Test("a foreign feed's head is badly signed; another feed of the same key is the wrong one")
    func foreign() throws {
        let feed = try makeFeed()
        let other = try TemporaryFeed(seed: 2)
        let bytes = try feed.headBytes()
        let foreign = try other.headBytes()
        #expect(error(foreign, FeedCursor(key: feed.publicKey)) == .badSignature)
        let renamed = Forge.head(bytes, with: feed.key) { $0[8] ^= 1 }
        #expect(error(renamed, FeedCursor(key: feed.publicKey)) == .wrongFeed)
    }

    @Test("signed nonsense is refused as malformed, each kind by its own name")
    func malformed() throws {
        let feed = try makeFeed()
        let bytes = try feed.headBytes()
        let cursor = FeedCursor(key: feed.publicKey)
        func forged(_ change: (inout [UInt8]) -> Void) -> FeedError? {
            error(Forge.head(bytes, with: feed.key, change), cursor)
        }
        for offset in [184, 255] {
            #expect(forged { $0[offset] = 1 } == .malformedHead(.reservedBytes), "\(offset)")
        }
        // As many batches as the head has room for, and numbers that none has.
        for first in [UInt64(0), UInt64.max, 1 << 63] {
            #expect(
                forged {
                    $0.put(littleEndian: first, at: 24)
                    $0.put(littleEndian: first, at: 32)
                } == .malformedHead(.range), "\(first)")
        }
        // More than it has room for, or than any names, or fewer than none.
        #expect(forged { $0.put(littleEndian: UInt64(2), at: 24) } == .truncated)
        for last in [449, UInt64.max, 1 << 63] {
            #expect(forged { $0.put(littleEndian: last, at: 24) } == .badSignature, "\(last)")
        }
        #expect(forged { $0.put(littleEndian: UInt64(3), at: 32) } == .badSignature)
        // One batch less than there is room for: what follows it is another signature.
        #expect(forged { $0.put(littleEndian: UInt64(2), at: 32) } == .badSignature)
        #expect(forged { $0.put(littleEndian: UInt64.max, at: 40) } == .malformedHead(.range))
        #expect(forged { $0.put(littleEndian: UInt64.max, at: 48) } == .malformedHead(.range))
        #expect(forged { $0[256] ^= 1 } == .malformedHead(.table))
        #expect(forged { $0[56] ^= 1 } == .malformedHead(.table))
        #expect(forged { _ in } == nil)
    }

    @Test("an older head is a rollback, and one that was signed again is not")
    func rollback() throws {
        let feed = try makeFeed()
        let first = try feed.headBytes()
        _ = try feed.publisher().publish(try Sample.input(3..<5), now: now)
        var head = try feed.verifiedHead()
        var cursor = head.cursor
        for planned in head.plan {
            cursor = try readBatch(
                feed.batchBytes(planned.name), cursor: cursor, head: head
            ).cursor
        }
        #expect(cursor.sequence == 2)
        #expect(error(first, cursor) == .rollback(stored: 2, offered: 1))
        try feed.publisher().resign(now: now + 3600)
        head = try feed.verifiedHead(cursor)
        #expect(head.plan.isEmpty && head.cursor.sequence == 2)
    }

    @Test("another header hash under a sequence already seen is a fork")
    func fork() throws {
        let feed = try makeFeed()
        let head = try feed.verifiedHead()
        let bytes = try feed.batchBytes(head.plan[0].name)
        let cursor = try readBatch(bytes, cursor: head.cursor, head: head).cursor
        let other = Forge.batch(bytes, with: feed.key) { $0.put(littleEndian: UInt64(60), at: 32) }
        let forked = Forge.head(try feed.headBytes(), naming: other, with: feed.key)
        #expect(error(forked, cursor) == .fork(sequence: 1))
        #expect(error(forked, head.cursor) == nil, "nobody can tell who has seen neither")
    }

    @Test("an expired head is stale from ten minutes on, one from the future means a wrong clock")
    func clocks() throws {
        let feed = try makeFeed()
        let bytes = try feed.headBytes()
        let verifier = HeadVerifier(cursor: FeedCursor(key: feed.publicKey))
        let head = try verifier.verify(bytes.span, now: now).head
        func warnings(_ now: Int64) throws -> [FeedWarning] {
            let verified = try verifier.verify(bytes.span, now: now)
            #expect(verified.plan.count == 1, "the data is used all the same")
            return verified.warnings
        }
        #expect(try warnings(head.expires + 600) == [])
        #expect(try warnings(head.expires + 601) == [.stale(expired: head.expires)])
        #expect(try warnings(.max) == [.stale(expired: head.expires)])
        #expect(try warnings(head.issued - 600) == [])
        #expect(try warnings(head.issued - 601) == [.clockSkew(issued: head.issued)])
        #expect(try warnings(.min) == [.clockSkew(issued: head.issued)])
    }

    @Test("a hint beyond the head says that the edge is stale, and nothing else changes")
    func hint() throws {
        let feed = try makeFeed()
        let bytes = try feed.headBytes()
        let verifier = HeadVerifier(cursor: FeedCursor(key: feed.publicKey))
        #expect(try verifier.verify(bytes.span, now: now, hint: 1).freshness == .current)
        let stale = try verifier.verify(bytes.span, now: now, hint: .max)
        #expect(stale.freshness == .edgeIsStale && stale.plan.count == 1)
    }

    @Test("wishes are taken from the newest head only")
    func wishes() throws {
        let feed = try makeFeed()
        let calm = try feed.headBytes()
        let paused = FeedSettings(flags: [.paused, .noRegistration], pauseSeconds: 60)
        try feed.publisher().resign(settings: paused, now: now + 60)
        let start = FeedCursor(key: feed.publicKey)
        let newest = try feed.verifiedHead(start)
        #expect(newest.cursor.settings == paused)
        let older = try HeadVerifier(cursor: newest.cursor).verify(calm.span, now: now)
        #expect(older.head.settings.flags == [], "the old head says so, but nobody listens")
        #expect(older.cursor.settings == paused)
        #expect(older.cursor.newestIssued == newest.head.issued)
    }
}
