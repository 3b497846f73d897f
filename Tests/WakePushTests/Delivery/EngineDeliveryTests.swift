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
        #expect(gone.results == settled([1], .gone) && gone.feedback.isEmpty)
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), status: 200)
        let accepted = try flow.receive(outcomes, now: 1)
        #expect(accepted.results == settled([0], .accepted) && accepted.feedback == .worked)
        #expect(try flow.conclude().isEmpty)
    }

    @Test("bad tokens wait until another is accepted, and are believed from then on")
    func evidence() throws {
        var (flow, batch) = try launched(4)
        var outcomes = PushOutcomes()
        outcomes.answer(batch.reference(0), status: 400, reason: "BadDeviceToken")
        outcomes.answer(batch.reference(1), status: 400, reason: "BadDeviceToken")
        #expect(try flow.receive(outcomes, now: 1).results.isEmpty)
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(2), status: 200)
        let step = try flow.receive(outcomes, now: 1)
        #expect(step.results == settled([2], .accepted) + settled([0, 1], .invalid))
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(3), status: 400, reason: "BadDeviceToken")
        #expect(try flow.receive(outcomes, now: 1).results == settled([3], .invalid))
        flow.flush(isFinal: true)
        #expect(try flow.conclude().isEmpty)
    }

    @Test("a round of bad tokens only goes on to its end, which names the possible fault")
    func nothingAccepted() throws {
        for count in [1, 63, 64, ProvisionalAnswers<Int>.limit + 100] {
            var flow = Flow(window: count)
            flow.add(try WakeUp.numbered(0..<count))
            flow.flush(isFinal: true)
            var results: [WakeUpResult] = []
            while let batch = flow.next(now: 0) {
                var outcomes = PushOutcomes()
                for order in 0..<batch.count {
                    outcomes.answer(batch.reference(order), status: 400, reason: "BadDeviceToken")
                }
                results += try flow.receive(outcomes, now: 0).results
            }
            // The oldest of more than can be held.
            let spilled = max(0, count - ProvisionalAnswers<Int>.limit)
            #expect(results == settled(Array(0..<spilled), .retry(.unknownRefusal)))
            #expect(throws: GatewayFailure.misconfigured(.apns(.tokensOfOtherEnvironment))) {
                try flow.conclude()
            }
        }
    }

    @Test("single answers that blame the gateway are tried again, five in a row stop it")
    func strayFaults() throws {
        var (flow, batch) = try launched(60)
        var outcomes = PushOutcomes()
        for order in 0..<60 {
            if order % 10 == 5 {
                let reason = "InvalidProviderToken"
                outcomes.answer(batch.reference(order), status: 403, reason: reason)
            } else {
                outcomes.answer(batch.reference(order), status: 200)
            }
        }
        #expect(try flow.receive(outcomes, now: 0).results.count == 54)
        batch = try flow.batch(now: 500)
        #expect(batch.count == 6)
        outcomes = PushOutcomes()
        for order in 0..<4 {
            let reason = "InvalidProviderToken"
            outcomes.answer(batch.reference(order), status: 403, reason: reason)
        }
        #expect(try flow.receive(outcomes, now: 500).results.isEmpty)
        outcomes = PushOutcomes()
        outcomes.answer(batch.reference(4), status: 403, reason: "InvalidProviderToken")
        #expect(throws: GatewayFailure.misconfigured(.apns(.keyRefused))) {
            try flow.receive(outcomes, now: 500)
        }
    }

    @Test("what may have arrived is sent once more in a round, and a refused stream backs off")
    func repetition() throws {
        var (flow, batch) = try launched(2)
        var outcomes = PushOutcomes()
        outcomes.lose(batch.reference(0), .unknown)
        outcomes.lose(batch.reference(1), .refused)
        #expect(try flow.receive(outcomes, now: 0).results.isEmpty)
        let isWaiting = try flow.isIdle(now: 499)
        #expect(isWaiting)
        batch = try flow.batch(now: 500)
        #expect(batch.tokens.sorted() == [0, 1])
        outcomes = PushOutcomes()
        for reference in batch.references { outcomes.lose(reference, .unknown) }
        #expect(
            try flow.receive(outcomes, now: 500).results == [
                WakeUpResult(
                    reference: 0, delivery: .retry(.connectionFault), isRepeated: true)
            ])
        #expect(try flow.batch(now: 10_000).tokens == [1])
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
            now += [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000][tries - 1]
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
            (.closed(.badCertificate), .unavailable(.closed(.badCertificate), .apns)),
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
        #expect(
            step.feedback == CredentialFeedback(expired: 1, tooManyUpdates: 1)
                && step.results.isEmpty)
        #expect(try flow.batch(now: 1000).count == 2)
    }

    @Test("a push service that refuses at once what is too much for it is not sent more at a time")
    func throttled() throws {
        var flow = Flow(window: 20_000)
        flow.add(try WakeUp.numbered(0..<100_000))
        var most = 0
        for now in 0..<2000 as Range<UInt64> {
            try flow.advance(now: now)
            guard let batch = flow.next(now: now) else { continue }
            most = max(most, batch.count)
            // It takes up twenty a millisecond, whatever it is sent, and refuses those between.
            let distance = max(1, batch.count / 20)
            var outcomes = PushOutcomes()
            for order in 0..<batch.count {
                if order.isMultiple(of: distance) {
                    outcomes.answer(batch.reference(order), status: 200)
                } else {
                    let reason = "TooManyRequests"
                    outcomes.answer(batch.reference(order), status: 429, reason: reason)
                }
            }
            _ = try flow.receive(outcomes, now: now)
        }
        #expect(most <= 4 * ConcurrencyLimiter.least, "\(most)")
    }
}
