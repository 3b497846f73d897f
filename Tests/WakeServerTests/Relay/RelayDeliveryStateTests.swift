import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

@Suite("RelayDeliveryState")
struct RelayDeliveryStateTests {
    private func state(_ count: Int, draining: Bool = true) throws -> RelayDeliveryState {
        var state = RelayDeliveryState(.apns)
        state.add(try WakeUp.numbered(0..<count))
        if draining { state.flush(isFinal: false) }
        return state
    }

    private func lines(_ lines: RelayLine...) -> [UInt8] { lines.flatMap(\.text) }

    @Test("a small number waits a second for others, not longer, and not when that was all")
    func small() throws {
        var state = try state(3, draining: false)
        let waits = state.isIdle(now: 0)
        state.add(try WakeUp.numbered(3..<5))
        let waitsStill = state.isIdle(now: 999)
        #expect(waits && waitsStill)
        let (_, entries) = try state.request(now: 1000)
        #expect(entries.count == 5)
        state.add(try WakeUp.numbered(5..<6))
        state.flush(isFinal: false)
        let (_, last) = try state.request(now: 1001)
        #expect(last.count == 1)
    }

    @Test("large push tokens make smaller requests")
    func bytes() throws {
        var state = RelayDeliveryState(.fcm)
        let token = try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x5C, count: 588))
        state.add((0..<2000).map { WakeUp(reference: $0, token: token) })
        let (_, entries) = try state.request(now: 0)
        #expect(entries.count > 530 && entries.count < 560)
        _ = RelayBatch(lifetime: 7200, tokens: entries.map(\.wakeUp.token)).body()
    }

    @Test("what has no line when all is done is asked for again")
    func missing() throws {
        var state = try state(2)
        let (request, _) = try state.request(now: 0)
        _ = state.read(lines(.delivery(wake: 1, .accepted), .done(2)).span, of: request)
        let end = state.ended(request, .completed, now: 0, random: 0)
        #expect(end.retried == 1)
    }

    @Test(
        "a gateway of the owner that stopped ends the round in the owner's name",
        arguments: [
            (RelayStop.serviceOff, GatewayFailure.misconfigured(.relay(.serviceOff, .apns))),
            (.misconfigured, .misconfigured(.relay(.ownerMisconfigured, .apns))),
            (.unavailable, .unavailable(.relayStopped, .apns)),
        ])
    func stopped(_ stop: RelayStop, _ failure: GatewayFailure) throws {
        var state = try state(2)
        let (request, _) = try state.request(now: 0)
        let answer = lines(
            .delivery(wake: 0, .gone), .stopped(.apns, stop), .delivery(wake: 1, .gone))
        let step = state.read(answer.span, of: request)
        #expect(step.results == [WakeUpResult(reference: 0, delivery: .gone)])
        #expect(step.failure == failure)
        #expect(failure.message.contains("owner") && failure.message.contains("\nhint: "))
    }

    @Test("what may have arrived, and what has no clear end, is sent once more, not twice")
    func repetition() throws {
        let ends: [RelayResult] = [
            .interrupted, .completed, .refused(.replayed), .refused(.unclear(retryAfter: 0)),
        ]
        for end in ends {
            var state = try state(1)
            let (first, _) = try state.request(now: 0)
            let cut = state.ended(first, end, now: 0, random: 0)
            #expect(cut.retried == 1 && cut.uncertain == 1 && cut.results.isEmpty)
            try state.answerProbe(now: 5000)
            let (second, _) = try state.request(now: 5000)
            let unknown = lines(.delivery(wake: 0, .retry(.connectionFault)), .done(1))
            let step = state.read(unknown.span, of: second)
            #expect(step.results.map(\.delivery) == [.retry(.connectionFault)])
            #expect(step.results.allSatisfy(\.isRepeated) && step.retried == 0)
        }
    }

    @Test("a wake-up of which the relay does not know whether it arrived is sent once more")
    func unknown() throws {
        var state = try state(3)
        let (request, _) = try state.request(now: 0)
        let answer = lines(
            .delivery(wake: 0, .retry(.connectionFault)), .delivery(wake: 1, .retry(.throttled)),
            .delivery(wake: 2, .accepted), .done(3))
        let step = state.read(answer.span, of: request)
        #expect(step.retried == 1 && step.uncertain == 1)
        #expect(step.results.map(\.reference) == [1, 2])
        _ = state.ended(request, .completed, now: 0, random: 0)
        let (again, entries) = try state.request(now: 5000)
        #expect(entries.map(\.wakeUp.reference) == [0])
        let last = state.read(lines(.delivery(wake: 0, .accepted), .done(1)).span, of: again)
        #expect(last.results == [WakeUpResult(reference: 0, delivery: .accepted, isRepeated: true)])
    }

    @Test("after a failure one wake-up asks whether the relay works again")
    func trial() throws {
        var state = try state(1500)
        let (first, _) = try state.request(now: 0)
        _ = state.ended(first, .refused(.failed(retryAfter: 0)), now: 0, random: 0)
        let trial = try state.request(now: 60_000)
        let isAlone = state.isIdle(now: 60_000)
        #expect(trial.entries.count == 1 && isAlone)
        let answer = lines(.delivery(wake: 0, .accepted), .done(1))
        _ = state.read(answer.span, of: trial.request)
        _ = state.ended(trial.request, .completed, now: 60_000, random: 0)
        let all = try state.request(now: 60_000)
        #expect(all.entries.count == 1000)
    }

    @Test("an outage of hours behind a front that says 502 costs no wake-up, and is told")
    func outage() throws {
        var state = try state(5000)
        let ends = [RelayResult.refused(.unclear(retryAfter: 0)), .interrupted, .completed]
        var (now, tries) = (0 as UInt64, 0)
        while now < 4 * 3_600_000 {
            guard let (request, entries) = state.next(now: now) else {
                now += 1000
                continue
            }
            // Later requests carry nothing that could be lost again.
            #expect(entries.count == (tries == 0 ? 1000 : 0))
            let step = state.ended(request, ends[tries % 3], now: now, random: 0)
            #expect(step.results.isEmpty && step.failure == nil)
            tries += 1
        }
        #expect(tries < 500 && state.delay == .unavailable(.relayFailing, .apns))
        try state.answerProbe(now: now)
        #expect(state.delay == nil)
        now += 60_000
        var accepted: [Int] = []
        while let (request, entries) = state.next(now: now) {
            let answer = entries.indices.flatMap { RelayLine.delivery(wake: $0, .accepted).text }
            let step = state.read((answer + RelayLine.done(entries.count).text).span, of: request)
            accepted += step.results.map(\.reference)
            #expect(step.results.allSatisfy { $0.isRepeated == ($0.reference < 1000) })
            _ = state.ended(request, .completed, now: now, random: 0)
        }
        #expect(accepted.sorted() == Array(0..<5000))
    }

    @Test("a gateway that stopped ends the session once the other request has said what it did")
    func stoppedBesideAnother() throws {
        var state = try state(2000)
        let (first, _) = try state.request(now: 0)
        let (second, _) = try state.request(now: 0)
        let stop = lines(.delivery(wake: 0, .accepted), .stopped(.apns, .unavailable), .done(1000))
        let step = state.read(stop.span, of: first)
        #expect(step.results.count == 1 && step.failure == nil)
        let isIdle = state.isIdle(now: 0)
        #expect(isIdle)
        // Lost before, and with it that these had their push: another pass woke them again.
        let sent = lines(.delivery(wake: 7, .accepted), .stopped(.apns, .unavailable), .done(1000))
        let last = state.read(sent.span, of: second)
        #expect(last.results == [WakeUpResult(reference: 1007, delivery: .accepted)])
        #expect(last.failure == .unavailable(.relayStopped, .apns))
    }

    @Test("a relay that has just started is asked again, and one whose window stays is a fault")
    func stale() throws {
        var state = try state(2)
        var now: UInt64 = 0
        var tries = 0
        while true {
            guard let (request, _) = state.next(now: now) else {
                now += 100
                continue
            }
            tries += 1
            let end = RelayResult.refused(.stale(difference: 1))
            let step = state.ended(request, end, now: now, random: 0)
            #expect(step.results.isEmpty)
            if let failure = step.failure {
                #expect(failure == .misconfigured(.relay(.clock(difference: 0), .apns)))
                break
            }
        }
        #expect(now >= 30_000 && now < 60_000 && tries > 3)
    }

    @Test("Retry-After is honoured by everything, for four minutes at most")
    func busy() throws {
        var state = try state(2)
        let (request, _) = try state.request(now: 0)
        let busy = RelayResult.refused(.busy(retryAfter: 20))
        let step = state.ended(request, busy, now: 0, random: 0)
        #expect(step.retried == 2 && step.results.isEmpty)
        let rests = state.isIdle(now: 19_999)
        #expect(rests)
        let (again, _) = try state.request(now: 20_000)
        _ = state.ended(again, .refused(.failed(retryAfter: 601)), now: 20_000, random: 0)
        let restsStill = state.isIdle(now: 259_999)
        #expect(restsStill)
        _ = try state.request(now: 260_000)
    }
}

