import TestSupport
import Testing
import WakeModel

@testable import WakeFeed
@testable import WakePublish

@Suite("Round trips")
struct RoundTripTests {
    @Test("a signed header that is read, whatever its fields, encodes to its own bytes")
    func headers() throws {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(
            try Sample.input([1]), options: PublishOptions(noteBytes: 64), now: TemporaryFeed.now)
        let bytes = try feed.batchBytes(try feed.batchNames()[0])
        var generator = SplitMix64(seed: 7)
        var accepted = 0
        for _ in 0..<3000 {
            let forged = Forge.batch(bytes, with: feed.key) { header in
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let offset = Int.random(in: 8..<136, using: &generator)
                    header[offset] = UInt8.random(in: 0...255, using: &generator)
                }
            }
            do throws(FeedError) {
                let header = try BatchHeader(signed: forged.span.extracting(0..<256))
                guard header.payloadBytes < Int.max else { continue }
                accepted += 1
                #expect(header.encoded(signedWith: feed.key) == Array(forged[..<256]))
            } catch {
                #expect(error == .corruptBatch(.shape))
            }
        }
        #expect(accepted > 100)
    }

    @Test("a sealed note opens with its secret alone, and only unchanged")
    func notes() {
        let secret = SecretBytes(Sample.secret(1))
        for count in [0, 1, 58] {
            let note = [UInt8](repeating: 9, count: count)
            let sealed = SealedNote.seal(
                note, secret: secret, noteBytes: 100, nonce: Sodium.random(24))
            #expect(sealed.count == 100)
            #expect(SealedNote.open(sealed, secret: secret) == note)
            #expect(SealedNote.open(sealed, secret: SecretBytes(Sample.secret(2))) == nil)
            for index in sealed.indices {
                var changed = sealed
                changed[index] ^= 1
                #expect(SealedNote.open(changed, secret: secret) == nil)
            }
        }
        #expect(SealedNote.open([UInt8](repeating: 0, count: 10), secret: secret) == nil)
    }
}
