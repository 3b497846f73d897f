import Foundation
import TestSupport
import Testing
import WakeFeed
import WakeModel
import WakePush
import WakeSodium

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
        let header = Checkpoint.Header(run: 12, sequence: 99, reasons: .asked, generation: 1)
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
}
