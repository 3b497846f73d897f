import Foundation
import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakeModel
import WakePublish
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The schedule store")
struct ScheduleStoreTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/broadcast" }

    private let start = ContinuousClock.now

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Less the time that this test has taken.
    private func isAnHour(_ seconds: Int) -> Bool {
        let elapsed = Int((ContinuousClock.now - start) / .seconds(1)) + 1
        return (3600 - elapsed...3601).contains(seconds)
    }

    private func store(at path: String? = nil, resuming header: Checkpoint.Header? = nil)
        -> ScheduleStore
    {
        ScheduleStore(path: path ?? self.path, heartbeatSeconds: nil, resuming: header)
    }

    private func seconds(_ store: ScheduleStore) async -> Int? {
        guard
            case .waits(let seconds)? = await store.change({
                $0.ask(sequence: 1, force: true, now: $1)
            })
        else { return nil }
        return seconds
    }

    /// One broadcast that ends at once.
    private func broadcast(_ store: ScheduleStore) async {
        await store.change { $0.started(sequence: 1, now: $1) }
        await store.change { $0.ended(now: $1) }
    }

    @Test("what cannot be written down has not happened")
    func unwritable() async {
        let store = self.store(at: directory.path + "/nowhere/broadcast")
        let before = store.history
        let asked = await store.change { $0.ask(sequence: 7, force: true, now: $1) }
        #expect(asked == nil)
        #expect(await store.change { $0.started(sequence: 7, now: $1) } == nil)
        #expect(store.history == before)
        #expect(store.decide() == .wait(seconds: nil))
    }

    @Test("what was written down is known to the next start")
    func restart() async {
        await broadcast(store())
        await broadcast(store())
        #expect(await seconds(store()) == 0)
        await broadcast(store())
        let third = store()
        #expect(third.history.run == 3 && third.history.sequence == 1)
        let left = await seconds(third) ?? 0
        #expect(isAnHour(left))
        // What was asked for is not forgotten.
        let fourth = store()
        #expect(fourth.history.pending == .asked && fourth.secondsToNextStart.map(isAnHour) == true)
        guard case .wait(let wait?) = fourth.decide() else {
            Issue.record("a fourth run")
            return
        }
        #expect(isAnHour(wait))
    }

    @Test(
        "a damaged history costs an hour, and never a fourth run",
        arguments: ["", "\n", "{}\n", "\u{0}\u{0}\u{0}"])
    func damaged(_ text: String) async throws {
        await broadcast(store())
        try Data(text.utf8).write(to: URL(filePath: path))
        let store = self.store()
        let left = await seconds(store) ?? 0
        #expect(isAnHour(left))
        guard case .wait = store.decide() else {
            Issue.record("a run although nobody knows what was before")
            return
        }
    }

    @Test("with a damaged history the run of the checkpoint goes on, and counts")
    func damagedBesideCheckpoint() async throws {
        try Data("?".utf8).write(to: URL(filePath: path))
        let header = Checkpoint.Header(
            run: 12, sequence: 99, reasons: .asked, generation: 1, seed: 5, blockBits: 6)
        let store = self.store(resuming: header)
        #expect(store.history.isRunning && store.history.run == 12)
        #expect(store.decide() == .wait(seconds: nil))
        await store.change { $0.ended(now: $1) }
        let left = await seconds(store) ?? 0
        #expect(isAnHour(left))
    }

    @Test("many changes at once are all written, one after the other")
    func atOnce() async {
        let store = self.store()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...50 as ClosedRange<UInt64> {
                group.addTask {
                    _ = await store.change { $0.streamsWoken(sequence: number, now: $1) }
                }
            }
        }
        let last = store.history.sequence
        #expect(last != nil && self.store().history.sequence == last)
    }
}

@Suite("The feed monitor", .timeLimit(.minutes(10)))
struct FeedMonitorTests {
    private let directory: TemporaryDirectory
    private let key = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
    private var path: String { directory.path + "/feed" }

    init() throws {
        directory = try TemporaryDirectory()
        try FeedDirectory.create(path, key: key, now: 1_800_000_000)
    }

    private func monitor(isOn: Bool = true, cacheSeconds: Int) -> FeedMonitor {
        FeedMonitor(
            FeedFileServer(directory: path, maxAge: cacheSeconds, log: Log(level: .error)),
            isOn: isOn,
            cacheSeconds: cacheSeconds)
    }

