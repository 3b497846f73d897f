import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Keys and successions")
struct KeyChainTests {
    private static let now = TemporaryFeed.now

    private static func key(_ seed: UInt8) -> SigningKey {
        SigningKey(seed: [UInt8](repeating: seed, count: 32).span)
    }

    private static func publicKey(_ seed: UInt8) -> FeedKey { FeedKey(key(seed).verifyingKey) }

    /// A file of the keys of these seeds, each from that batch on.
    private static func file(_ successors: [(UInt8, from: UInt64)], first: UInt8 = 1) throws
        -> [UInt8]
    {
        var (file, last) = (KeyChain.file(first: key(first)), first)
        for (seed, from) in successors {
            file = try KeyChain(file.span)
                .file(file, adding: key(seed), after: key(last), from: from)
            last = seed
        }
        return file
    }

    private func error(_ file: [UInt8]) -> FeedError? {
        failure { () throws(FeedError) in _ = try KeyChain(file.span) }
    }

    @Test("a file of keys is read back; no bit of it can be changed, and no byte cut or added")
    func file() throws {
        let file = try Self.file([(2, from: 5), (3, from: 5)])
        let chain = try KeyChain(file.span)
        #expect(chain.keys == [1, 2, 3].map(Self.publicKey) && chain.newestFrom == 5)
        #expect(chain.feedID == Self.publicKey(1).feedID)
        // Of two keys from one batch on the later one signs it.
        #expect(chain.signer(ofBatch: 4) == Self.publicKey(1))
        #expect(chain.signer(ofBatch: 5) == Self.publicKey(3))
        #expect(error(Array(file.dropLast())) == .truncated)
        #expect(error(file + [0]) == .tooLarge)
        var generator = SplitMix64(seed: 6)
        for _ in 0..<1000 {
            var changed = file
            let bit = Int.random(in: 0..<file.count * 8, using: &generator)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(error(changed) != nil, "bit \(bit)")
        }
        #expect(error([UInt8](repeating: 0, count: 4096)) == .badSignature)
    }

