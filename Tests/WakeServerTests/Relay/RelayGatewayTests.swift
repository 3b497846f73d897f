import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("A gateway that goes through a relay", .timeLimit(.minutes(5)))
struct RelayGatewayTests {
    /// Exactly these, once each; gone where the relay of tests says so.
    private func expectWhole(_ settled: [WakeUpResult], _ count: Int) {
        #expect(settled.map(\.reference).sorted() == Array(0..<count))
        for wakeUp in settled {
            let expected: Delivery = wakeUp.reference % 10 == 7 ? .gone : .accepted
            #expect(wakeUp.delivery == expected, "\(wakeUp.reference)")
        }
    }

    @Test("many wake-ups go in full, signed batches, and each is settled from its line")
    func many() async throws {
        let peer = try RelayPeer { _, batch in .lines(RelayPeer.answer(batch)) }
        let test = try RelayRoundUnderTest(peer.server.url)
        #expect(test.gateway.window == 4000)
        test.round.send(try WakeUp.numbered(0..<3500))
        test.round.flush(isFinal: true)
        expectWhole(try await test.settled(3500), 3500)
        let requests = peer.requests.value
        // Two connections: either may be the first.
        #expect(requests.map(\.batch.tokens.count).sorted() == [500, 1000, 1000, 1000])
        #expect(requests.allSatisfy { $0.fault == nil && $0.batch.lifetime == 7200 })
        #expect(test.failure == nil)
        peer.stop()
    }

    @Test("an answer cut at any byte costs nothing: what has its line is settled, the rest again")
    func cutAnywhere() async throws {
        let tokens = try WakeUp.numbered(5..<8).map(\.token)
        let whole = RelayPeer.answer(RelayBatch(lifetime: 0, tokens: tokens)).flatMap { $0 }
        for place in 0...whole.count {
            let peer = try RelayPeer { number, batch in
                number == 1
                    ? .cut(Array(whole.prefix(place))) : .lines(RelayPeer.answer(batch))
            }
            let test = try RelayRoundUnderTest(peer.server.url)
            test.round.send(try WakeUp.numbered(5..<8))
            test.round.flush(isFinal: true)
            let settled = try await test.settled(3)
            #expect(settled.map(\.reference).sorted() == [5, 6, 7], "cut at \(place)")
            for wakeUp in settled {
                #expect(wakeUp.delivery == (wakeUp.reference == 7 ? .gone : .accepted))
            }
            // Only what had no line was sent twice.
            let first = whole.prefix(place).count { $0 == 0x0A }
            let sent = peer.requests.value.map(\.batch.tokens.count)
            // None, to ask whether the relay works again, and then one of them alone.
            let again = [[], [0, 1], [0, 1, 1], [0, 1, 2]][3 - min(first, 3)]
            #expect(sent == [3] + again, "cut at \(place)")
            #expect(peer.requests.value.allSatisfy { $0.fault == nil })
            peer.stop()
        }
    }

