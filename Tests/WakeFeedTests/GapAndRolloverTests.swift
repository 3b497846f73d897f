import Testing
import WakeModel
import WakeSodium

@testable import WakeFeed

@Suite("Gaps and key rollover")
struct GapAndRolloverTests {
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

    @Test("an announced key takes over from the next batch on; then the old one is refused")
    func rollover() throws {
        let feed = try TemporaryFeed()
        let successor = SigningKey(seed: [UInt8](repeating: 9, count: 32).span)
        let next = FeedKey(successor.verifyingKey)
        let heir = FeedPublisher(
            directory: feed.directory, key: successor, earlierKeys: [feed.publicKey])
        _ = try feed.publisher().publish(try Sample.input([0]), now: now)
        #expect(
            failure { () throws(FeedDirectoryError) in try heir.resign(now: now) }
                == .head(.badSignature))

        try feed.publisher().resign(nextKey: .some(next), now: now + 60)
        var cursor = try catchUp(FeedCursor(key: feed.publicKey), feed, now: now).cursor
        #expect(cursor.acceptedKeys == [feed.publicKey, next])
        // Not before the next batch, not even by the publisher.
        #expect(
            failure { () throws(FeedDirectoryError) in try heir.resign(now: now) }
                == .keyNotActive)
        let early = Forge.head(try feed.headBytes(), with: successor)
        #expect(
            failure { () throws(FeedError) in
                _ = try HeadVerifier(cursor: cursor).verify(early.span, now: now)
            } == .badSignature)

        // The last batch of the old key and the first of the new one, seen together.
        _ = try feed.publisher().publish(try Sample.input([1]), now: now + 60)
        _ = try heir.publish(try Sample.input([2]), now: now + 120)
        cursor = try catchUp(cursor, feed, now: now).cursor
        #expect(cursor.sequence == 3 && cursor.acceptedKeys == [next])
        let relapse = Forge.head(try feed.headBytes(), with: feed.key)
        #expect(
            failure { () throws(FeedError) in
                _ = try HeadVerifier(cursor: cursor).verify(relapse.span, now: now)
            } == .badSignature)

        // A client that never heard of it needs both keys, as a later version ships them.
        let newest = try feed.headBytes()
        #expect(
            failure { () throws(FeedError) in
                let uninformed = FeedCursor(key: feed.publicKey)
                _ = try HeadVerifier(cursor: uninformed).verify(newest.span, now: now)
            } == .badSignature)
        let informed = FeedCursor(key: feed.publicKey, successors: [next])
        #expect(try catchUp(informed, feed, now: now).cursor.sequence == 3)
    }

    @Test("an announcement that a newer head does not repeat is withdrawn")
    func withdrawn() throws {
        let feed = try TemporaryFeed()
        let successor = FeedKey(
            SigningKey(seed: [UInt8](repeating: 9, count: 32).span).verifyingKey)
        try feed.publisher().resign(nextKey: .some(successor), now: now + 60)
        let announced = try feed.headBytes()
        let cursor = try catchUp(FeedCursor(key: feed.publicKey), feed, now: now).cursor
        #expect(cursor.acceptedKeys.count == 2)
        try feed.publisher().resign(nextKey: .some(nil), now: now + 120)
        let withdrawn = try catchUp(cursor, feed, now: now).cursor
        #expect(withdrawn.acceptedKeys == [feed.publicKey])
        let replayed = try HeadVerifier(cursor: withdrawn).verify(announced.span, now: now)
        #expect(replayed.cursor.acceptedKeys == [feed.publicKey])
    }
}
