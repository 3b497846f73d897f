import Testing

@testable import WakeFeed
@testable import WakePublish

@Suite("Gaps")
struct GapTests {
    private let now = TemporaryFeed.now

    private func catchUp(
        _ cursor: FeedCursor, _ feed: TemporaryFeed, now: Int64
    ) throws -> (cursor: FeedCursor, warnings: [FeedWarning]) {
        let bytes = try feed.headBytes()
        let head = try HeadVerifier(cursor: cursor).verify(bytes.span, now: now)
        var cursor = head.cursor
        for planned in head.plan {
            cursor = try readBatch(
                feed.batchBytes(planned.name), cursor: cursor, head: head
            ).cursor
        }
        return (cursor, head.warnings)
    }

    @Test("a client away beyond retention is told once which batches it missed, and goes on")
    func gap() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([0]), now: now)
        let before = try catchUp(FeedCursor(key: feed.publicKey), feed, now: now).cursor
        _ = try feed.publisher().publish(try Sample.input([1]), now: now + 60)
        _ = try feed.publisher().publish(try Sample.input([2]), now: now + 60)
        let later = now + 15 * TemporaryFeed.day
        _ = try feed.publisher().publish(try Sample.input([3]), now: later)
        _ = try feed.publisher().publish(try Sample.input([4]), now: later)

        let head = try feed.verifiedHead(before, now: later)
        #expect(head.head.firstSequence == 4 && head.missing == 2...3)
        #expect(head.warnings == [.gap(missing: 2...3)])
        #expect(head.plan.map(\.sequence) == [4, 5])
        let after = try catchUp(before, feed, now: later).cursor
        #expect(after.sequence == 5 && after.headerHash == head.head.headerHash)
        // The cursor stored before the first batch was fetched does not warn again.
        #expect(try catchUp(head.cursor, feed, now: later).warnings == [])
        #expect(try catchUp(after, feed, now: later).warnings == [])
    }

    @Test("a new client begins at the oldest batch without a warning")
    func newClient() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([0]), now: now)
        let later = now + 15 * TemporaryFeed.day
        _ = try feed.publisher().publish(try Sample.input([1]), now: later)
        let (cursor, warnings) = try catchUp(
            FeedCursor(key: feed.publicKey), feed, now: later)
        #expect(warnings.isEmpty && cursor.sequence == 2)
    }

    @Test("a feed whose batches have all gone by still says where it stands")
    func nothingRetained() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([0]), now: now)
        let start = try catchUp(FeedCursor(key: feed.publicKey), feed, now: now).cursor
        let later = now + 15 * TemporaryFeed.day
        try feed.publisher().resign(now: later)
        let head = try feed.verifiedHead().head
        #expect(head.sequence == 1 && head.count == 0 && head.retainedBytes == 0)
        #expect(try catchUp(start, feed, now: later).warnings == [])
        let fresh = try catchUp(FeedCursor(key: feed.publicKey), feed, now: later)
        #expect(fresh.cursor.sequence == 1 && fresh.cursor.headerHash == head.headerHash)
    }
}
