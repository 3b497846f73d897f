import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Kept batches, searched again for secrets that were added later")
struct CachedBatchTests {
    /// A kept batch without a decoy: its first and last digests are of known secrets.
    private struct Fixture {
        let feed: TemporaryFeed
        let name: String
        let bytes: [UInt8]
        var path: String { feed.path + "/" + name }

        init(_ options: PublishOptions = PublishOptions(), note: String? = nil) throws {
            feed = try TemporaryFeed()
            _ = try feed.publisher().publish(
                try Sample.input(0..<1024, note: note), options: options, now: TemporaryFeed.now)
            name = try feed.verifiedHead().plan[0].name
            bytes = try feed.batchBytes(name)
            try keep(bytes)
        }

        func keep(_ bytes: [UInt8]) throws {
            try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC).write(bytes.span)
        }

        func matches(
            _ secrets: [LocalSecret], of key: FeedKey? = nil
        ) throws(FeedError) -> [FeedMatch] {
            guard let file = try? OpenFile(path, flags: O_RDONLY) else { throw .truncated }
            var reader = BatchReader(
                kept: name, cursor: FeedCursor(key: key ?? feed.publicKey),
                secrets: LocalSecretSet(secrets))
            try reader.feed(file)
            return try reader.finish().matches
        }

        /// What is said of a kept file with these bytes.
        func error(_ bytes: [UInt8]) throws -> FeedError? {
            try keep(bytes)
            return failure { () throws(FeedError) in
                _ = try matches([Sample.localSecret(1)])
            }
        }
    }

    @Test(
        "every digest is found, the first and the last too, as when the batch was fetched",
        arguments: [40, 48, 54], [false, true])
    func all(bits: Int, isSalted: Bool) throws {
        let budget = try #require(FalseMatchBudget(bits: bits))
        for note in [nil, "hello"] {
            let options = PublishOptions(
                budget: budget, isSalted: isSalted, noteBytes: note == nil ? 0 : 64)
            let fixture = try Fixture(options, note: note)
            let secrets = (-20..<1044).map(Sample.localSecret)
            let matches = try fixture.matches(secrets)
            let online = try fixture.feed.verify(secrets: secrets).matches
            #expect(matches == online)
            #expect(matches.count == 1024)
            #expect(matches.allSatisfy { $0.note == note.map { Array($0.utf8) } })
            // Alone too: the first digest of the file, and the last.
            for match in [matches[0], matches[1023]] {
                let number = try #require(Int(match.secretID))
                #expect(try fixture.matches([Sample.localSecret(number)]) == [match])
            }
            #expect(try fixture.matches([]).isEmpty)
            #expect(try fixture.matches([Sample.localSecret(2000)]).isEmpty)
        }
    }

    @Test("two names for one secret are both found")
    func twins() throws {
        let fixture = try Fixture()
        let twin = LocalSecret(id: "twin", bytes: SecretBytes(Sample.secret(5)))
        let found = try fixture.matches([Sample.localSecret(5), Sample.localSecret(6), twin])
        #expect(Set(found.map(\.secretID)) == ["5", "6", "twin"])
    }

    @Test("a file cut at any length is refused, and so is one that is longer")
    func cut() throws {
        let fixture = try Fixture()
        for length in [0, 1, 255, 256, 257, 4096, fixture.bytes.count - 1] {
            #expect(try fixture.error(Array(fixture.bytes[..<length])) == .truncated)
        }
        #expect(try fixture.error(fixture.bytes + [0]) == .tooLarge)
        #expect(try fixture.error(fixture.bytes) == nil)
    }

    @Test("whichever bit of a kept file is turned, it is refused and nothing is missed in silence")
    func flipped() throws {
        let fixture = try Fixture(PublishOptions(noteBytes: 64), note: "hello")
        var generator = SplitMix64(seed: 9)
        for round in 0..<600 {
            let isHeader = round % 3 == 0
            let range = isHeader ? 0..<256 * 8 : 256 * 8..<fixture.bytes.count * 8
            let bit = Int.random(in: range, using: &generator)
            var bytes = fixture.bytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let error = try fixture.error(bytes)
            if isHeader {
                #expect(error != nil, "bit \(bit)")
            } else {
                #expect(error == .corruptBatch(.payloadHash), "bit \(bit)")
            }
        }
    }

    @Test("a rightly made batch under another's name, or of another feed, is refused")
    func misplaced() throws {
        let fixture = try Fixture()
        let other = Forge.batch(fixture.bytes, with: fixture.feed.key) { $0[32] ^= 64 }
        #expect(try fixture.error(other) == .badSignature)
        try fixture.keep(fixture.bytes)
        let stranger = FeedKey(
            SigningKey(seed: [UInt8](repeating: 2, count: 32).span).verifyingKey)
        let error = failure { () throws(FeedError) in
            _ = try fixture.matches([], of: stranger)
        }
        #expect(error == .wrongFeed)
    }
}
