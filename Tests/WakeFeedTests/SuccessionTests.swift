import Glibc
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("A change of the feed's key")
struct SuccessionTests {
    private static let now = TemporaryFeed.now
    /// Key made; keys, written and named; 2 tiles, logged, cosigned, checkpoint and head;
    /// key file replaced.
    private static let steps = 14

    /// A feed with a batch, whose key is in a file beside it.
    private static func makeFeed() throws -> TemporaryFeed {
        let feed = try TemporaryFeed()
        let seed = [UInt8](repeating: 1, count: 32)
        let line = Base64URL.encode(seed.span) + [UInt8(ascii: "\n")]
        try Files.create(feed.path + "/feed.key", with: line.span)
        _ = try feed.publisher().publishCover(now: now)
        return feed
    }

    private static func succession(
        _ path: String, newKeyFile: String? = nil,
        _ observer: @escaping FeedPublisher.Observer = { _ in }
    ) -> FeedSuccession {
        FeedSuccession(
            directory: path + "/feed", keyFile: path + "/feed.key", newKeyFile: newKeyFile,
            observer: observer)
    }

    private static func key(in feed: TemporaryFeed) throws -> SigningKey {
        try FeedKeyFile.load(feed.path + "/feed.key")
    }

    /// After a crash: the feed verifies with the old key, the repetition completes, and is one.
    private static func expectWhole(_ feed: TemporaryFeed, step: Int) throws {
        let directory = FeedDirectory(feed.directory)
        #expect(try feed.verify().batches == 1, "step \(step)")
        let outcome = try succession(feed.path).run(now: now)
        #expect(outcome == (step == steps - 1 ? .wasDone : .succeeded))
        #expect(try succession(feed.path).run(now: now) == .wasDone)
        let new = FeedKey(try key(in: feed).verifyingKey)
        #expect(try directory.keys(feed.publicKey).keys == [feed.publicKey, new])
        #expect(try feed.verify().batches == 1)
        #expect(try directory.verify(new, now: now).batches == 1)
        #expect(!Files.exists(feed.path + "/feed.key.next"))
        // The old key publishes nothing more, the new one does.
        let late = failure { () throws(FeedDirectoryError) in
            try feed.publisher().publishCover(now: now)
        }
        #expect(late == .keySucceeded)
        let heir = FeedPublisher(directory: feed.directory, key: try key(in: feed))
        #expect(try heir.publishCover(now: now) == 2)
        #expect(try feed.verify().batches == 2)
    }

    @Test("stopped after any step, the feed verifies and repeating the change completes it")
    func stopped() throws {
        for step in 0..<Self.steps {
            let feed = try Self.makeFeed()
            let left = Mutex(step)
            let error = failure { () throws(FeedDirectoryError) in
                _ = try Self.succession(feed.path) { _ throws(FeedDirectoryError) in
                    let isLast = left.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    if isLast { throw .interrupted }
                }.run(now: Self.now)
            }
            #expect(error == .interrupted)
            try Self.expectWhole(feed, step: step)
        }
    }

    @Test("killed (SIGKILL) after any step, the same")
    func killed() async throws {
        for step in 0..<Self.steps {
            let feed = try Self.makeFeed()
            let path = feed.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, step = step as Int] in
                let left = Mutex(step)
                _ = try SuccessionTests.succession(path) { _ in
                    let isLast = left.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    if isLast { kill(getpid(), SIGKILL) }
                }.run(now: SuccessionTests.now)
            }
            try Self.expectWhole(feed, step: step)
        }
    }

    @Test("while a change is not complete, neither key publishes, and everybody still verifies")
    func incomplete() throws {
        let feed = try Self.makeFeed()
        _ = failure { () throws(FeedDirectoryError) in
            _ = try Self.succession(feed.path) { step throws(FeedDirectoryError) in
                if step == .keysNamed { throw .interrupted }
            }.run(now: Self.now)
        }
        let old = failure { () throws(FeedDirectoryError) in
            try feed.publisher().resign(now: Self.now)
        }
        #expect(old == .keySucceeded)
        #expect(try feed.verify().batches == 1)
    }

    @Test("a new key that was made elsewhere stays where it is")
    func given() throws {
        let feed = try Self.makeFeed()
        let path = feed.path + "/offline.key"
        let made = FeedKey(try FeedKeyFile.create(path).verifyingKey)
        let succession = Self.succession(feed.path, newKeyFile: path)
        #expect(try succession.run(now: Self.now) == .succeeded)
        #expect(FeedKey(try FeedKeyFile.load(path).verifyingKey) == made)
        #expect(FeedKey(try Self.key(in: feed).verifyingKey) == feed.publicKey)
        #expect(try FeedDirectory(feed.directory).keys(made).newest == made)
        // Once more, as after a crash.
        #expect(try succession.run(now: Self.now + 60) == .succeeded)
        #expect(try FeedDirectory(feed.directory).keys(made).keys.count == 2)
        #expect(try feed.verify(now: Self.now + 60).batches == 1)
    }
}

/// What an origin served on each of 130 days, with three successions among them.
private struct FeedHistory {
    struct Day {
        let head: [UInt8]
        let keys: [UInt8]
        /// The index of the key that signs.
        let signer: Int
    }

    static let start = TemporaryFeed.now
    let feed: TemporaryFeed
    private(set) var keys: [SigningKey]
    private(set) var days: [Day] = []
    private(set) var batches: [String: [UInt8]] = [:]
    private var forgeries: [[Int]: [Day]] = [:]

