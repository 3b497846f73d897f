import TestSupport
import Testing
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The heartbeat")
struct HeartbeatTests {
    private static let boot = [UInt8](repeating: 1, count: 16)

    private func at(_ uptime: Int) -> ClockReading {
        ClockReading(wall: 0, uptime: uptime, boot: Self.boot)
    }

    /// The starts of heartbeats over `count` intervals, asked only when it said to ask.
    private func starts(
        interval: Int, count: Int, seed: UInt64, length: Int = 0
    ) -> [Int] {
        var random = SplitMix64(seed: seed)
        var schedule = BroadcastSchedule(
            heartbeatSeconds: interval, history: nil, now: at(0), using: &random)
        var starts: [Int] = []
        var now = 0
        while now < interval * count {
            switch schedule.decide(at(now), using: &random) {
            case .wait(let seconds):
                guard let seconds, seconds > 0 else {
                    Issue.record("nothing to wait for")
                    return starts
                }
                now += seconds
            case .start(let reasons):
                #expect(reasons == .heartbeat)
                schedule.started(sequence: 0, now: at(now))
                starts.append(now)
                now += length
                schedule.ended(now: at(now))
            }
        }
        return starts.filter { $0 < interval * count }
    }

    @Test("comes once in every interval, at a moment spread evenly over it")
    func oncePerInterval() {
        let interval = 7200
        let starts = starts(interval: interval, count: 2000, seed: 1)
        #expect(starts.map { $0 / interval } == Array(0..<2000))
        // 12 tenths of an hour each: 166.7 expected, sd 12.4.
        var tenths = [Int](repeating: 0, count: 12)
        for start in starts { tenths[start % interval * 12 / interval] += 1 }
        #expect(tenths.allSatisfy { (110...225).contains($0) })
    }

    @Test("says nothing of the one before: offsets in a row are unrelated")
    func unrelated() {
        let interval = 7200
        let offsets = starts(interval: interval, count: 4000, seed: 2).map {
            Double($0 % interval) / Double(interval) - 0.5
        }
        let products = zip(offsets, offsets.dropFirst()).map { $0 * $1 }
        let correlation = products.reduce(0, +) / Double(products.count) * 12
        #expect(abs(correlation) < 0.06)
    }

    @Test("at the shortest interval and with long broadcasts the hourly limit still holds")
    func shortest() {
        for length in [0, 300, 1100, 3000] {
            let starts = starts(interval: 1200, count: 1000, seed: 3, length: length)
            #expect(starts.count > 100)
            for index in starts.indices.dropFirst(3) {
                #expect(starts[index] - (starts[index - 3] + length) > 3600)
            }
        }
    }

    @Test("its moment does not depend on whether something was published")
    func independent() {
        func dues(publishing: Bool) -> [Int] {
            var random = SplitMix64(seed: 4)
            var schedule = BroadcastSchedule(
                heartbeatSeconds: 7200, history: nil, now: at(0), using: &random)
            var dues: [Int] = []
            for now in stride(from: 0, to: 7200 * 30, by: 60) {
                if publishing, now % 36_000 == 0 {
                    _ = schedule.ask(sequence: UInt64(now), force: true, now: at(now))
                }
                if case .start = schedule.decide(at(now), using: &random) {
                    schedule.started(sequence: UInt64(now), now: at(now))
                    schedule.ended(now: at(now))
                }
                let due = schedule.history.heartbeat?.due ?? 0
                if dues.last != due { dues.append(due) }
            }
            return dues
        }
        #expect(dues(publishing: true) == dues(publishing: false))
    }

    @Test("a machine asleep for days sends one heartbeat, not one for each interval")
    func asleep() {
        var random = SplitMix64(seed: 5)
        var schedule = BroadcastSchedule(
            heartbeatSeconds: 7200, history: nil, now: at(0), using: &random)
        let later = 10 * 86_400
        #expect(schedule.decide(at(later), using: &random) == .start(.heartbeat))
        schedule.started(sequence: 0, now: at(later))
        schedule.ended(now: at(later))
        let next = schedule.history.heartbeat
        #expect((next?.due ?? 0) > later)
        #expect((next?.end ?? 0) <= later + 2 * 7200)
    }
}
