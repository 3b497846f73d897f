import Testing

@testable import WakeServer

@Suite("The pace of pushes")
struct PaceTests {
    private static let second: UInt64 = 1_000_000_000
    private static let millisecond: UInt64 = 1_000_000

    @Test(
        "asked every few milliseconds, exactly the planned number leaves",
        arguments: [
            (1, 1), (7, 3), (100, 3600), (1_000_000, 7200), (10_000, 1), (999_983, 60),
            (50_000_000, 5760),
        ])
    func exact(_ pushes: Int, _ seconds: Int) {
        var random = SeededGenerator(1)
        var pace = Pace(pushes: pushes, over: seconds)
        var now: UInt64 = 123_456_789
        let start = now
        #expect(pace.allowance(now: now) == 0)
        var sent = 0
        let worth = 1 + pushes * 50 / (seconds * 1000)
        // Twenty seconds, or the time of three pushes.
        let length = max(20 * Self.second, UInt64(3 * seconds / pushes) * Self.second)
        while now - start < length {
            now += UInt64.random(in: 0...(length / 20_000) * 2, using: &random)
            let granted = pace.allowance(now: now)
            #expect(granted <= worth)
            sent += granted
            let due = Double(now - start) / 1e9 * Double(pushes) / Double(seconds)
            #expect(Double(sent) <= due + 1e-6)
            #expect(Double(sent) > due - 1 - 1e-6)
        }
    }

    @Test("however it is asked, no stretch of time sees more than its share and one bucket")
    func bound() {
        var random = SeededGenerator(2)
        for _ in 0..<100 {
            let pushes = Int.random(in: 1...100_000, using: &random)
            let seconds = Int.random(in: 1...100, using: &random)
            let rate = Double(pushes) / Double(seconds)
            let bucket = 1 + rate * 0.05
            var pace = Pace(pushes: pushes, over: seconds)
            var now: UInt64 = 0
            var sent: [(at: UInt64, count: Int)] = []
            for _ in 0..<200 {
                now += UInt64.random(in: 0...200, using: &random) * Self.millisecond
                sent.append((now, pace.allowance(now: now)))
            }
            for first in stride(from: 0, to: sent.count, by: 7) {
                var total = 0
                for entry in sent[first...] {
                    total += entry.count
                    let length = Double(entry.at - sent[first].at) / 1e9
                    #expect(Double(total) <= rate * length + bucket + 1e-6)
                }
            }
        }
    }

    @Test("a clock that leaps gives one bucket, one that goes back gives nothing")
    func jumps() {
        var pace = Pace(pushes: 1000, over: 1)
        #expect(pace.allowance(now: 5 * Self.second) == 0)
        #expect(pace.allowance(now: 400 * 86_400 * Self.second) == 51)
        #expect(pace.allowance(now: .max) == 51)
        #expect(pace.allowance(now: 0) == 0)
        #expect(pace.allowance(now: 10 * Self.millisecond) == 10)
        #expect(pace.allowance(now: 10 * Self.millisecond) == 0)
        #expect(pace.allowance(now: 9 * Self.millisecond) == 0)
        #expect(pace.allowance(now: 10 * Self.millisecond) == 1)
    }

    @Test("what nobody wanted stays, up to one bucket")
    func wanted() {
        var pace = Pace(pushes: 1000, over: 1)
        _ = pace.allowance(now: 0)
        #expect(pace.allowance(now: 30 * Self.millisecond, wanted: 10) == 10)
        #expect(pace.allowance(now: 30 * Self.millisecond, wanted: 0) == 0)
        #expect(pace.allowance(now: 30 * Self.millisecond) == 20)
        #expect(pace.allowance(now: 90 * Self.millisecond, wanted: 0) == 0)
        #expect(pace.allowance(now: 90 * Self.millisecond) == 51)
    }

    @Test("the wait it tells is the shortest after which a push may leave")
    func wait() {
        var random = SeededGenerator(3)
        for _ in 0..<200 {
            var pace = Pace(
                pushes: .random(in: 1...1_000_000, using: &random),
                over: .random(in: 1...10_000, using: &random))
            var now: UInt64 = 77
            _ = pace.allowance(now: now)
            for _ in 0..<20 {
                let wait = pace.wait(now: now)
                #expect(wait > 0)
                var early = pace
                #expect(early.allowance(now: now + wait - 1) == 0)
                now += wait
                #expect(pace.wait(now: now) == 0)
                #expect(pace.allowance(now: now) == 1)
            }
        }
    }

    @Test("the largest numbers do not overflow")
    func extremes() {
        for (pushes, seconds) in [
            (1_000_000_000, 1), (1_000_000_000, 1_000_000), (1, 1_000_000), (1, 1),
        ] {
            var pace = Pace(pushes: pushes, over: seconds)
            _ = pace.allowance(now: 0)
            #expect(pace.allowance(now: .max) == 1 + pushes / seconds / 20)
            #expect(pace.wait(now: .max) <= UInt64(seconds) * Self.second)
        }
    }

    @Test("another rate holds from the moment it is set")
    func change() {
        var pace = Pace(pushes: 1000, over: 1)
        _ = pace.allowance(now: 0)
        pace.change(pushes: 100, over: 1)
        #expect(pace.allowance(now: 40 * Self.millisecond) == 4)
        pace.change(pushes: 2000, over: 1)
        #expect(pace.allowance(now: 50 * Self.millisecond) == 20)
    }
}
