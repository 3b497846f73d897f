import TestSupport
import Testing

@testable import WakeServer

@Suite("The pace of a run")
struct RunPaceTests {
    /// Pushes that may leave at a moment; they are counted as sent.
    private func send(_ pace: inout RunPace, at now: UInt64, upTo limit: Int = .max) -> Int {
        var sent = 0
        while sent < limit, pace.allows(now: now) {
            pace.spend()
            sent += 1
        }
        return sent
    }

    @Test(
        "asked every few milliseconds, exactly the planned number leaves",
        arguments: [(1, 1), (7, 3), (100, 3600), (1_000_000, 7200), (10_000, 1), (999_983, 60)])
    func exact(_ pushes: Int, _ seconds: Int) {
        var random = SplitMix64(seed: 1)
        var pace = RunPace(pushes: pushes, over: seconds)
        let start: UInt64 = 123_456_789
        var now = start
        #expect(send(&pace, at: now) == 0)
        var sent = 0
        // Twenty seconds, or the time of three pushes.
        let length = UInt64(max(20, 3 * seconds / pushes)) * 1_000_000_000
        while now - start < length {
            now += UInt64.random(in: 0...length / 10_000, using: &random)
            sent += send(&pace, at: now)
            let due = Double(now - start) / 1e9 * Double(pushes) / Double(seconds)
            #expect(Double(sent) <= due + 1e-6 && Double(sent) > due - 1 - 1e-6)
        }
    }

    @Test("after a pause no more than the burst leaves at once")
    func burst() {
        var pace = RunPace(pushes: 1000, over: 1)
        #expect(send(&pace, at: 0) == 0)
        #expect(send(&pace, at: 400 * 86_400 * 1_000_000_000) == 51)
        var slow = RunPace(pushes: 1, over: 10)
        #expect(send(&slow, at: 0) == 0)
        #expect(send(&slow, at: .max) == 2)
    }

    @Test("without a plan nothing waits")
    func unlimited() {
        var pace = RunPace()
        #expect(send(&pace, at: 0, upTo: 100_000) == 100_000)
    }

    @Test("rows of other gateways are counted: each gateway leaves them their share")
    func others() {
        var pace = RunPace(pushes: 1000, over: 1)
        #expect(send(&pace, at: 0) == 0)
        #expect(send(&pace, at: 10_000_000, upTo: 1) == 1)
        pace.spend(29)
        #expect(send(&pace, at: 29_000_000) == 0)
        #expect(send(&pace, at: 35_000_000) == 5)
    }

    @Test("a slow run looks seldom at what may leave, a fast one every two milliseconds")
    func interval() {
        #expect(RunPace(pushes: 10, over: 100).interval == .milliseconds(50))
        #expect(RunPace(pushes: 100_000, over: 1).interval == .milliseconds(2))
    }
}
