import TestSupport
import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeFeed

@Suite("Batch reader")
struct BatchReaderTests {
    private let now = TemporaryFeed.now

    /// A feed of one batch with notes, and everything to read it.
    private struct Fixture {
        let feed: TemporaryFeed
        let head: VerifiedHead
        let bytes: [UInt8]

        init(width: DigestWidth = .standard, note: String? = "see you") throws {
            feed = try TemporaryFeed()
            _ = try feed.publisher().publish(
                try Sample.input(0..<5, note: note),
                options: PublishOptions(width: width, noteBytes: note == nil ? 0 : 50),
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

    @Test("however the bytes are cut, cursor and matches are the same", arguments: [0, 1, 2])
    func splits(kind: Int) throws {
        let fixture = try Fixture(width: [.short, .standard, .long][kind])
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

    @Test("every split into two pieces gives the same matches")
    func everySplit() throws {
        let fixture = try Fixture(note: nil)
        let secrets = (0..<5).map(Sample.localSecret)
        let bytes = fixture.bytes
        for split in 0...bytes.count {
            var reader = BatchReader(
                cursor: fixture.head.cursor, head: fixture.head, secrets: secrets)
            try reader.feed(bytes.span.extracting(0..<split))
            try reader.feed(bytes.span.extracting(split..<bytes.count))
            let batch = try reader.finish()
            guard batch.matches.count == 5 else {
                Issue.record("split at \(split)")
                return
            }
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
        #expect(try forged { $0[44] = 20 } == .corruptBatch(.shape))
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

    @Test("digests out of order, or the same twice, are refused although signed and hashed")
    func order() throws {
        for width in DigestWidth.allCases {
            let fixture = try Fixture(width: width, note: nil)
            let size = width.rawValue
            // Whole, cut between digests, and cut within them.
            for (index, piece) in [(0, 65_536), (1, 256), (500, size), (1022, size + 3)] {
                func forged(_ change: (inout [UInt8]) -> Void) throws -> FeedError? {
                    let bytes = Forge.payload(fixture.bytes, with: fixture.feed.key, change)
                    return try fixture.error(naming: bytes, piece: piece)
                }
                let twice = try forged { payload in
                    for byte in index * size..<(index + 1) * size {
                        payload[byte + size] = payload[byte]
                    }
                }
                #expect(twice == .corruptBatch(.order), "piece \(piece)")
                let swapped = try forged { payload in
                    for byte in index * size..<(index + 1) * size {
                        payload.swapAt(byte + size, byte)
                    }
                }
                #expect(swapped == .corruptBatch(.order), "piece \(piece)")
                #expect(try forged { _ in } == nil)
            }
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