    private func publish() throws {
        let input = try FeedInput(
            secretsFrom: Sodium.random(32), encoding: .raw(record: 32))
        _ = try FeedPublisher(directory: path, key: key).publish(input, now: 1_800_000_100)
    }

    @Test("an empty feed is nothing new, and without watching nothing ever is")
    func nothing() throws {
        #expect(monitor(cacheSeconds: 0).newSequence() == nil)
        try publish()
        let off = monitor(isOn: false, cacheSeconds: 0)
        #expect(off.newSequence() == nil && off.sequence() == 1)
    }

    @Test("without a cache what is published is seen at once")
    func atOnce() throws {
        let monitor = self.monitor(cacheSeconds: 0)
        try publish()
        #expect(monitor.newSequence() == 1)
        try publish()
        #expect(monitor.newSequence() == 2)
    }

    @Test("with a cache it is new once no cache can hold the head before")
    func cached() async throws {
        let monitor = self.monitor(cacheSeconds: 1)
        try publish()
        let start = ContinuousClock.now
        #expect(monitor.newSequence() == nil)
        while monitor.newSequence() == nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(monitor.newSequence() == 1)
        // The next has a time of its own.
        try publish()
        #expect(monitor.newSequence() == nil)
    }

    @Test("each new head begins the time of the caches again")
    func cachedLong() throws {
        let monitor = self.monitor(cacheSeconds: 3600)
        for _ in 0..<3 {
            try publish()
            #expect(monitor.newSequence() == nil)
        }
        #expect(monitor.sequence() == 3)
    }

    @Test("what a full disk refuses is tried once more when there is room for it, and no oftener")
    func room() async {
        for (hasRoom, works, calls) in [
            (true, false, ["write", "give", "write"]), (false, false, ["write", "give"]),
            (true, true, ["write"]),
        ] {
            let made = Mutex<[String]>([])
            let room = RoomOnFullDisk {
                made.withLock { $0.append("give") }
                return hasRoom
            }
            let value: Int? = await room.write {
                made.withLock { $0.append("write") }
                return works ? 1 : nil
            }
            #expect((value != nil) == works && made.withLock { $0 } == calls)
        }
    }

    @Test("after a restart the keys of a feed elsewhere are known: a retired one signs no head")
    func retired() throws {
        let now: Int64 = 1_800_000_200
        let seed = [UInt8](repeating: 1, count: 32)
        let (key, keyFile) = (SigningKey(seed: seed.span), directory.path + "/feed.key")
        try Files.create(keyFile, with: (Base64URL.encode(seed.span) + [0x0A]).span)
        let feed = directory.path + "/elsewhere"
        try FeedDirectory.create(feed, key: key, now: now)
        try FeedPublisher(directory: feed, key: key).publishCover(now: now)
        // The host as it would be if the old key's owner went on.
        let old = directory.path + "/old"
        try FileManager.default.copyItem(atPath: feed, toPath: old)
        try FeedPublisher(directory: old, key: key).publishCover(now: now)
        _ = try FeedSuccession(directory: feed, keyFile: keyFile).run(now: now)
        func verify(_ path: String, _ cursor: FeedCursor) throws -> FeedCursor {
            let head = try Files.read(path + "/head", limit: FeedLimits.headFileBytes)
            let keys = try? Files.read(path + "/keys", limit: FeedLimits.keysBytes)
            return try HeadVerifier(cursor: cursor, key: FeedKey(key.verifyingKey))
                .verify(head.span, keys: keys, now: now).cursor
        }
        let fresh = FeedCursor(key: FeedKey(key.verifyingKey))
        let file = StateFile<WatchedFeed>(directory.path + "/watched-feed")
        try file.write(WatchedFeed(try verify(feed, fresh)))
        let known = try #require(try file.readIfPresent())
        #expect(known == WatchedFeed(known.cursor) && known.cursor != fresh)
        // The control: who knows the old key alone believes it.
        #expect(throws: Never.self) { try verify(old, fresh) }
        #expect(throws: FeedError.self) { try verify(old, known.cursor) }
        #expect(throws: Never.self) { try verify(feed, known.cursor) }
        // Another feed's keys are no use.
        let remote = try RemoteFeedHead("https://feed.example/", key: other.text)
        remote.resume(known)
        #expect(remote.known != known)
    }

    private var other: FeedKey { FeedKey(key.verifyingKey) }
}