    init(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        feed = try TemporaryFeed()
        keys = [feed.key]
        let successions = Set([25, 55, 85].map { $0 + Int.random(in: 0..<20, using: &generator) })
        let directory = FeedDirectory(feed.directory)
        for day in 0..<130 {
            let now = Self.start + Int64(day) * TemporaryFeed.day
            if successions.contains(day) {
                let random = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
                let new = SigningKey(seed: random.span)
                try FeedPublisher(directory: feed.directory, key: new)
                    .succeed(keys[keys.count - 1], now: now)
                keys.append(new)
            }
            let publisher = FeedPublisher(directory: feed.directory, key: keys[keys.count - 1])
            if day % 6 == 0 {
                try publisher.publishCover(now: now)
            } else {
                try publisher.resign(now: now)
            }
            for name in try feed.batchNames() where batches[name] == nil {
                batches[name] = try feed.batchBytes(name)
            }
            let file = try #require(try directory.keysBytes())
            days.append(
                Day(head: try directory.headFile(), keys: file, signer: keys.count - 1))
        }
    }

    func key(_ index: Int) -> FeedKey { FeedKey(keys[index].verifyingKey) }

    /// What a thief of a retired key would serve: his own succession, and a head as of this day.
    mutating func forged(_ day: Int, by index: Int, thief: SigningKey) throws -> [Day] {
        if let made = forgeries[[day, index]] { return made }
        let file = days[day].keys[..<(256 * (index + 1))]
        let padded = Array(file) + [UInt8](repeating: 0, count: 4096 - file.count)
        let keys = try KeyChain(padded.span)
            .file(padded, adding: thief, after: self.keys[index], from: UInt64(day / 6 + 2))
        let plain = Forge.head(days[day].head, with: self.keys[index])
        let heirs = Forge.head(days[day].head, with: thief)
        let forged = [
            Day(head: plain, keys: days[day].keys, signer: index),
            Day(head: plain, keys: padded, signer: index),
            Day(head: heirs, keys: keys, signer: index),
        ]
        forgeries[[day, index]] = forged
        return forged
    }
}

@Suite("Lives over three successions", .timeLimit(.minutes(10)))
struct SuccessionLivesTests {
    /// One device: what it is configured with, and what it has seen.
    private struct Device {
        var configured: Int
        var cursor: FeedCursor
        /// The newest signer that it has seen; -1 for none.
        var seen = -1
    }

    private func visit(
        _ device: Device, _ day: FeedHistory.Day, _ history: FeedHistory, now: Int64
    ) -> Result<VerifiedHead, FeedError> {
        let verifier = HeadVerifier(cursor: device.cursor, key: history.key(device.configured))
        let keys = verifier.needsKeys(for: day.head.span) ? day.keys : nil
        return Result { () throws(FeedError) in
            try verifier.verify(day.head.span, keys: keys, now: now)
        }
    }

    @Test("1,000 devices, off for up to 60 days, with any key: all arrive, no thief convinces")
    func lives() throws {
        var (late, thefts, updates, batches) = (0, 0, 0, 0)
        let thief = SigningKey(seed: [UInt8](repeating: 77, count: 32).span)
        for seed: UInt64 in 1...4 {
            var history = try FeedHistory(seed: seed)
            for life: UInt64 in 0..<250 {
                var generator = SplitMix64(seed: seed << 32 | life)
                var day = Int.random(in: 0..<110, using: &generator)
                // Its app is of any age.
                let configured = Int.random(in: 0...history.days[day].signer, using: &generator)
                var device = Device(
                    configured: configured, cursor: FeedCursor(key: history.key(configured)))
                while true {
                    let now = FeedHistory.start + Int64(day) * TemporaryFeed.day
                    let served = history.days[day]
                    if Int.random(in: 0..<6, using: &generator) == 0 {
                        device.configured = Int.random(
                            in: device.configured...served.signer, using: &generator)
                        updates += 1
                    }
                    // Known as retired: seen, or told by the app.
                    let retired = max(device.seen, device.configured, 0)
                    if retired > 0 {
                        let index = Int.random(in: 0..<retired, using: &generator)
                        for forged in try history.forged(day, by: index, thief: thief) {
                            let refusal = visit(device, forged, history, now: now)
                            #expect(throws: FeedError.self) { try refusal.get() }
                            thefts += 1
                        }
                    }
                    let head = try visit(device, served, history, now: now).get()
                    late += served.signer - device.seen > 1 ? 1 : 0
                    device.cursor = head.cursor
                    device.seen = served.signer
                    for planned in head.plan {
                        let bytes = try #require(history.batches[planned.name])
                        device.cursor = try readBatch(
                            bytes, cursor: device.cursor, head: head
                        ).cursor
                        batches += 1
                    }
                    // Read back, as after a restart.
                    device.cursor = try #require(FeedCursor(decoding: device.cursor.encode()))
                    if day == history.days.count - 1 { break }
                    let off = Int.random(
                        in: 1...(life % 2 == 0 ? 60 : 12), using: &generator)
                    day = min(day + off, history.days.count - 1)
                }
                #expect(device.cursor.chain.newest == history.key(3))
                #expect(device.cursor.feedID == history.feed.publicKey.feedID)
            }
        }
        #expect(late > 300 && thefts > 3000 && updates > 300 && batches > 3000)
    }
}
