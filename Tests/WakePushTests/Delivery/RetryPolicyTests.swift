import TestSupport
import Testing

@testable import WakePush

@Suite("The retry policy")
struct RetryPolicyTests {
    private func delay(
        _ spent: Int, isRetrySafe: Bool = false, retryAfter: Int = 0, jitter: Double = 0
    ) -> UInt64? {
        RetryPolicy.delay(
            spent: spent, isRetrySafe: isRetrySafe, retryAfter: retryAfter, jitter: jitter)
    }

    @Test("a seen wake-up is tried ten times, half a second later and doubled up to thirty")
    func doubling() {
        var (spent, waits) = (0, [UInt64?]())
        for _ in 0..<10 {
            spent += RetryPolicy.cost(isRetrySafe: false)
            waits.append(delay(spent))
        }
        #expect(
            waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, nil])
    }

    @Test("an unseen one is tried a hundred times, at once: the engine waits before it connects")
    func unseen() {
        var (spent, tries) = (0, 0)
        while true {
            spent += RetryPolicy.cost(isRetrySafe: true)
            tries += 1
            guard let wait = delay(spent, isRetrySafe: true, jitter: 1) else { break }
            #expect(wait == 0)
        }
        #expect(tries == 100)
    }

    @Test("unseen attempts before a seen one do not make it wait longer")
    func mixed() {
        #expect(delay(10 + 5) == 500)
        #expect(delay(10 + 9) == 500)
        #expect(delay(99) != nil && delay(100) == nil && delay(109) == nil)
    }

    @Test("what the push service asks for is waited at least, up to ten minutes, then given up")
    func retryAfter() {
        #expect(delay(10, retryAfter: 3) == 3000)
        #expect(delay(40, retryAfter: 3) == 4000)
        #expect(delay(10, retryAfter: 600) == 600_000)
        #expect(delay(10, retryAfter: 601) == nil)
        #expect(delay(10, retryAfter: Int(UInt32.max)) == nil)
    }

    @Test("jitter stretches a wait by up to a half and never shortens it")
    func jitter() throws {
        var generator = SplitMix64(seed: 1)
        for spent in stride(from: 10, to: 100, by: 10) {
            for after in [0, 5, 600] {
                let least = try #require(delay(spent, retryAfter: after))
                #expect(delay(spent, retryAfter: after, jitter: 1) == least + least / 2)
                for _ in 0..<50 {
                    let jitter = Double.random(in: 0...1, using: &generator)
                    let wait = try #require(delay(spent, retryAfter: after, jitter: jitter))
                    #expect((least...least + least / 2).contains(wait))
                }
            }
        }
    }
}

@Suite("The breaker of a push service")
struct ServiceBreakerTests {
    /// Refused so often that a pause begins.
    private func paused(_ breaker: inout ServiceBreaker, at now: UInt64, jitter: Double = 0) {
        for _ in 0..<ServiceBreaker.limit {
            breaker.fail(at: DeliveryMoment(now: now, jitter: jitter))
        }
    }

    @Test("63 refusals in a row are no reason to pause, the 64th is")
    func limit() {
        var breaker = ServiceBreaker()
        for _ in 0..<63 { breaker.fail(at: DeliveryMoment(now: 1000, jitter: 0)) }
        #expect(breaker.allowance(now: 1000) == nil)
        breaker.fail(at: DeliveryMoment(now: 1000, jitter: 0))
        #expect(breaker.allowance(now: 1000) == 0)
        #expect(breaker.allowance(now: 1999) == 0)
        #expect(breaker.allowance(now: 2000) == 64)
    }

    @Test("one accepted wake-up begins the count anew and lifts every limit")
    func worked() {
        var breaker = ServiceBreaker()
        for _ in 0..<63 { breaker.fail(at: DeliveryMoment(now: 0, jitter: 0)) }
        breaker.succeed()
        for _ in 0..<63 { breaker.fail(at: DeliveryMoment(now: 0, jitter: 0)) }
        #expect(breaker.allowance(now: 0) == nil)
        breaker.fail(at: DeliveryMoment(now: 0, jitter: 0))
        #expect(breaker.allowance(now: 0) == 0)
        breaker.succeed()
        #expect(breaker.allowance(now: 0) == nil)
        #expect(!breaker.isHopeless(now: UInt64.max))
    }

    @Test("pauses double up to a minute, and jitter adds up to a half")
    func doubling() {
        var breaker = ServiceBreaker()
        var now: UInt64 = 0
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] as [UInt64] {
            paused(&breaker, at: now)
            #expect(breaker.allowance(now: now + seconds * 1000 - 1) == 0)
            now += seconds * 1000
            #expect(breaker.allowance(now: now) == 64)
        }
        var stretched = ServiceBreaker()
        paused(&stretched, at: 0, jitter: 1)
        #expect(stretched.allowance(now: 1499) == 0 && stretched.allowance(now: 1500) == 64)
    }

    @Test("what was in flight when a pause began does not make it longer")
    func inFlight() {
        var breaker = ServiceBreaker()
        paused(&breaker, at: 0)
        for _ in 0..<1000 { breaker.fail(at: DeliveryMoment(now: 500, jitter: 1)) }
        #expect(breaker.allowance(now: 999) == 0)
        #expect(breaker.allowance(now: 1000) == 64)
    }

    @Test("after five minutes without one accepted wake-up there is no hope, and not before")
    func hopeless() {
        var breaker = ServiceBreaker()
        paused(&breaker, at: 7000)
        #expect(!breaker.isHopeless(now: 7000 + ServiceBreaker.patience - 1))
        #expect(breaker.isHopeless(now: 7000 + ServiceBreaker.patience))
    }

    @Test("wake-ups that come back unseen for five minutes are hopeless too, but only many")
    func unseen() {
        var breaker = ServiceBreaker()
        for _ in 0..<63 { breaker.failUnseen(now: 0) }
        #expect(!breaker.isHopeless(now: 2 * ServiceBreaker.patience))
        breaker.failUnseen(now: 1000)
        #expect(breaker.isHopeless(now: ServiceBreaker.patience))
        // The engine waits before it connects: nothing else is held back.
        #expect(breaker.allowance(now: 1000) == nil)
    }

    @Test("a few refusals are never hopeless, however long ago")
    func few() {
        var breaker = ServiceBreaker()
        for _ in 0..<63 { breaker.fail(at: DeliveryMoment(now: 0, jitter: 0)) }
        #expect(!breaker.isHopeless(now: 100 * ServiceBreaker.patience))
    }
}
