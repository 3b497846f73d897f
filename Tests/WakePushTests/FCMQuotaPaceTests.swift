import Testing
import WakeModel

@testable import WakePush

@Suite("The pace of a push service's quota")
struct FCMQuotaPaceTests {
    @Test("from next to nothing to the whole quota in a minute, then evenly")
    func vectors() {
        var pace = QuotaPace(perMinute: 600_000)
        // A thirtieth of the burst of 6000, however long nothing has left before.
        #expect(pace.allowance(now: 5000) == 200)
        #expect(pace.allowance(now: 500_000) == 200)
        pace.spend(200)
        #expect(pace.allowance(now: 500_000) == 0)
        // 594,000 a minute are 9.9 a millisecond; a second of the slope is 9900 / 120.
        #expect(pace.allowance(now: 501_000) == 82)
        pace.spend(82)
        // From 1 to 4 seconds: 9900 * (16 - 1) / 120, and the half that was left.
        #expect(pace.allowance(now: 504_000) == 400)
        #expect(pace.parcel == 200)
        // In half a minute a burst is half of what it will be.
        #expect(pace.allowance(now: 509_000) == 900)
        pace.spend(900)
        for second in 510...560 as ClosedRange<UInt64> {
            let count = pace.allowance(now: second * 1000)
            pace.spend(count)
            let age = Int(second) - 500
            #expect(abs(count - min(9900 * (2 * age - 1) / 120, 6000 * age / 60)) <= 1)
        }
        #expect(pace.allowance(now: 560_010) == 99)
        pace.spend(99)
        #expect(pace.allowance(now: 560_110) == 990)
        #expect(pace.allowance(now: 569_999) == 6000)
    }

    @Test("after ten seconds of silence it begins anew, from any state")
    func silence() {
        var pace = QuotaPace(perMinute: 600_000)
        for second in 0...100 as ClosedRange<UInt64> {
            pace.spend(pace.allowance(now: second * 1000))
        }
        #expect(pace.allowance(now: 109_999) == 6000)
        #expect(pace.allowance(now: 110_000) == 200)
        pace.spend(200)
        #expect(pace.allowance(now: 111_000) == 82)
        #expect(pace.allowance(now: UInt64.max) == 200)
    }

    @Test("no second has more than the slope allows, whatever the quota and whenever asked")
    func slope() {
        for seed in 0..<20 as Range<UInt64> {
            var generator = RoundGenerator(seed)
            let quota = Int.random(in: 600...60_000_000, using: &generator)
            var pace = QuotaPace(perMinute: quota)
            var (sent, now) = (0, 0)
            while now < 60_000 {
                let allowed = pace.allowance(now: UInt64(now))
                pace.spend(allowed)
                sent += allowed
                let area = Double(quota) / 60_000 * Double(now * now) / 120_000
                #expect(Double(sent) <= area + Double(pace.head))
                now += .random(in: 1...400, using: &generator)
            }
            // Half a minute's worth in the first minute, less what single looks miss.
            #expect(Double(sent) >= Double(quota) * 0.45)
        }
    }

    @Test("never more than the quota in any minute, and nearly all of it when enough waits")
    func anyMinute() {
        for seed in 0..<20 as Range<UInt64> {
            var generator = RoundGenerator(seed)
            let quota = Int.random(in: 600...1_000_000, using: &generator)
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
                #expect(sent.reduce(0) { $0 + $1.count } >= (quota - quota / 50) * 34 / 10)
            }
        }
    }

    @Test("a flow with a quota hands over no more than it allows, whatever waits and returns")
    func flow() throws {
        var flow = WakeUpFlow<FCMGateway>(.fcm, window: 100_000, perMinute: 600_000)
        flow.add(try WakeUp.numbered(0..<20_000))
        var launched = 0
        for now in stride(from: 1000, to: 11_000, by: 10) {
            while let (batch, entries) = flow.next(now: UInt64(now)) {
                launched += entries.count
                var outcomes = PushOutcomes()
                for order in 0..<entries.count {
                    outcomes.answer(batch, UInt32(order), status: 200)
                }
                _ = try flow.take(outcomes, now: UInt64(now), chance: 0)
            }
            let age = now - 1000
            #expect(launched <= 200 + 99 * age * age / 1_200_000 + 1)
        }
        #expect(launched > 8000)
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
