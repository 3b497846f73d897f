import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Batch reader")
struct BatchReaderTests {
    private let now = TemporaryFeed.now

    /// A feed of one batch with notes, and everything to read it.
    private struct Fixture {
        let feed: TemporaryFeed
        let head: VerifiedHead
        let bytes: [UInt8]

        init(bits: Int = 48, note: String? = "see you") throws {
            feed = try TemporaryFeed()
            _ = try feed.publisher().publish(
                try Sample.input(0..<5, note: note),
                options: PublishOptions(
                    budget: try #require(FalseMatchBudget(bits: bits)),
                    noteBytes: note == nil ? 0 : 50),
                now: TemporaryFeed.now)
            head = try feed.verifiedHead()
            bytes = try feed.batchBytes(head.plan[0].name)
        }

        func error(
            _ bytes: [UInt8], head: VerifiedHead? = nil, piece: Int = 65_536
        ) -> FeedError? {
            let head = head ?? self.head
            return failure { () throws(FeedError) in
                _ = try readBatch(bytes, cursor: head.cursor, head: head, piece: piece)
            }
        }

        /// What a client says of a forged batch that the head names.
        func error(naming forged: [UInt8], piece: Int = 65_536) throws -> FeedError? {
            let head = Forge.head(try feed.headBytes(), naming: forged, with: feed.key)
            let verified = try HeadVerifier(cursor: FeedCursor(key: feed.publicKey))
                .verify(head.span, now: TemporaryFeed.now)
            return error(forged, head: verified, piece: piece)
        }
    }

    @Test("however the bytes are cut, cursor and matches are the same", arguments: [40, 48, 54])
    func splits(bits: Int) throws {
        let fixture = try Fixture(bits: bits)
        let secrets = (3..<8).map(Sample.localSecret)
        let whole = try readBatch(
            fixture.bytes, cursor: fixture.head.cursor, head: fixture.head, secrets: secrets)
        #expect(Set(whole.matches.map(\.secretID)) == ["3", "4"])
        #expect(whole.matches.allSatisfy { $0.note == Array("see you".utf8) })
        for piece in [1, 2, 3, 7, 15, 16, 17, 31, 33, 255, 256, 257, 4096] {
            let cut = try readBatch(
                fixture.bytes, cursor: fixture.head.cursor, head: fixture.head,
                secrets: secrets, piece: piece)
            #expect(cut.matches == whole.matches && cut.cursor == whole.cursor, "\(piece)")
        }
    }

    @Test("a batch truncated at any length is refused as truncated")
    func truncated() throws {
        let fixture = try Fixture(note: nil)
        // One pass: the reader of each length is ended where it stands.
        for length in 0..<fixture.bytes.count {
            let cut = Array(fixture.bytes[..<length])
            guard fixture.error(cut) == .truncated else {
                Issue.record("length \(length)")
                return
            }
        }
        #expect(fixture.error(fixture.bytes) == nil)
        #expect(fixture.error(fixture.bytes + [0]) == .tooLarge)
    }

    @Test("each of 2,000 flipped bits is refused: of the header as badly signed, else as corrupt")
    func bitFlips() throws {
        let fixture = try Fixture()
        var generator = SplitMix64(seed: 2)
        for round in 0..<2000 {
            let isHeader = round < 1000
            let range = isHeader ? 0..<256 * 8 : 256 * 8..<fixture.bytes.count * 8
            let bit = Int.random(in: range, using: &generator)
            var flipped = fixture.bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let expected: FeedError = isHeader ? .badSignature : .corruptBatch(.payloadHash)
            #expect(fixture.error(flipped) == expected, "bit \(bit)")
        }
    }

    @Test("after an error a reader gives nothing but the same error")
    func sticks() throws {
        let fixture = try Fixture(note: nil)
        var flipped = fixture.bytes
        flipped[100] ^= 1
        var reader = BatchReader(
            cursor: fixture.head.cursor, head: fixture.head, secrets: [])
        var seen: [FeedError] = []
        for bytes in [flipped, fixture.bytes] {
            do throws(FeedError) { try reader.feed(bytes.span) } catch { seen.append(error) }
        }
        do throws(FeedError) { _ = try reader.finish() } catch { seen.append(error) }
        #expect(seen == [.badSignature, .badSignature, .badSignature])
    }

    @Test("signed nonsense is refused, each kind by its own name")
    func malformed() throws {
        let fixture = try Fixture()
        func forged(_ change: (inout [UInt8]) -> Void) throws -> FeedError? {
            try fixture.error(
                naming: Forge.batch(fixture.bytes, with: fixture.feed.key, change))
        }
        for offset in [136, 183] {
            #expect(try forged { $0[offset] = 1 } == .corruptBatch(.reservedBytes))
        }
        #expect(try forged { $0[8] ^= 1 } == .wrongFeed)
        #expect(try forged { $0.put(littleEndian: UInt64(2), at: 24) } == .corruptBatch(.sequence))
        for count in [0, 1, 1023, 1025] as [UInt32] {
            #expect(try forged { $0.put(littleEndian: count, at: 40) } == .corruptBatch(.shape))
        }
        for bits in [0, 16, 39, 55, 255] as [UInt8] {
            #expect(try forged { $0[44] = bits } == .corruptBatch(.shape))
        }
        for (bits, count) in [(48, 65_536 + 1024), (54, 2048)] as [(UInt8, UInt32)] {
            let tooMany = try forged {
                $0[44] = bits
                $0.put(littleEndian: count, at: 40)
            }
            #expect(tooMany == .corruptBatch(.shape), "values of more than 64 bits")
        }
        for bits in [44, 47, 49, 54] as [UInt8] {
            let error = try forged { $0[44] = bits }
            #expect(error == .corruptBatch(.size), "no code of such values has this size")
        }
        #expect(try forged { $0[45] = 2 } == .corruptBatch(.shape))
        #expect(try forged { $0[45] = 0 } == .corruptBatch(.shape), "notes without their kind")
        #expect(try forged { $0.put(littleEndian: UInt16(41), at: 46) } == .corruptBatch(.shape))
        #expect(try forged { $0.put(littleEndian: UInt32(2048), at: 40) } == .corruptBatch(.size))
        #expect(try forged { $0.put(littleEndian: UInt64(4 << 20) + 1, at: 128) } == .tooLarge)
        #expect(try forged { $0.put(littleEndian: UInt64.max, at: 128) } == .tooLarge)
        #expect(try forged { $0[96] ^= 1 } == .corruptBatch(.payloadHash))
        #expect(try forged { $0[64] ^= 1 } == .fork(sequence: 1), "another predecessor")
        #expect(try forged { _ in } == nil)
    }