    @Test("records that do not follow each other are refused, however they are signed")
    func order() throws {
        let file = try Self.file([(2, from: 5), (3, from: 9)])
        // Without the second record; the records exchanged; another feed's in between.
        let zeros = [UInt8](repeating: 0, count: 256)
        #expect(error(Array(file[..<256] + file[512...]) + zeros) == .badSignature)
        #expect(
            error(Array(file[..<256] + file[512..<768] + file[256..<512] + file[768...]))
                == .badSignature)
        let foreign = try Self.file([(2, from: 5)], first: 7)
        #expect(
            error(Array(file[..<256] + foreign[256..<512] + file[512...])) == .badSignature)
        // From an earlier batch on than the key before; a key that was there before.
        #expect(error(try Self.file([(2, from: 5), (3, from: 4)])) == .malformedKeys)
        let chain = try KeyChain(file.span)
        let again = chain.file(file, adding: Self.key(1), after: Self.key(3), from: 9)
        #expect(error(again) == .malformedKeys)
    }

    @Test("sixteen keys fill the file, and a feed takes no more")
    func limit() throws {
        let feed = try TemporaryFeed()
        for seed: UInt8 in 2...16 {
            let heir = FeedPublisher(directory: feed.directory, key: Self.key(seed))
            try heir.succeed(Self.key(seed - 1), now: Self.now)
        }
        let last = Self.publicKey(16)
        #expect(try FeedDirectory(feed.directory).keys(last).keys.count == FeedLimits.keys)
        #expect(try FeedDirectory(feed.directory).verify(last, now: Self.now).batches == 0)
        let late = FeedPublisher(directory: feed.directory, key: Self.key(17))
        let refusal = failure { () throws(FeedDirectoryError) in
            try late.succeed(Self.key(16), now: Self.now)
        }
        #expect(refusal == .tooManyKeys)
    }

    // MARK: Clients

    /// What an origin serves.
    fileprivate struct Served {
        var head: [UInt8]
        var keys: [UInt8]?

        init(_ feed: TemporaryFeed) throws {
            head = try feed.headBytes()
            keys = try FeedDirectory(feed.directory).keysBytes()
        }

        init(head: [UInt8], keys: [UInt8]) {
            self.head = head
            self.keys = keys
        }
    }

    private func outcome(
        _ served: Served, _ cursor: FeedCursor, configured: FeedKey? = nil
    ) -> Result<VerifiedHead, FeedError> {
        let verifier = HeadVerifier(cursor: cursor, key: configured)
        let keys = verifier.needsKeys(for: served.head.span) ? served.keys : nil
        return Result { () throws(FeedError) in
            try verifier.verify(served.head.span, keys: keys, now: Self.now)
        }
    }

    /// A feed of three keys with a batch of each, and what was served while each was the newest.
    private func history() throws -> (feed: TemporaryFeed, served: [Served]) {
        let feed = try TemporaryFeed()
        var served: [Served] = []
        for seed: UInt8 in 1...3 {
            let publisher = FeedPublisher(directory: feed.directory, key: Self.key(seed))
            if seed > 1 { try publisher.succeed(Self.key(seed - 1), now: Self.now) }
            try publisher.publishCover(now: Self.now)
            served.append(try Served(feed))
        }
        return (feed, served)
    }

    @Test("whatever key is configured and known, a client arrives at the newest, and verifies all")
    func arrive() throws {
        let (feed, served) = try history()
        for configured: UInt8 in 1...3 {
            let key = Self.publicKey(configured)
            for known in 0...3 {
                var cursor = FeedCursor(key: Self.publicKey(1))
                if known > 0 { cursor = try outcome(served[known - 1], cursor).get().cursor }
                if known == 0 { cursor = FeedCursor(key: key) }
                let last = try outcome(served[2], cursor, configured: key).get()
                #expect(last.cursor.chain.keys == [1, 2, 3].map(Self.publicKey))
                #expect(last.cursor.feedID == feed.publicKey.feedID)
                // The batches of every key are verified by their numbers.
                cursor = last.cursor
                for planned in last.plan {
                    cursor = try readBatch(
                        feed.batchBytes(planned.name), cursor: cursor, head: last
                    ).cursor
                }
                #expect(cursor.sequence == 3)
                #expect(FeedCursor(decoding: cursor.encode()) == cursor)
            }
            #expect(try FeedDirectory(feed.directory).verify(key, now: Self.now).batches == 3)
        }
    }

    @Test("the keys are fetched with the first head and with each new signer's, by all alike")
    func fetched() throws {
        let served = try history().served
        func needsKeys(_ head: [UInt8], _ cursor: FeedCursor, _ key: FeedKey? = nil) -> Bool {
            HeadVerifier(cursor: cursor, key: key).needsKeys(for: head.span)
        }
        for configured: UInt8 in 1...3 {
            let key = Self.publicKey(configured)
            #expect(needsKeys(served[2].head, FeedCursor(key: key), key))
            let cursor = try outcome(served[2], FeedCursor(key: key)).get().cursor
            #expect(!needsKeys(served[2].head, cursor, key))
        }
        let old = try outcome(served[0], FeedCursor(key: Self.publicKey(1))).get().cursor
        #expect(!needsKeys(served[0].head, old))
        #expect(needsKeys(served[1].head, old))
        // A captive portal's page asks for nothing.
        #expect(!needsKeys(Array("<html>".utf8), old))
    }

    @Test("a retired key convinces nobody who has seen its successor, whatever it signs")
    func retired() throws {
        let served = try history().served
        let first = Self.publicKey(1)
        let informed = try outcome(served[2], FeedCursor(key: first)).get().cursor
        // The thief of the first key: a head as good as the newest, and keys of his own.
        var forged = served[2]
        forged.head = Forge.head(served[2].head, with: Self.key(1))
        #expect(outcome(forged, informed).error == .badSignature)
        forged.keys = try Self.file([(9, from: 2)])
        #expect(outcome(forged, informed).error == .badSignature)
        forged.head = Forge.head(served[2].head, with: Self.key(9))
        #expect(outcome(forged, informed).error == .badSignature)
        // The same with the second key, of which the client knows that it was followed.
        forged.keys = try Self.file([(2, from: 2), (9, from: 3)])
        #expect(outcome(forged, informed).error == .badSignature)
        // Old heads of the old key, as a cache may still have them.
        #expect(outcome(served[0], informed).error == .badSignature)
        // A client that is configured with the newest key is not convinced either.
        let newest = Self.publicKey(3)
        #expect(outcome(forged, FeedCursor(key: newest)).error == .wrongFeed)
        #expect(outcome(served[1], FeedCursor(key: newest)).error == .wrongFeed)
        // One that knows the thief's key alone cannot see the difference: FEED.md says so.
        forged.head = Forge.head(served[2].head, with: Self.key(9))
        #expect(outcome(forged, FeedCursor(key: first)).error == nil)
    }

    @Test("a key that the app brings outranks a succession that a thief signed")
    func configuredOutranks() throws {
        let served = try history().served
        let first = Self.publicKey(1)
        var forged = served[0]
        forged.keys = try Self.file([(9, from: 1)])
        forged.head = Forge.head(served[0].head, with: Self.key(9))
        let misled = try outcome(forged, FeedCursor(key: first)).get().cursor
        #expect(outcome(served[2], misled).error == .badSignature)
        let rescued = try outcome(served[2], misled, configured: Self.publicKey(3)).get()
        #expect(rescued.cursor.chain.newest == Self.publicKey(3))
        // Another feed's key rescues nobody.
        let other = Served(head: served[2].head, keys: try Self.file([(3, from: 1)], first: 5))
        #expect(outcome(other, misled, configured: Self.publicKey(3)).error == .wrongFeed)
    }

    @Test("between keys and head, clients with the old key go on; batches are signed by number")
    func window() throws {
        let feed = try TemporaryFeed()
        try feed.publisher().publishCover(now: Self.now)
        var served = try Served(feed)
        served.keys = try Self.file([(2, from: 2)])
        let cursor = try outcome(served, FeedCursor(key: feed.publicKey)).get().cursor
        #expect(cursor.chain.keys.count == 2)
        // The old key may sign up to the batch before: a later head of it is refused.
        try feed.publisher().publishCover(now: Self.now + 60)
        served.head = try feed.headBytes()
        #expect(outcome(served, cursor).error == .badSignature)
    }
}

extension Result {
    fileprivate var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
