import TestSupport
import Testing
import WakePush

@Suite("The token bucket with a ramp")
struct RampedTokenBucketTests {
    @Test("from next to nothing to the whole quota in a minute, then evenly")
    func vectors() {
        var bucket = RampedTokenBucket(perMinute: 600_000)
        // A thirtieth of the burst of 6000, however long nothing has left before.
        #expect(bucket.allowance(now: 5000) == 200)
        #expect(bucket.allowance(now: 500_000) == 200)
        bucket.spend(200)
        #expect(bucket.allowance(now: 500_000) == 0)
        // 594,000 a minute are 9.9 a millisecond; a second of the slope is 9900 / 120.
        #expect(bucket.allowance(now: 501_000) == 82)
        bucket.spend(82)
        // From 1 to 4 seconds: 9900 * (16 - 1) / 120, and the half that was left.
        #expect(bucket.allowance(now: 504_000) == 400)
        #expect(bucket.parcel == 200)
        // In half a minute a burst is half of what it will be.
        #expect(bucket.allowance(now: 509_000) == 900)
        bucket.spend(900)
        for second in 510...560 as ClosedRange<UInt64> {
            let count = bucket.allowance(now: second * 1000)
            bucket.spend(count)
            let age = Int(second) - 500
            #expect(abs(count - min(9900 * (2 * age - 1) / 120, 6000 * age / 60)) <= 1)
        }
        #expect(bucket.allowance(now: 560_010) == 99)
        bucket.spend(99)
        #expect(bucket.allowance(now: 560_110) == 990)
        #expect(bucket.allowance(now: 569_999) == 6000)
    }

    @Test("after ten seconds of silence it begins anew, from any state")
    func silence() {
        var bucket = RampedTokenBucket(perMinute: 600_000)
        for second in 0...100 as ClosedRange<UInt64> {
            bucket.spend(bucket.allowance(now: second * 1000))
        }
        #expect(bucket.allowance(now: 109_999) == 6000)
        #expect(bucket.allowance(now: 110_000) == 200)
        bucket.spend(200)
        #expect(bucket.allowance(now: 111_000) == 82)
        #expect(bucket.allowance(now: UInt64.max) == 200)
    }

    @Test("no second has more than the slope allows, whatever the quota and whenever asked")
    func slope() {
        for seed in 0..<20 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            let quota = Int.random(in: 600...60_000_000, using: &generator)
            var bucket = RampedTokenBucket(perMinute: quota)
            var (sent, now) = (0, 0)
            while now < 60_000 {
                let allowed = bucket.allowance(now: UInt64(now))
                bucket.spend(allowed)
                sent += allowed
                let area = Double(quota) / 60_000 * Double(now * now) / 120_000
                #expect(Double(sent) <= area + Double(bucket.head))
                now += .random(in: 1...400, using: &generator)
            }
            // Half a minute's worth in the first minute, less what single looks miss.
            #expect(Double(sent) >= Double(quota) * 0.45)
        }
    }

    @Test("never more than the quota in any minute, and nearly all of it when enough waits")
    func anyMinute() {
        for seed in 0..<20 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            let quota = Int.random(in: 600...1_000_000, using: &generator)
            var bucket = RampedTokenBucket(perMinute: quota)
            var sent: [(time: UInt64, count: Int)] = []
            var now: UInt64 = 0
            while now < 240_000 {
                let allowed = bucket.allowance(now: now)
                let isGreedy = seed.isMultiple(of: 2)
                let count = isGreedy ? allowed : .random(in: 0...allowed, using: &generator)
                bucket.spend(count)
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
}
