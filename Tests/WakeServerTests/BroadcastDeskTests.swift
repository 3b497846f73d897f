import Foundation
import TestSupport
import Testing
import WakeFeed
import WakeModel
import WakePush
import WakeSodium

@testable import WakeServer

@Suite("The schedule at its desk")
struct BroadcastDeskTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/broadcast" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func desk(at path: String? = nil, resuming header: RoundHeader? = nil) -> BroadcastDesk
    {
        BroadcastDesk(
            path: path ?? self.path, settings: .init(heartbeatSeconds: nil), resuming: header)
    }

    private func seconds(_ desk: BroadcastDesk) async -> Int? {
        guard
            case .waits(let seconds)? = await desk.change({
                $0.ask(sequence: 1, force: true, now: $1)
            })
        else { return nil }
        return seconds
    }

    /// One broadcast that ends at once.
    private func broadcast(_ desk: BroadcastDesk) async {
        await desk.change { $0.started(sequence: 1, now: $1) }
        await desk.change { $0.ended(now: $1) }
    }

    @Test("what cannot be written down has not happened")
    func unwritable() async {
        let desk = desk(at: directory.path + "/nowhere/broadcast")
        let before = desk.history
        let asked = await desk.change { $0.ask(sequence: 7, force: true, now: $1) }
        #expect(asked == nil)
        #expect(await desk.change { $0.started(sequence: 7, now: $1) } == nil)
        #expect(desk.history == before)
        #expect(desk.decide() == .wait(seconds: nil))
    }

    @Test("what was written down is known to the next start")
    func restart() async {
        await broadcast(desk())
        await broadcast(desk())
        #expect(await seconds(desk()) == 0)
        await broadcast(desk())
        let third = desk()
        #expect(third.history.round == 3 && third.history.sequence == 1)
        let left = await seconds(third) ?? 0
        #expect((3590...3601).contains(left))
        // What was asked for is not forgotten.
        let fourth = desk()
        #expect(fourth.nextStart?.reasons == .asked)
        guard case .wait(let wait?) = fourth.decide() else {
            Issue.record("a fourth round")
            return
        }
        #expect((3590...3601).contains(wait))
    }

    @Test(
        "a damaged history costs an hour, and never a fourth round",
        arguments: ["", "\n", "broadcasts=2\n", "sequence=x\n", "\u{0}\u{0}\u{0}"])
    func damaged(_ text: String) async throws {
        await broadcast(desk())
        try Data(text.utf8).write(to: URL(filePath: path))
        let desk = desk()
        let left = await seconds(desk) ?? 0
        #expect((3590...3601).contains(left))
        guard case .wait = desk.decide() else {
            Issue.record("a round although nobody knows what was before")
            return
        }
    }

    @Test("with a damaged history the round beside it goes on, and counts")
    func damagedBesideRound() async throws {
        try Data("?".utf8).write(to: URL(filePath: path))
        var random = SeededGenerator(1)
        let header = RoundHeader(
            round: 12, sequence: 99, reasons: .asked, generation: 1, started: .system(),
            using: &random)
        let desk = desk(resuming: header)
        #expect(desk.history.isRunning && desk.history.round == 12)
        #expect(desk.decide() == .wait(seconds: nil))
        await desk.change { $0.ended(now: $1) }
        let left = await seconds(desk) ?? 0
        #expect((3590...3601).contains(left))
    }

    @Test("many changes at once are all written, one after the other")
    func atOnce() async {
        let desk = desk()
        await withTaskGroup(of: Void.self) { group in
            for number in 1...50 as ClosedRange<UInt64> {
                group.addTask {
                    _ = await desk.change { $0.toldStreams(sequence: number, now: $1) }
                }
            }
        }
        let last = desk.history.sequence
        #expect(last != nil && self.desk().history.sequence == last)
    }
}

@Suite("The feed that is watched", .timeLimit(.minutes(1)))
struct FeedWatchTests {
    private let directory: TemporaryDirectory
    private let key = SigningKey(seed: Sodium.random(SigningKey.seedBytes).span)
    private var path: String { directory.path + "/feed" }

    init() throws {
        directory = try TemporaryDirectory()
        try FeedDirectory.create(path, key: key, now: 1_800_000_000)
    }

    private func watch(isOn: Bool = true, cacheSeconds: Int) -> FeedWatch {
        FeedWatch(
            FeedSite(directory: path, maxAge: cacheSeconds, log: Log(level: .error)), isOn: isOn,
            cacheSeconds: cacheSeconds)
    }

    private func publish() throws {
        let input = try FeedInput(
            secretsFrom: Sodium.random(32), encoding: .raw(record: 32))
        _ = try FeedPublisher(directory: path, key: key).publish(input, now: 1_800_000_100)
    }

    @Test("an empty feed is nothing new, and without watching nothing ever is")
    func nothing() throws {
        #expect(watch(cacheSeconds: 0).newSequence() == nil)
        try publish()
        let off = watch(isOn: false, cacheSeconds: 0)
        #expect(off.newSequence() == nil && off.sequence() == 1)
    }

    @Test("without a cache what is published is seen at once")
    func atOnce() throws {
        let watch = watch(cacheSeconds: 0)
        try publish()
        #expect(watch.newSequence() == 1)
        try publish()
        #expect(watch.newSequence() == 2)
    }

    @Test("with a cache it is new once no cache can hold the head before")
    func cached() throws {
        let watch = watch(cacheSeconds: 1)
        try publish()
        let start = ContinuousClock.now
        #expect(watch.newSequence() == nil)
        while watch.newSequence() == nil { try Task.checkCancellation() }
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(watch.newSequence() == 1)
        // The next starts anew.
        try publish()
        #expect(watch.newSequence() == nil)
    }

    @Test("each new head begins the time of the caches anew")
    func cachedLong() throws {
        let watch = watch(cacheSeconds: 3600)
        for _ in 0..<3 {
            try publish()
            #expect(watch.newSequence() == nil)
        }
        #expect(watch.sequence() == 3)
    }
}
