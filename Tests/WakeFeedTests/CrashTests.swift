import Glibc
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("A publisher that crashes")
struct CrashTests {
    private static let now = TemporaryFeed.now
    /// Two batches: pruned, 2 × (written, named), journal, 2 tiles, logged, cosigned, checkpoint
    /// and head, each written and named.
    private static let steps = 16
    /// From there on the head is served in any case.
    private static let logged = 10
    private static let options = PublishOptions(batchDigests: 1024)

    private static func input(_ round: Int) throws -> FeedInput {
        try Sample.input(round * 2000..<round * 2000 + 1500)
    }

    private static func secrets(_ round: Int) -> [LocalSecret] {
        (round * 2000..<round * 2000 + 1500).map(Sample.localSecret)
    }

    /// After a crash in publish `round`, at the step of that number: the feed verifies, and a retry
    /// publishes exactly once.
    private static func expectWhole(_ feed: TemporaryFeed, round: Int) throws {
        let before = try feed.verify(secrets: secrets(round))
        let committed = UInt64(round * 2)
        #expect(before.head.sequence == committed || before.head.sequence == committed + 2)
        #expect(before.matches.isEmpty || before.matches.count == 1500, "all or nothing")
        let outcome = try feed.publisher().publish(
            try input(round), options: options, now: now)
        let batches = committed + 1...committed + 2
        #expect(
            outcome == (round < logged ? .published(batches) : .alreadyPublished(batches)))
        #expect(
            try feed.publisher().publish(try input(round), options: options, now: now)
                == .alreadyPublished(batches))
        let after = try feed.verify(secrets: secrets(round))
        #expect(after.head.sequence == committed + 2 && after.matches.count == 1500)
    }

    @Test("stopped after any step, the feed verifies and a retry publishes once")
    func stopped() throws {
        let feed = try TemporaryFeed()
        for step in 0..<Self.steps {
            let left = Mutex(step)
            let publisher = feed.publisher { _ throws(FeedDirectoryError) in
                let isLast = left.withLock { left in
                    left -= 1
                    return left < 0
                }
                if isLast { throw .interrupted }
            }
            let input = try Self.input(step)
            let error = failure { () throws(FeedDirectoryError) in
                _ = try publisher.publish(input, options: Self.options, now: Self.now)
            }
            #expect(error == .interrupted)
            try Self.expectWhole(feed, round: step)
        }
    }

    @Test("an intent of a publish that came to nothing does not hide a later one")
    func staleIntent() throws {
        let feed = try TemporaryFeed()
        let publisher = feed.publisher { step throws(FeedDirectoryError) in
            if step == .journalWritten { throw .interrupted }
        }
        let first = try Self.input(0)
        _ = failure { () throws(FeedDirectoryError) in
            _ = try publisher.publish(first, options: Self.options, now: Self.now)
        }
        // Another input takes the very numbers the intent spoke of.
        let second = try Self.input(1)
        let outcome = try feed.publisher().publish(
            second, options: Self.options, now: Self.now)
        #expect(outcome == .published(1...2))
        let retried = try feed.publisher().publish(
            first, options: Self.options, now: Self.now)
        #expect(retried == .published(3...4))
        #expect(try feed.verify(secrets: Self.secrets(0)).matches.count == 1500)
    }

    @Test("a head signed again after a crash settles the intent as well")
    func resignSettles() throws {
        let feed = try TemporaryFeed()
        let publisher = feed.publisher { step throws(FeedDirectoryError) in
            if step == .headNamed { throw .interrupted }
        }
        let input = try Self.input(0)
        _ = failure { () throws(FeedDirectoryError) in
            _ = try publisher.publish(input, options: Self.options, now: Self.now)
        }
        try feed.publisher().publishCover(now: Self.now)
        try feed.publisher().resign(now: Self.now + 60)
        #expect(
            try feed.publisher().publish(input, options: Self.options, now: Self.now)
                == .alreadyPublished(1...2))
    }

    @Test("killed (SIGKILL) after any step, the feed verifies and a retry publishes once")
    func killed() async throws {
        let feed = try TemporaryFeed()
        for step in 0..<Self.steps {
            let path = feed.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, step = step as Int] in
                let left = Mutex(step)
                let publisher = TemporaryFeed(borrowing: path).publisher { _ in
                    let isLast = left.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    if isLast { kill(getpid(), SIGKILL) }
                }
                _ = try publisher.publish(
                    try CrashTests.input(step), options: CrashTests.options,
                    now: CrashTests.now)
            }
            try Self.expectWhole(feed, round: step)
        }
    }

    @Test("killed by a timer at any moment, nothing is lost, doubled or broken")
    func killedAnywhere() async throws {
        let feed = try TemporaryFeed()
        var generator = SplitMix64(seed: 5)
        var doneBefore = 0
        var rounds = 0
        // On a busy machine the first timers may all strike before anything is done.
        while rounds < 12 || (doneBefore == 0 && rounds < 120) {
            rounds += 1
            let path = feed.path
            let microseconds =
                Int.random(in: 1000..<60_000, using: &generator) << (rounds / 12)
            let start = doneBefore
            // SIGALRM's default ends a process on the spot, as SIGKILL does (signal(7)).
            await #expect(processExitsWith: .signal(SIGALRM)) {
                [path = path as String, microseconds = microseconds as Int, start = start as Int] in
                let inputs = try (start..<start + 40).map { try Sample.input([$0]) }
                let publisher = TemporaryFeed(borrowing: path).publisher()
                signal(SIGALRM, SIG_DFL)
                var timer = itimerval()
                timer.it_value.tv_sec = microseconds / 1_000_000
                timer.it_value.tv_usec = microseconds % 1_000_000
                unsafe setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
                for input in inputs { _ = try publisher.publish(input, now: CrashTests.now) }
                while true { pause() }
            }
            let report = try feed.verify(
                secrets: (start..<start + 40).map(Sample.localSecret))
            // Published in order, each once, no hole.
            #expect(
                report.matches.map(\.secretID) == report.matches.indices.map { "\(start + $0)" })
            #expect(report.head.sequence == UInt64(start + report.matches.count))
            doneBefore += report.matches.count
        }
        #expect(doneBefore > 0 && doneBefore < rounds * 40, "the timer struck in the middle")
        // What was cut off is repeated and found to be there or not; never there twice.
        for number in 0..<doneBefore + 1 {
            let outcome = try feed.publisher().publish(try Sample.input([number]), now: Self.now)
            let sequence = UInt64(number + 1)
            // The last one may have been logged, and was served by this publisher then.
            #expect(
                outcome == .alreadyPublished(sequence...sequence)
                    || number == doneBefore && outcome == .published(sequence...sequence))
        }
    }

    @Test("two publishers at once: one works, the other is told so and changes nothing")
    func twoPublishers() throws {
        let feed = try TemporaryFeed()
        let input = try Self.input(0)
        let other = try Self.input(1)
        let seen = Mutex<[FeedDirectoryError?]>([])
        let publisher = feed.publisher { step in
            let error = failure { () throws(FeedDirectoryError) in
                _ = try feed.publisher().publish(other, options: Self.options, now: Self.now)
            }
            seen.withLock { $0.append(error) }
        }
        _ = try publisher.publish(input, options: Self.options, now: Self.now)
        #expect(seen.withLock { $0 } == Array(repeating: .locked, count: Self.steps))
        #expect(
            try feed.publisher().publish(other, options: Self.options, now: Self.now)
                == .published(3...4))
    }

    @Test("many publishers at once never break the chain")
    func crowd() async throws {
        let feed = try TemporaryFeed()
        let published = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var count = 0
                    for number in 0..<10 {
                        guard let input = try? Sample.input([worker * 100 + number]) else {
                            continue
                        }
                        // Until nobody else is at it.
                        var error: FeedDirectoryError?
                        repeat {
                            error = failure { () throws(FeedDirectoryError) in
                                _ = try feed.publisher().publish(input, now: Self.now)
                            }
                            await Task.yield()
                        } while error == .locked
                        if error == nil { count += 1 }
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
        #expect(published == 40)
        #expect(try feed.verify().head.sequence == UInt64(published))
    }
}
