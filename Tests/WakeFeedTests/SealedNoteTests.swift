import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

/// A note is what a match says; that there is a match never hangs on it.
@Suite("Sealed notes")
struct SealedNoteTests {
    /// What the holder of the one published secret is told, by a batch whose note was replaced.
    private func match(
        _ forge: (_ index: Int, _ payload: inout [UInt8]) -> Void
    ) throws -> FeedMatch {
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(
            try Sample.input([1], note: "hello"), options: PublishOptions(noteBytes: 64),
            now: TemporaryFeed.now)
        let bytes = try feed.batchBytes(try feed.verifiedHead().plan[0].name)
        let salt = BatchSalt(Array(bytes[48..<64]))
        let digest = Digest(of: SecretBytes(Sample.secret(1)), salt: salt)
        let header = try BatchHeader(signed: bytes.span.extracting(0..<256))
        let index = try #require(
            Sample.values(bytes).firstIndex(of: header.range.value(of: digest)))
        let forged = Forge.payload(bytes, with: feed.key) {
            forge(header.codeBytes + index * 64, &$0)
        }
        let headBytes = Forge.head(try feed.headBytes(), naming: forged, with: feed.key)
        let head = try HeadVerifier(cursor: FeedCursor(key: feed.publicKey))
            .verify(headBytes.span, now: TemporaryFeed.now)
        let secrets = [Sample.localSecret(1), Sample.localSecret(2)]
        let matches = try readBatch(
            forged, cursor: head.cursor, head: head, secrets: secrets
        ).matches
        #expect(matches.count == 1)
        return try #require(matches.first)
    }

    @Test("the note that was sealed for a secret is told with its match")
    func told() throws {
        let match = try match { _, _ in }
        #expect(match.secretID == "1" && match.note == Array("hello".utf8))
    }

    @Test("a note of zeros, of chance, cut or sealed for another leaves the match, without a note")
    func unreadable() throws {
        let none = MatchID(
            feedID: FeedKey(
                SigningKey(seed: [UInt8](repeating: 1, count: 32).span).verifyingKey
            ).feedID, secret: SecretBytes(Sample.secret(1)), note: nil)
        let other = SealedNote.seal(
            [1, 2], secret: SecretBytes(Sample.secret(2)), noteBytes: 64,
            nonce: Sodium.random(24))
        let notes: [[UInt8]] = [
            [UInt8](repeating: 0, count: 64), [UInt8](repeating: 255, count: 64),
            Sodium.random(64), other,
        ]
        for note in notes {
            let match = try match { offset, payload in payload.put(note, at: offset) }
            #expect(match.note == nil && match.secretID == "1")
            // As if it had been published without one: the same item later is no second match.
            #expect(match.matchID == none)
        }
        let cut = try match { offset, payload in
            for byte in offset + 32..<offset + 64 { payload[byte] = 0 }
        }
        #expect(cut.note == nil && cut.matchID == none)
    }

    @Test("no other secret with another note has the id of a match")
    func distinct() {
        let bytes = [UInt8](0..<64)
        let seed = Sample.secret(1)
        let feed = FeedKey(SigningKey(seed: seed.span).verifyingKey).feedID
        let ids = (16...64).map { count in
            MatchID(
                feedID: feed, secret: SecretBytes(Array(bytes[..<count])),
                note: Array(bytes[count...]))
        }
        #expect(Set(ids).count == ids.count)
    }

    @Test("a length inside the seal that is longer than the seal opens to nothing")
    func lyingLength() {
        let secret = SecretBytes(Sample.secret(1))
        let name = Array("wake-feed/note/1".utf8)
        let domain = Blake2b.hash(name.span)
        let key = secret.withSpan { Blake2b.hash($0, key: domain.span) }
        for (length, isOpen) in [(22, true), (23, false), (65_535, false)] as [(UInt16, Bool)] {
            var plain = [UInt8](repeating: 1, count: 24)
            plain.put(littleEndian: length, at: 0)
            let nonce = Sodium.random(24)
            let sealed = SecretBox.seal(plain.span, nonce: nonce.span, key: key.span)
            #expect(sealed.count == 64)
            let note = SealedNote.open(sealed, secret: secret)
            #expect(note == (isOpen ? [UInt8](repeating: 1, count: 22) : nil))
        }
    }

    @Test("an empty note is a note: it opens to nothing, but it does open")
    func empty() {
        let secret = SecretBytes(Sample.secret(1))
        let sealed = SealedNote.seal([], secret: secret, noteBytes: 42, nonce: Sodium.random(24))
        #expect(SealedNote.open(sealed, secret: secret) == [])
    }
}