    @Test("what is no code of digests is refused although signed and hashed, however it is cut")
    func code() throws {
        let fixture = try Fixture(note: nil)
        let range = try BatchHeader(signed: fixture.bytes.span.extracting(0..<256)).range
        let values = Sample.values(fixture.bytes)
        func error(_ change: (inout [UInt8]) -> Void, piece: Int) throws -> FeedError? {
            let bytes = Forge.payload(fixture.bytes, with: fixture.feed.key, change)
            return try fixture.error(naming: bytes, piece: piece)
        }
        for piece in [65_536, 256, 17, 3, 1] {
            #expect(try error({ _ in }, piece: piece) == nil)
            // Beyond the range: the last value, then one in the middle.
            for index in [1023, 500] {
                var wrong = values.map { UInt128($0) }
                for later in index..<1024 {
                    wrong[later] += UInt128(range.last - values[index]) + 1
                }
                let code = PlainCode.bytes(wrong, bits: range.budget.bits)
                #expect(
                    try error({ $0 = Array(code.prefix(1024 * 50 / 8)) }, piece: piece)
                        == .corruptBatch(.code))
            }
            // One value too few, and one too many.
            for changed in [Array(values.dropLast()), values + [range.last]] {
                let code = PlainCode.bytes(changed.map { UInt128($0) }, bits: range.budget.bits)
                #expect(try error({ $0 = code }, piece: piece) == .corruptBatch(.code))
            }
            // A byte of zeros more, and bits after the last value.
            #expect(try error({ $0.append(0) }, piece: piece) == .corruptBatch(.code))
            #expect(try error({ $0.append(1) }, piece: piece) == .corruptBatch(.code))
            #expect(try error({ $0.removeLast() }, piece: piece) == .corruptBatch(.code))
            let end = PlainCode.bits(values.map { UInt128($0) }, bits: range.budget.bits).count
            if end % 8 != 0 {
                let error = try error({ $0[$0.count - 1] |= 0x80 }, piece: piece)
                #expect(error == .corruptBatch(.code))
            }
            let zeros = try error(
                { $0 = [UInt8](repeating: 0, count: $0.count) }, piece: piece)
            #expect(zeros == .corruptBatch(.code))
            let ones = try error(
                { $0 = [UInt8](repeating: 255, count: $0.count) }, piece: piece)
            #expect(ones == .corruptBatch(.code))
        }
    }

    @Test("sizes that no code has are refused before a byte of it")
    func sizes() throws {
        let fixture = try Fixture(note: nil)
        for bytes in [0, 1024 * 49 / 8 - 1, 1024 * 50 / 8 + 1, 1 << 20] {
            let forged = Forge.payload(fixture.bytes, with: fixture.feed.key) {
                $0 = [UInt8](repeating: 0, count: bytes)
            }
            #expect(try fixture.error(naming: forged) == .corruptBatch(.size))
        }
        for bytes in [1024 * 49 / 8, 1024 * 50 / 8] {
            let forged = Forge.payload(fixture.bytes, with: fixture.feed.key) {
                $0 = [UInt8](repeating: 0, count: bytes)
            }
            #expect(try fixture.error(naming: forged) == .corruptBatch(.code))
        }
    }

    @Test("the newest batch must have the head's whole hash, not only its first eight bytes")
    func wholeHash() throws {
        let fixture = try Fixture(note: nil)
        let bytes = Forge.head(try fixture.feed.headBytes(), with: fixture.feed.key) {
            $0[56 + 8] ^= 1
        }
        let verifier = HeadVerifier(cursor: FeedCursor(key: fixture.feed.publicKey))
        let head = try verifier.verify(bytes.span, now: now)
        #expect(fixture.error(fixture.bytes, head: head) == .fork(sequence: 1))
    }

    @Test("a second batch under one number is a fork, with the rightly signed bytes as evidence")
    func fork() throws {
        let fixture = try Fixture()
        let other = Forge.batch(fixture.bytes, with: fixture.feed.key) { $0[32] ^= 64 }
        #expect(fixture.error(other) == .fork(sequence: 1))
    }

    @Test("no bytes are taken beyond what the header announced")
    func remaining() throws {
        let fixture = try Fixture(note: nil)
        var reader = BatchReader(
            cursor: fixture.head.cursor, head: fixture.head, secrets: [])
        #expect(reader.remainingBytes == nil && reader.header == nil)
        try reader.feed(fixture.bytes.span.extracting(0..<300))
        #expect(reader.remainingBytes == fixture.bytes.count - 300)
        #expect(reader.header?.count == 1024)
        let tooMuch = [UInt8](repeating: 0, count: fixture.bytes.count)
        var seen: FeedError?
        do throws(FeedError) { try reader.feed(tooMuch.span) } catch { seen = error }
        #expect(seen == .tooLarge)
    }
}
