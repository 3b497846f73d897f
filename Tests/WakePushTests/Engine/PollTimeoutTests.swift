import Testing

@testable import WakePush

/// How long the engine's thread sleeps, and when it hands outcomes over.
struct EngineRestTests {
    @Test("an engine with nothing in flight sleeps until somebody calls")
    func idle() {
        #expect(PollTimeout().timeout(now: 5000, tick: 5100) == -1)
    }

    @Test("answers that are due, and pushes that wait, are looked after at the next tick")
    func due() {
        #expect(PollTimeout(awaitsPeer: true).timeout(now: 5000, tick: 5100) == 100)
        #expect(PollTimeout(isQueued: true).timeout(now: 5000, tick: 5100) == 100)
        #expect(PollTimeout(awaitsPeer: true).timeout(now: 5000, tick: 4000) == 0)
    }

    @Test("a line that may be connected again is, at its time")
    func attempts() {
        let rest = PollTimeout(isQueued: true, nextAttempt: 5020)
        #expect(rest.timeout(now: 5000, tick: 5100) == 20)
    }

    @Test("work at hand allows no sleep")
    func runnable() {
        #expect(PollTimeout(isRunnable: true, awaitsPeer: true).timeout(now: 5000, tick: 5100) == 0)
    }

    @Test("outcomes are held while more are to come, for some milliseconds and some thousands")
    func held() {
        let rest = PollTimeout(awaitsPeer: true, heldSince: 5000)
        #expect(!rest.handsOver(8191, now: 5003))
        #expect(rest.handsOver(8192, now: 5003))
        #expect(rest.handsOver(1, now: 5004))
        #expect(rest.timeout(now: 5001, tick: 5100) == 3)
        #expect(!PollTimeout(awaitsPeer: true).handsOver(0, now: 5004))
    }

    @Test("the last outcomes, and the end of a connection, are handed over at once")
    func atOnce() {
        #expect(PollTimeout(heldSince: 5000).handsOver(1, now: 5000))
        #expect(PollTimeout(awaitsPeer: true, heldSince: 5000).handsOver(0, now: 5000))
    }
}
