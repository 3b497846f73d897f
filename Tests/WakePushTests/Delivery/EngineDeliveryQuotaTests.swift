import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("The delivery of FCM, with a quota")
struct EngineDeliveryQuotaTests {
    @Test("a flow with a quota hands over no more than it allows, whatever waits and returns")
    func flow() throws {
        var flow = EngineDelivery(FakeFCMService(window: 100_000, perMinute: 600_000))
        flow.add(try WakeUp.numbered(0..<20_000))
        var launched = 0
        for now in stride(from: 1000, to: 11_000, by: 10) {
            while let batch = flow.next(now: UInt64(now)) {
                launched += batch.count
                var outcomes = PushOutcomes()
                for order in 0..<batch.count {
                    outcomes.answer(batch.reference(order), status: 200)
                }
                _ = try flow.receive(outcomes, now: UInt64(now))
            }
            let age = now - 1000
            #expect(launched <= 200 + 99 * age * age / 1_200_000 + 1)
        }
        #expect(launched > 8000)
    }

    @Test("a wake-up refused as too many waits a minute at least, and longer when told")
    func throttled() throws {
        for (retryAfter, due) in [(0, 60_000), (5, 60_000), (90, 90_000)] as [(UInt32, UInt64)] {
            var flow = EngineDelivery(FakeFCMService(window: 1000))
            flow.add(try WakeUp.numbered(0..<1))
            let batch = try flow.batch(now: 1000)
            var outcomes = PushOutcomes()
            outcomes.answer(batch.reference(0), status: 429, retryAfter: retryAfter)
            let step = try flow.receive(outcomes, now: 1000)
            #expect(step.retried == 1)
            let isIdle = try flow.isIdle(now: 1000 + due - 100)
            #expect(isIdle)
            _ = try flow.batch(now: 1000 + due)
        }
    }

    @Test("a wake-up refused by a broken service waits as long as told, and not a minute")
    func serviceFault() throws {
        for (retryAfter, due) in [(0, 500), (7, 7000)] as [(UInt32, UInt64)] {
            var flow = EngineDelivery(FakeFCMService(window: 1000))
            flow.add(try WakeUp.numbered(0..<1))
            let batch = try flow.batch(now: 1000)
            var outcomes = PushOutcomes()
            outcomes.answer(batch.reference(0), status: 503, retryAfter: retryAfter)
            let step = try flow.receive(outcomes, now: 1000)
            #expect(step.retried == 1)
            let isIdle = try flow.isIdle(now: 1000 + due - 100)
            #expect(isIdle)
            _ = try flow.batch(now: 1000 + due)
        }
    }
}
