import TestSupport
import Testing

@testable import WakePush

@Suite("The retry policy")
struct RetryPolicyTests {
    private func entry() throws -> RetryQueue.Entry { RetryQueue.Entry(wakeUp: try WakeUp(1)) }

    private func moment(_ now: UInt64 = 0, jitter: Double = 0) -> DeliveryMoment {
        DeliveryMoment(now: now, jitter: jitter)
    }

    @Test("a refused wake-up is tried ten times, half a second later and doubled up to thirty")
    func doubling() throws {
        var entry = try entry()
        let waits = (0..<10).map { _ in entry.fail(.refused, at: moment()) }
        #expect(
            waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, nil])
    }

    @Test("an unsent one is tried a hundred times, at once: the engine waits before it connects")
    func unsent() throws {
        var entry = try entry()
        for _ in 0..<99 { #expect(entry.fail(.unsent, at: moment(jitter: 0.9)) == 0) }
        #expect(entry.fail(.unsent, at: moment()) == nil)
    }

    @Test("one that may have arrived is repeated once, whatever else happens in between")
    func unknown() throws {
        var entry = try entry()
        #expect(entry.fail(.unknown, at: moment()) == 500)
        #expect(entry.fail(.refused, at: moment()) == 1000)
        #expect(entry.fail(.unsent, at: moment()) == 0)
        #expect(entry.fail(.unknown, at: moment()) == nil)
    }

    @Test("one that may not be repeated is given up once its outcome is unknown")
    func unrepeated() throws {
        let token = try WakeUp(1).token
        var entry = RetryQueue.Entry(wakeUp: WakeUp(reference: 1, token: token, mayRepeat: false))
        #expect(entry.fail(.refused, at: moment()) == 500)
        #expect(entry.fail(.unknown, at: moment()) == nil)
        #expect(!entry.result(.retry(.connectionFault)).isRepeated)
    }

    @Test("unsent attempts before a refused one do not make it wait longer")
    func mixed() throws {
        var entry = try entry()
        for _ in 0..<9 { _ = entry.fail(.unsent, at: moment()) }
        #expect(entry.fail(.refused, at: moment()) == 500)
    }

    @Test("what the push service asks for is waited at least; all waits end after four minutes")
    func retryAfter() throws {
        var entry = try entry()
        #expect(entry.fail(.refused, retryAfter: 3, at: moment(1000)) == 3000)
        #expect(entry.fail(.refused, retryAfter: 200, at: moment(4000)) == 200_000)
        #expect(entry.fail(.refused, retryAfter: 1, at: moment(239_000)) == 2000)
        #expect(entry.fail(.refused, retryAfter: 1, at: moment(241_000)) == nil)
        var later = try self.entry()
        #expect(later.fail(.refused, retryAfter: 241, at: moment()) == nil)
        var never = try self.entry()
        #expect(never.fail(.refused, retryAfter: Int(UInt32.max), at: moment()) == nil)
    }

    @Test("jitter stretches a wait by up to a half and never shortens it")
    func jitter() throws {
        var generator = SplitMix64(seed: 1)
        for after in [0, 5, 100] {
            for _ in 0..<50 {
                let jitter = Double.random(in: 0..<1, using: &generator)
                var (plain, stretched) = (try entry(), try entry())
                for _ in 0..<6 {
                    let shortest = plain.fail(.refused, retryAfter: after, at: moment())
                    let longer = stretched.fail(
                        .refused, retryAfter: after, at: moment(jitter: jitter))
                    guard let least = shortest, let wait = longer else {
                        #expect(longer == nil)
                        continue
                    }
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

    @Test("time alone makes hopeless: three failures that nothing accepted came between are enough")
    func few() {
        var breaker = ServiceBreaker()
        breaker.fail(at: DeliveryMoment(now: 0, jitter: 0))
        breaker.failUnseen(now: 0)
        #expect(!breaker.isHopeless(now: 2 * ServiceBreaker.patience))
        breaker.failUnseen(now: 1000)
        #expect(breaker.isHopeless(now: ServiceBreaker.patience))
        // The engine waits before it connects: nothing else is held back.
        #expect(breaker.allowance(now: 1000) == nil)
    }
}
