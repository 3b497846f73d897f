import Testing
import WakePush

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    @Test("a breaker opens at the threshold, probes after each pause, closes on success")
    func breaker() {
        var breaker = CircuitBreaker(.init(threshold: 3, pauses: [100, 1000], probes: 1))
        // The time of a failure, and whether it opens the breaker.
        func fail(_ now: UInt64, random: Double = 0, opens: Bool) {
            let hasOpened = breaker.fail(now: now, random: random)
            #expect(hasOpened == opens, "\(now)")
        }
        fail(0, opens: false)
        fail(1, opens: false)
        #expect(breaker.allowance(now: 1) == nil)
        fail(2, opens: true)
        #expect(breaker.allowance(now: 101) == 0)
        // In flight when the pause began.
        fail(50, opens: false)
        #expect(breaker.allowance(now: 102) == 1)
        fail(102, random: 0.5, opens: true)
        #expect(breaker.pauseCount == 2)
        #expect(breaker.allowance(now: 1351) == 0 && breaker.allowance(now: 1352) == 1)
        #expect(breaker.failingFor(now: 2000) == 2000)
        breaker.succeed()
        #expect(breaker.allowance(now: 2000) == nil && breaker.failingFor(now: 2000) == nil)
    }
}
