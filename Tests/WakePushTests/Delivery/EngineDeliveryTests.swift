import Testing
import WakeModel

@testable import WakePush

@Suite("One gateway's part of a round")
struct EngineDeliveryTests {
    typealias Flow = EngineDelivery<FakeEngineService>

    /// All of `count` wake-ups with the engine, in one batch.
    private func launched(_ count: Int, window: Int = 1000) throws -> (Flow, PushBatch) {
        var flow = Flow(window: window)
        flow.add(try WakeUp.numbered(0..<count))
        let batch = try flow.batch(now: 0)
        #expect(batch.count == count)
        return (flow, batch)
    }

    private func settled(_ references: [Int], _ delivery: Delivery) -> [WakeUpResult] {
        references.map { WakeUpResult(reference: $0, delivery: delivery) }
    }

    @Test("accepted and gone settle at once, and say that the credential works")
    func plain() throws {
        var (flow, batch) = try launched(2)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(1), status: 410, reason: "Unregistered")
        let gone = try flow.receive(outcomes, now: 1)
        #expect(gone.results == settled([1], .gone) && gone.feedback == [])
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), status: 200)
        let accepted = try flow.receive(outcomes, now: 1)
        #expect(accepted.results == settled([0], .accepted) && accepted.feedback == [.worked])
        #expect(try flow.conclude().isEmpty)
    }

    @Test("bad tokens wait for evidence of their own connection and are then believed")
    func evidence() throws {
        var (flow, batch) = try launched(4)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), on: 1, status: 400, reason: "BadDeviceToken")
        outcomes.answer(batch.reference(1), on: 2, status: 400, reason: "BadDeviceToken")
        #expect(try flow.receive(outcomes, now: 1).results.isEmpty)
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(2), on: 2, status: 200)
        let step = try flow.receive(outcomes, now: 1)
        #expect(step.results.count == 2)
        #expect(step.results.contains(WakeUpResult(reference: 1, delivery: .gone)))
        #expect(step.results.contains(WakeUpResult(reference: 2, delivery: .accepted)))
        // The other connection has shown nothing: its refusal stays undecided, nothing is gone.
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(3), on: 1, status: 410, reason: "Unregistered")
        #expect(try flow.receive(outcomes, now: 1).results == settled([3], .gone))
        flow.flush(isFinal: true)
        #expect(try flow.conclude() == settled([0], .retry(.unknownRefusal)))
        #expect(try flow.conclude().isEmpty)
    }

    @Test("a connection that ends before its evidence has its bad tokens tried again")
    func ended() throws {
        var (flow, batch) = try launched(2)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), on: 7, status: 400, reason: "BadDeviceToken")
        outcomes.answer(batch.reference(1), on: 8, status: 200)
        _ = try flow.receive(outcomes, now: 0)
        outcomes = PushOutcomes()
        outcomes.ended = [7]
        #expect(try flow.receive(outcomes, now: 0).results.isEmpty)
        flow.flush(isFinal: true)
        #expect(try flow.conclude().isEmpty)
        let early = try flow.isIdle(now: 499)
        #expect(early)
        let again = try flow.batch(now: 500)
        outcomes = PushOutcomes()
        outcomes.answer(again.reference(0), on: 8, status: 400, reason: "BadDeviceToken")
        #expect(try flow.receive(outcomes, now: 500).results == settled([0], .gone))
    }

    @Test("a round of bad tokens only is the configuration's fault, at its end or at the 64th")
    func nothingAccepted() throws {
        for count in [1, 63, 64] {
            var (flow, batch) = try launched(count)
            flow.flush(isFinal: true)
            var outcomes = PushOutcomes()
            for order in 0..<count {
                outcomes.answer(batch.reference(order), status: 400, reason: "BadDeviceToken")
            }
            #expect(throws: GatewayFailure.misconfigured(.apns(.tokensOfOtherEnvironment))) {
                #expect(try flow.receive(outcomes, now: 0).results.isEmpty)
                #expect(count < 64)
                _ = try flow.conclude()
            }
        }
    }

    @Test("a refusal that is not known is not repeated: the answer was definite")
    func unknownRefusal() throws {
        var (flow, batch) = try launched(2)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), status: 200)
        outcomes.answer(batch.reference(1), status: 410, reason: "SomethingNew")
        let step = try flow.receive(outcomes, now: 0)
        #expect(step.results.contains(settled([1], .retry(.unknownRefusal))[0]))
        let isOver = try flow.isIdle(now: 1_000_000)
        #expect(isOver)
    }

    @Test("what cannot be settled is tried again until its attempts are used up")
    func givenUp() throws {
        var (flow, batch) = try launched(1)
        var (now, tries) = (0 as UInt64, 1)
        while true {
            var outcomes = PushOutcomes()
            outcomes.answer(batch.reference(0), status: 503, reason: "ServiceUnavailable")
            let step = try flow.receive(outcomes, now: now)
            if !step.results.isEmpty {
                #expect(step.results == settled([0], .retry(.serviceFault)))
                break
            }
            let isWaiting = try flow.isIdle(now: now)
            #expect(isWaiting)
            now += 60_000
            batch = try flow.batch(now: now)
            tries += 1
        }
        #expect(tries == 10)
    }

    @Test("failures of the engine stop the gateway, each as what it is")
    func failures() throws {
        let expected: [(PushFailure, GatewayFailure)] = [
            (.connection(.certificate(19)), .misconfigured(.connection(.certificate(19), .apns))),
            (.connection(.handshake), .misconfigured(.connection(.handshake, .apns))),
            (.connection(.noHTTP2), .misconfigured(.connection(.noHTTP2, .apns))),
            (.unknownHost, .unavailable(.unknownHost, .apns)),
            (.unreachable, .unavailable(.unreachable, .apns)),
        ]
        for (failure, meaning) in expected {
            var (flow, batch) = try launched(1)
            var outcomes = PushOutcomes()
            outcomes.append(batch.reference(0), .failed(failure))
            #expect(throws: meaning) { try flow.receive(outcomes, now: 0) }
        }
    }

    @Test("an expired token and too many tokens are passed on, and the wake-ups tried again")
    func credentialNews() throws {
        var (flow, batch) = try launched(2)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), status: 403, reason: "ExpiredProviderToken")
        outcomes.answer(batch.reference(1), status: 429, reason: "TooManyProviderTokenUpdates")
        let step = try flow.receive(outcomes, now: 0)
        #expect(step.feedback == [.expired, .tooManyUpdates] && step.results.isEmpty)
        #expect(try flow.batch(now: 1000).count == 2)
    }
}
