import Testing
import WakeModel

@testable import WakePush

@Suite("The pace of a push service's quota")
struct FCMQuotaPaceTests {
    @Test("a burst may leave at once, then the rest of the quota evenly")
    func vectors() {
        var pace = QuotaPace(perMinute: 600_000)
        #expect(pace.allowance(now: 5000) == 6000)
        pace.spend(6000)
        #expect(pace.allowance(now: 5000) == 0)
        // 594,000 in a minute are 9.9 in a millisecond.
        #expect(pace.allowance(now: 5001) == 9)
        #expect(pace.allowance(now: 5010) == 99)
        pace.spend(99)
        #expect(pace.allowance(now: 5110) == 990)
        #expect(pace.allowance(now: 9_999_999) == 6000)
        #expect(pace.allowance(now: UInt64.max) == 6000)
    }

    @Test("never more than the quota in any minute, and nearly all of it when enough waits")
    func anyMinute() {
        for seed in 0..<20 as Range<UInt64> {
            var generator = RoundGenerator(seed)
            let quota = Int.random(in: 100...1_000_000, using: &generator)
            var pace = QuotaPace(perMinute: quota)
            var sent: [(time: UInt64, count: Int)] = []
            var now: UInt64 = 0
            while now < 240_000 {
                let allowed = pace.allowance(now: now)
                let isGreedy = seed.isMultiple(of: 2)
                let count = isGreedy ? allowed : .random(in: 0...allowed, using: &generator)
                pace.spend(count)
                if count > 0 { sent.append((now, count)) }
                now += .random(in: 1...400, using: &generator)
            }
            var (first, inMinute) = (0, 0)
            for entry in sent {
                inMinute += entry.count
                while sent[first].time + 60_000 <= entry.time {
                    inMinute -= sent[first].count
                    first += 1
                }
                #expect(inMinute <= quota)
            }
            if seed.isMultiple(of: 2) {
                #expect(sent.reduce(0) { $0 + $1.count } >= (quota - quota / 50) * 39 / 10)
            }
        }
    }

    @Test("a flow with a quota hands over no more than it allows, whatever waits and returns")
    func flow() throws {
        var flow = WakeUpFlow<FCMGateway>(.fcm, window: 100_000)
        flow.add(try WakeUp.numbered(0..<20_000))
        var launched = 0
        var now: UInt64 = 1000
        while now < 2000 {
            while let (batch, entries) = flow.next(now: now) {
                launched += entries.count
                var outcomes = PushOutcomes()
                for order in 0..<entries.count {
                    outcomes.answer(batch, UInt32(order), status: 200)
                }
                _ = try flow.take(outcomes, now: now, chance: 0)
            }
            #expect(launched <= 6000 + Int(now - 1000) * 99 / 10 + 1)
            now += 10
        }
        #expect(launched > 14_000)
    }

    @Test("a wake-up refused as too many waits a minute at least, and longer when told")
    func throttled() throws {
        for (retryAfter, due) in [(0, 60_000), (5, 60_000), (90, 90_000)] as [(UInt32, UInt64)] {
            var flow = WakeUpFlow<FCMGateway>(.fcm, window: 1000)
            flow.add(try WakeUp.numbered(0..<1))
            let (batch, _) = try flow.batch(now: 1000)
            var outcomes = PushOutcomes()
            outcomes.answer(batch, 0, status: 429, retryAfter: retryAfter)
            let step = try flow.take(outcomes, now: 1000, chance: 0)
            #expect(step.retried == 1)
            let isIdle = flow.isIdle(now: 1000 + due - 100)
            #expect(isIdle)
            _ = try flow.batch(now: 1000 + due)
        }
    }

    @Test("a wake-up refused by a broken service waits as long as told, and not a minute")
    func serviceFault() throws {
        for (retryAfter, due) in [(0, 500), (7, 7000)] as [(UInt32, UInt64)] {
            var flow = WakeUpFlow<FCMGateway>(.fcm, window: 1000)
            flow.add(try WakeUp.numbered(0..<1))
            let (batch, _) = try flow.batch(now: 1000)
            var outcomes = PushOutcomes()
            outcomes.answer(batch, 0, status: 503, retryAfter: retryAfter)
            let step = try flow.take(outcomes, now: 1000, chance: 0)
            #expect(step.retried == 1)
            let isIdle = flow.isIdle(now: 1000 + due - 100)
            #expect(isIdle)
            _ = try flow.batch(now: 1000 + due)
        }
    }
}
