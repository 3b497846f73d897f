import Synchronization
import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("The relay, asked", .timeLimit(.minutes(5)))
struct RelayRouteTests {
    private static let last = #"{"done":3}"#

    @Test("says of every wake-up what became of it, and ends with their number")
    func deliveries() async throws {
        let gateway = SessionGateway { wakeUp in
            switch wakeUp.reference % 3 {
            case 0: .accepted
            case 1: .gone
            default: .retry(.throttled)
            }
        }
        try await RelayUnderTest.run([gateway]) { relay in
            let answer = try relay.send(relay.wire(relay.tokens(1_000)))
            #expect(answer.status == 200)
            #expect(answer.lines.count == 1_001)
            #expect(answer.lines.last == #"{"done":1000}"#)
            #expect(Set(answer.lines).count == 1_001)
            let parsed = answer.lines.compactMap { RelayLine(Array($0.utf8)) }
            #expect(parsed.count == 1_001)
            #expect(relay.counters.counts.accepted > 300)
            let sum =
                relay.counters.counts.accepted
                + relay.counters.counts.gone
                + relay.counters.counts.retried
            #expect(sum == 1_000)
        }
    }

    @Test("streams what it knows while the rest is on its way")
    func streaming() async throws {
        let gateway = SessionGateway { _ in nil }
        try await RelayUnderTest.run([gateway]) { relay in
            let client = try LoopbackClient(port: relay.port)
            try client.send(relay.wire(relay.tokens(3)))
            let round = try await gateway.round(0)
            _ = try await round.waiting.first { $0.count == 3 ? true : nil }
            _ = try client.receive(through: "\r\n\r\n")
            round.settle(1, .accepted)
            #expect(
                String(decoding: try client.receiveChunk(), as: UTF8.self)
                    == "{\"wake\":0,\"delivery\":\"accepted\"}\n")
            round.settle(1, .gone)
            #expect(
                String(decoding: try client.receiveChunk(), as: UTF8.self)
                    == "{\"wake\":1,\"delivery\":\"gone\"}\n")
            round.settle(1, .retry(.serviceFault))
            #expect(
                String(decoding: try client.receiveChunks(), as: UTF8.self)
                    == "{\"wake\":2,\"delivery\":\"retry\",\"cause\":\"service-fault\"}\n"
                    + Self.last + "\n")
            // The connection goes on.
            try client.send(relay.wire(relay.tokens(1)))
            _ = try await round.waiting.first { $0.count == 1 ? true : nil }
            round.settle(1, .accepted)
            #expect(try RelayUnderTest.Answer(from: client).lines.count == 2)
        }
    }

    @Test("sends each push token to its own push service, and says which there is none for")
    func services() async throws {
        let (apns, fcm) = (SessionGateway(.apns), SessionGateway(.fcm))
        try await RelayUnderTest.run([apns, fcm]) { relay in
            let tokens =
                try relay.tokens(1, .fcm) + relay.tokens(2, .apnsSandbox) + relay.tokens(2, .apns)
            let answer = try relay.send(relay.wire(tokens))
            #expect(
                answer.lines.sorted() == [
                    #"{"done":5}"#,
                    #"{"service":"apns-sandbox","stopped":"misconfigured","cause":"service-off"}"#,
                    #"{"wake":0,"delivery":"accepted"}"#, #"{"wake":3,"delivery":"accepted"}"#,
                    #"{"wake":4,"delivery":"accepted"}"#,
                ])
            #expect(apns.seen.value.rounds.count == 1)
            #expect(fcm.seen.value.rounds.count == 1)
        }
    }

    @Test("knows only whom the file names, and says the same of the revoked and the unknown")
    func revoked() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            let tokens = try relay.tokens(3)
            #expect(try relay.send(relay.wire(tokens)).lines.last == Self.last)
            let unknown = try relay.send(relay.wire(tokens, by: relay.stranger))
            #expect(unknown.status == 403)
            #expect(unknown.code == "installation_unknown")
            try relay.revoke("one")
            #expect(try relay.send(relay.wire(tokens)) == unknown)
            try relay.allow("two", relay.stranger)
            #expect(
                try relay.send(relay.wire(tokens, by: relay.stranger)).lines.last == Self.last)
            try relay.allow("three", relay.key)
            #expect(try relay.send(relay.wire(tokens)).lines.last == Self.last)
            #expect(relay.counters.refusals[.installationUnknown] == 2)
        }
    }

    @Test("refuses bodies that are no batch, and says why in a code")
    func bodies() async throws {
        let hex = String(repeating: "5a", count: 32)
        let wake = #"{"service":"apns","token":"\#(hex)"}"#
        let many = [String](repeating: wake, count: 1_001).joined(separator: ",")
        let cases: [(String, Int, String)] = [
            ("", 400, "body_malformed"), ("[]", 400, "body_malformed"),
            (#"{"lifetime":-1,"wakes":[\#(wake)]}"#, 400, "relay_batch_malformed"),
            (#"{"wakes":[\#(wake)]}"#, 400, "member_missing"),
            (#"{"lifetime":1,"wakes":[\#(wake)],"name":1}"#, 400, "member_unknown"),
            (
                #"{"lifetime":1,"wakes":[{"service":"webpush","token":"x"}]}"#, 400,
                "service_unknown"
            ),
            (
                #"{"lifetime":1,"wakes":[\#(wake),{"service":"apns","token":"5a"}]}"#, 400,
                "push_token_malformed"
            ),
            (
                #"{"lifetime":1,"wakes":[\#(many)]}"#,
                413, "relay_batch_too_large"
            ),
        ]
        let gateway = SessionGateway()
        try await RelayUnderTest.run([gateway]) { relay in
            for (body, status, code) in cases {
                let answer = try relay.send(relay.wire(Array(body.utf8)))
                #expect(answer.status == status && answer.code == code, "\(code)")
            }
            #expect(gateway.seen.value.rounds.isEmpty)
            // Refused requests are no longer in work: all places are free.
            #expect(try relay.send(relay.wire(relay.tokens(3))).lines.last == Self.last)
            let long = [UInt8](repeating: 0x20, count: RelayRequest.maximumBytes + 1)
            #expect(try relay.send(relay.wire(long)).status == 413)
        }
    }

    @Test("knows POST alone")
    func methods() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            let client = try LoopbackClient(port: relay.port)
            try client.send("GET \(RelayUnderTest.path) HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = try client.receiveResponse()
            #expect(answer.status == 405)
            #expect(answer["Allow"] == "POST")
        }
    }
}
