import Testing
import WakeModel
import WakeSodium

@testable import WakeFeed

@Suite("Head")
struct HeadTests {
    private let now = FeedPlace.now

    private func makePlace() throws -> FeedPlace {
        let place = try FeedPlace()
        _ = try place.publisher().publish(try Sample.input(0..<3), now: now)
        return place
    }

    private func error(
        _ bytes: [UInt8], _ cursor: FeedCursor, now: Int64? = nil
    ) -> FeedError? {
        failure { () throws(FeedError) in
            _ = try HeadVerifier(cursor: cursor).verify(bytes.span, now: now ?? self.now)
        }
    }

    @Test("a head truncated at any length is refused as truncated, a longer one as too large")
    func lengths() throws {
        let place = try makePlace()
        defer { place.remove() }
        let bytes = try place.headBytes()
        let cursor = FeedCursor(key: place.publicKey)
        for length in 0..<4096 {
            #expect(error(Array(bytes[..<length]), cursor) == .truncated)
        }
        #expect(error(bytes, cursor) == nil)
        #expect(error(bytes + [0], cursor) == .tooLarge)
    }

    @Test("each of 2,000 flipped bits makes the head badly signed, whatever it said")
    func bitFlips() throws {
        let place = try makePlace()
        defer { place.remove() }
        let bytes = try place.headBytes()
        let cursor = try place.verifiedHead().cursor
        var generator = SeededGenerator(state: 1)
        // All bits of the fields, the signer's id and the signature; then any.
        var bits = Array(0..<160 * 8) + Array(4024 * 8..<4096 * 8)
        while bits.count < 2000 { bits.append(Int.random(in: 0..<4096 * 8, using: &generator)) }
        for bit in bits {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(error(flipped, cursor) == .badSignature, "bit \(bit)")
        }
    }

    @Test("a captive portal's page of the right length is badly signed")
    func portal() throws {
        let place = try makePlace()
        defer { place.remove() }
        let page = [UInt8](repeating: UInt8(ascii: "<"), count: 4096)
        #expect(error(page, FeedCursor(key: place.publicKey)) == .badSignature)
    }

    @Test("a foreign feed's head is badly signed; another feed of the same key is the wrong one")
    func foreign() throws {
        let place = try makePlace()
        defer { place.remove() }
        let other = try FeedPlace(seed: 2)
        defer { other.remove() }
        let bytes = try place.headBytes()
        let foreign = try other.headBytes()
        #expect(error(foreign, FeedCursor(key: place.publicKey)) == .badSignature)
        let renamed = Forge.head(bytes, with: place.key) { $0[8] ^= 1 }
        #expect(error(renamed, FeedCursor(key: place.publicKey)) == .wrongFeed)
    }

    @Test("signed nonsense is refused as malformed, each kind by its own name")
    func malformed() throws {
        let place = try makePlace()
        defer { place.remove() }
        let bytes = try place.headBytes()
        let cursor = FeedCursor(key: place.publicKey)
        func forged(_ change: (inout [UInt8]) -> Void) -> FeedError? {
            error(Forge.head(bytes, with: place.key, change), cursor)
        }
        for offset in [152, 255, 256 + 8, 3839, 3840, 4023] {
            #expect(forged { $0[offset] = 1 } == .malformedHead(.reservedBytes), "\(offset)")
        }
        #expect(forged { $0.put(UInt64.max, at: 24) } == .malformedHead(.range))
        #expect(forged { $0.put(UInt64(0), at: 32) } == .malformedHead(.range))
        #expect(forged { $0.put(UInt64(3), at: 32) } == .malformedHead(.range))
        #expect(forged { $0.put(UInt64.max, at: 40) } == .malformedHead(.range))
        #expect(forged { $0.put(UInt64.max, at: 48) } == .malformedHead(.range))
        #expect(forged { $0.put(UInt64(449), at: 24) } == .malformedHead(.table))
        #expect(forged { $0[256] ^= 1 } == .malformedHead(.table))
        #expect(forged { $0[56] ^= 1 } == .malformedHead(.table))
        // Of small order: every message would verify.
        #expect(forged { $0[120] = 1 } == .malformedHead(.nextKey))
        #expect(forged { _ in } == nil)
    }

    @Test("an older head is a rollback, and one that was signed again is not")
    func rollback() throws {
        let place = try makePlace()
        defer { place.remove() }
        let first = try place.headBytes()
        _ = try place.publisher().publish(try Sample.input(3..<5), now: now)
        var head = try place.verifiedHead()
        var cursor = head.cursor
        for planned in head.plan {
            cursor = try readBatch(
                place.batchBytes(planned.name), cursor: cursor, head: head
            ).cursor
        }
        #expect(cursor.sequence == 2)
        #expect(error(first, cursor) == .rollback(stored: 2, offered: 1))
        try place.publisher().resign(now: now + 3600)
        head = try place.verifiedHead(cursor)
        #expect(head.plan.isEmpty && head.cursor.sequence == 2)
    }

    @Test("another header hash under a sequence already seen is a fork")
    func fork() throws {
        let place = try makePlace()
        defer { place.remove() }
        let head = try place.verifiedHead()
        let bytes = try place.batchBytes(head.plan[0].name)
        let cursor = try readBatch(bytes, cursor: head.cursor, head: head).cursor
        let other = Forge.batch(bytes, with: place.key) { $0.put(UInt64(60), at: 32) }
        let forked = Forge.head(try place.headBytes(), naming: other, with: place.key)
        #expect(error(forked, cursor) == .fork(sequence: 1))
        #expect(error(forked, head.cursor) == nil, "nobody can tell who has seen neither")
    }

    @Test("an expired head is stale from ten minutes on, one from the future means a wrong clock")
    func clocks() throws {
        let place = try makePlace()
        defer { place.remove() }
        let bytes = try place.headBytes()
        let verifier = HeadVerifier(cursor: FeedCursor(key: place.publicKey))
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
        let place = try makePlace()
        defer { place.remove() }
        let bytes = try place.headBytes()
        let verifier = HeadVerifier(cursor: FeedCursor(key: place.publicKey))
        #expect(try verifier.verify(bytes.span, now: now, hint: 1).freshness == .current)
        let stale = try verifier.verify(bytes.span, now: now, hint: .max)
        #expect(stale.freshness == .edgeIsStale && stale.plan.count == 1)
        #expect(stale.head.settings.staleEdgeWait == 30...330)
    }

    @Test("wishes are taken from the newest head only")
    func wishes() throws {
        let place = try makePlace()
        defer { place.remove() }
        let calm = try place.headBytes()
        let paused = FeedSettings(flags: [.paused, .noRegistration], pauseSeconds: 60)
        try place.publisher().resign(settings: paused, now: now + 60)
        let start = FeedCursor(key: place.publicKey)
        let newest = try place.verifiedHead(start)
        #expect(newest.cursor.settings == paused)
        let older = try HeadVerifier(cursor: newest.cursor).verify(calm.span, now: now)
        #expect(older.head.flags == [], "the old head says so, but nobody listens")
        #expect(older.cursor.settings == paused)
        #expect(older.cursor.newestIssued == newest.head.issued)
    }
}