extension RelayDeliveryState {
    /// The next request, which must be there.
    fileprivate mutating func request(
        now: UInt64
    ) throws -> (request: UInt32, entries: [RetryQueue.Entry]) {
        guard let next = next(now: now) else { throw TestFailure("nothing to send at \(now)") }
        return next
    }

    /// The relay answers a request without wake-ups: it is there.
    fileprivate mutating func answerProbe(now: UInt64) throws {
        let (probe, entries) = try request(now: now + 60_000)
        guard entries.isEmpty else { throw TestFailure("a wake-up was risked") }
        _ = read(RelayLine.done(0).text.span, of: probe)
        _ = ended(probe, .completed, now: now, random: 0)
    }

    /// Whether there is nothing to send now.
    fileprivate mutating func isIdle(now: UInt64) -> Bool { next(now: now) == nil }
}

extension RelayDeliveryState {
    mutating func add(_ wakeUps: [WakeUp]) { _ = add(wakeUps, now: 0) }

    mutating func read(_ bytes: Span<UInt8>, of request: UInt32) -> DeliveryStep {
        receive(.lines(request, Array(copying: bytes)), at: DeliveryMoment(now: 0, jitter: 0))
    }

    mutating func ended(
        _ request: UInt32, _ result: RelayResult, now: UInt64, random: Double
    ) -> DeliveryStep {
        receive(.ended(request, result), at: DeliveryMoment(now: now, jitter: random))
    }
}
