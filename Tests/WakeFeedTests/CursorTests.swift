import TestSupport
import Testing
import WakeModel

@testable import WakeFeed
@testable import WakePublish

@Suite("Cursor")
struct CursorTests {
    private func samples() -> [FeedCursor] {
        let keys = (1...3).map {
            FeedKey(SigningKey(seed: [UInt8](repeating: $0, count: 32).span).verifyingKey)
        }
        var moved = FeedCursor(key: keys[0])
        moved.sequence = 1842
        moved.headerHash = HeaderHash([UInt8](repeating: 5, count: 32).span)
        moved.newestIssued = 1_800_000_000
        moved.settings = FeedSettings(
            pollSeconds: 1, spreadSeconds: 2, flags: [.paused, FeedFlags(rawValue: 1 << 31)],
            pauseSeconds: 3, minimumClientVersion: 4, cacheSeconds: 5)
        let chain = KeyChain([
            .init(key: keys[0], from: 1), .init(key: keys[1], from: 7),
            .init(key: keys[2], from: 1843),
        ])
        var unknown = FeedCursor(key: keys[0]).extended(by: chain, for: keys[0])
        unknown.sequence = 7
        unknown.headerHash = nil
        return [FeedCursor(key: keys[0]), moved, unknown]
    }

    @Test("what is encoded is decoded, and cut at any length it is refused")
    func roundTrip() {
        for cursor in samples() {
            let bytes = cursor.encode()
            #expect(FeedCursor(decoding: bytes) == cursor)
            for length in 0..<bytes.count {
                #expect(FeedCursor(decoding: Array(bytes[..<length])) == nil)
            }
            #expect(FeedCursor(decoding: bytes + [0]) == nil)
        }
    }

    @Test("bytes that decode are the bytes that value encodes to")
    func canonical() {
        var generator = SplitMix64(seed: 4)
        var accepted = 0
        for cursor in samples() {
            let bytes = cursor.encode()
            for _ in 0..<2000 {
                var changed = bytes
                let bit = Int.random(in: 0..<bytes.count * 8, using: &generator)
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                guard let decoded = FeedCursor(decoding: changed) else { continue }
                accepted += 1
                #expect(decoded.encode() == changed, "bit \(bit)")
            }
        }
        #expect(accepted > 0)
    }

    @Test("a key's text is read back, and text that is no key is refused")
    func keyText() throws {
        let key = samples()[0].chain.newest
        #expect(key.text.count == 43)
        #expect(FeedKey(text: key.text) == key)
        #expect(FeedKey(text: String(key.text.dropLast())) == nil)
        #expect(FeedKey(text: key.text + "A") == nil)
        #expect(FeedKey(text: String(repeating: "A", count: 43)) == nil, "of small order")
        #expect(key.feedID.text.count == 32)
    }

    @Test("a fingerprint is the sequence and eight words, and tells feeds apart")
    func fingerprint() throws {
        let feed = try TemporaryFeed()
        #expect(FeedFingerprint(FeedCursor(key: feed.publicKey)) == nil)
        let empty = FeedFingerprint(try FeedDirectory(feed.directory).head(feed.publicKey))
        #expect(empty.text == "0 " + Array(repeating: "babab", count: 8).joined(separator: "-"))
        _ = try feed.publisher().publish(try Sample.input([1]), now: TemporaryFeed.now)
        let published = FeedFingerprint(
            try FeedDirectory(feed.directory).head(feed.publicKey))
        #expect(published.sequence == 1 && Set(published.words).count > 4)
        #expect(FeedFingerprint(try feed.verify().cursor) == published)
        #expect(published.words.allSatisfy { $0.count == 5 })
    }

    @Test("proquints are those of the paper")
    func proquints() {
        // arxiv.org/abs/0901.4016: 127.0.0.1 is lusab-babad, 63.84.220.193 is gutih-tugad.
        var bytes: [UInt8] = [127, 0, 0, 1, 63, 84, 220, 193]
        bytes += [UInt8](repeating: 0, count: 24)
        var cursor = samples()[1]
        cursor.headerHash = HeaderHash(bytes.span)
        let words = FeedFingerprint(cursor)?.words
        #expect(words?.prefix(4) == ["lusab", "babad", "gutih", "tugad"])
    }
}