    @Test("a line is a delivery as soon as it is there")
    func streamed() async throws {
        let gate = Gate()
        let peer = try RelayPeer { _, batch in
            .held(RelayPeer.answer(batch), until: gate)
        }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<20))
        test.round.flush(isFinal: true)
        let first = try await test.settled(1)
        #expect(first == [WakeUpResult(reference: 0, delivery: .accepted)])
        #expect(test.round.quiesce() == 19)
        gate.open()
        expectWhole(try await test.settled(20), 20)
        peer.stop()
    }

    static let lies: [[UInt8]] = [
        RelayLine.delivery(wake: 0, .gone).text, RelayLine.delivery(wake: 10, .gone).text,
        RelayLine.delivery(wake: 1_000_000, .gone).text, RelayLine.done(11).text,
        RelayLine.stopped(.fcm, .misconfigured).text, Array("<html>gone</html>\n".utf8),
        [UInt8](repeating: 0x61, count: 5000), Array(#"{"wake":3,"delivery":"gone"#.utf8) + [0x0A],
    ]

    @Test(
        "after a line that does not belong to the request nothing of the answer deletes",
        arguments: lies)
    func lie(_ lie: [UInt8]) async throws {
        let peer = try RelayPeer { number, batch in
            guard number == 1 else { return .lines(RelayPeer.answer(batch)) }
            let all = batch.tokens.indices.dropFirst().map {
                RelayLine.delivery(wake: $0, .gone).text
            }
            return .lines([RelayLine.delivery(wake: 0, .accepted).text, lie] + all)
        }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<10))
        test.round.flush(isFinal: true)
        expectWhole(try await test.settled(10), 10)
        #expect(peer.requests.value.map(\.batch.tokens.count) == [10, 0, 1, 8])
        peer.stop()
    }

    @Test("a relay that says of all that they are gone is passed on as it says: the brake decides")
    func goneForAll() async throws {
        let peer = try RelayPeer { _, batch in
            .lines(
                batch.tokens.indices.map { RelayLine.delivery(wake: $0, .gone).text }
                    + [RelayLine.done(batch.tokens.count).text])
        }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<1500))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(1500)
        #expect(settled.count == 1500 && settled.allSatisfy { $0.delivery == .gone })
        #expect(Set(settled.map(\.reference)).count == 1500)
        peer.stop()
    }

    @Test("a relay that is not there is waited for, and told by its name")
    func dead() async throws {
        let place = try WireServer.reservedPort()
        let test = try RelayRoundUnderTest(place.url)
        test.round.send(try WakeUp.numbered(0..<100))
        test.round.flush(isFinal: true)
        let delay = try await test.reports.first { reports -> GatewayFailure? in
            for case .delayed(let failure?) in reports { return failure }
            return nil
        }
        #expect(delay == .unavailable(.relayUnreachable, .apns))
        let isSettled = test.reports.value.contains {
            if case .completed = $0 { true } else { false }
        }
        #expect(!isSettled && test.failure == nil)
    }

    @Test("a relay that comes back within the minute is used")
    func comesBack() async throws {
        let peer = try RelayPeer { _, batch in .lines(RelayPeer.answer(batch)) }
        peer.stop()
        let test = try RelayRoundUnderTest(peer.server.url, runs: false)
        test.round.send(try WakeUp.numbered(0..<100))
        test.round.flush(isFinal: true)
        _ = try await test.reports.first { reports in
            reports.contains { if case .retried = $0 { true } else { false } } ? true : nil
        }
        try peer.server.admit()
        test.run()
        expectWhole(try await test.settled(100), 100)
        peer.stop()
    }

    static let refusals: [(Int, String, RelayFault)] = [
        (403, "installation_unknown", .notAllowed), (404, "not_found", .noRelay),
        (401, "signature_wrong", .signatureRefused),
        (401, "signature_malformed", .signatureRefused), (403, "", .requestRefused(status: 403)),
        (400, "relay_batch_malformed", .requestRefused(status: 400)),
        (413, "relay_batch_too_large", .requestRefused(status: 413)),
        (302, "", .requestRefused(status: 302)), (204, "", .requestRefused(status: 204)),
    ]

    @Test("a refusal that stays stops the gateway, and nothing is settled", arguments: refusals)
    func refused(_ status: Int, _ code: String, _ fault: RelayFault) async throws {
        let peer = try RelayPeer { _, _ in
            status == 204
                ? .raw("HTTP/1.1 204 X\r\n\r\n") : .refusal(status, code: code)
        }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<100))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(1)
        #expect(settled.isEmpty)
        #expect(test.failure == .misconfigured(.relay(fault, .apns)))
        #expect(peer.requests.value.count == 1)
        peer.stop()
    }

    static let passing: [RelayPeer.Reply] = [
        .refusal(429, code: "relay_busy", fields: "Retry-After: 2\r\n"),
        .refusal(503, code: "overloaded", fields: "Retry-After: 1\r\n"),
        .refusal(500, code: ""), .refusal(502, code: ""),
        .refusal(401, code: "signature_replayed"), .refusal(401, code: "signature_stale"),
        .hangUp, .raw("HTTP/1.1 2"), .raw("garbage\r\n\r\n"), .raw("HTTP/1.1 200 OK\r\n\r\nhello"),
    ]

    @Test("a refusal that passes is waited for, and nothing is lost", arguments: passing)
    func passes(_ reply: RelayPeer.Reply) async throws {
        let peer = try RelayPeer { number, batch in
            // What may have arrived is repeated once.
            number == 1 ? reply : .lines(RelayPeer.answer(batch))
        }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<50))
        test.round.flush(isFinal: true)
        expectWhole(try await test.settled(50), 50)
        // Every try is signed anew.
        #expect(peer.requests.value.count >= 2)
        #expect(peer.requests.value.allSatisfy { $0.fault == nil })
        peer.stop()
    }

    @Test("a clock that is wrong is said with the difference", arguments: [-3600, 3600])
    func stale(_ offset: Int64) async throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date())
        let peer = try RelayPeer { _, _ in
            .refusal(401, code: "signature_stale", fields: "Date: \(date)\r\n")
        }
        let test = try RelayRoundUnderTest(peer.server.url, wallOffset: offset)
        test.round.send(try WakeUp.numbered(0..<5))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(1).isEmpty)
        #expect(peer.requests.value.map(\.fault) == [.stale])
        guard case .misconfigured(.relay(.clock(let difference?), .apns)) = test.failure else {
            Issue.record("another failure")
            return
        }
        // The date in the answer is that of the test's start.
        #expect(abs(Int64(difference) + offset) <= 60)
        let message = try #require(test.failure).message
        let words = offset < 0 ? "seconds ahead of this machine's" : "seconds behind this machine's"
        #expect(message.contains(words))
        peer.stop()
    }

    @Test("a round that is stopped reports nothing more, and one that is let go ends its requests")
    func stopped() async throws {
        let gate = Gate()
        let peer = try RelayPeer { _, batch in .held(RelayPeer.answer(batch), until: gate) }
        let test = try RelayRoundUnderTest(peer.server.url)
        test.round.send(try WakeUp.numbered(0..<20))
        test.round.flush(isFinal: true)
        _ = try await test.settled(1)
        test.round.cancel()
        gate.open()
        #expect(test.round.quiesce() == 0)
        test.round.send(try WakeUp.numbered(20..<30))
        test.round.tick()
        #expect(RelayRoundUnderTest.settled(test.reports.value).count == 1)
        #expect(peer.requests.value.count == 1)
        peer.stop()
    }
}
