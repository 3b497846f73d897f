import Synchronization
import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("The relay's limits and failures", .timeLimit(.minutes(5)))
struct RelayLimitTests {
    @Test("wake-ups beyond the budget are refused with the time to wait, for each by itself")
    func budget() async throws {
        try await RelayUnderTest.run([SessionGateway()], perMinute: 2_000) { relay in
            try relay.allow("two", relay.stranger)
            for _ in 0..<2 {
                #expect(try relay.send(relay.wire(relay.tokens(1_000))).status == 200)
            }
            let refused = try relay.send(relay.wire(relay.tokens(1_000)))
            #expect(refused.status == 429 && refused.code == "relay_busy")
            #expect(refused.retryAfter == 30)
            #expect(
                try relay.send(relay.wire(relay.tokens(1_000), by: relay.stranger)).status == 200)
            relay.clock.advance(seconds: 30)
            #expect(try relay.send(relay.wire(relay.tokens(1_000))).status == 200)
            #expect(relay.counters.refusals[.relayBusy] == 1)
        }
    }

    @Test(
        "four requests of one installation are in work at once, and a client that leaves frees one")
    func atOnce() async throws {
        let gateway = SessionGateway { _ in nil }
        try await RelayUnderTest.run([gateway]) { relay in
            var clients: [LoopbackClient] = []
            for count in 1...4 {
                let client = try LoopbackClient(port: relay.port)
                try client.send(relay.wire(relay.tokens(10)))
                let round = try await gateway.round(0)
                _ = try await round.waiting.first { $0.count == count * 10 ? true : nil }
                clients.append(client)
            }
            let refused = try relay.send(relay.wire(relay.tokens(1)))
            #expect(refused.status == 429 && refused.retryAfter == 1)
            let round = try await gateway.round(0)
            clients.removeFirst()
            // Asked again until the end of the connection was noticed.
            let client = try LoopbackClient(port: relay.port)
            while true {
                try Task.checkCancellation()
                try client.send(relay.wire(relay.tokens(1)))
                let head = try client.receive(through: "\r\n\r\n")
                if head.contains("chunked") { break }
                let response = try #require(WireResponse(head: head))
                let count = response["Content-Length"].flatMap { Int($0) } ?? 0
                _ = try client.receive(exactly: count)
            }
            // The response begins before its wake-up is sent.
            _ = try await round.waiting.first { $0.count == 41 ? true : nil }
            // The outcomes for the client that left reach no client; the others get theirs.
            round.settle(41, .gone)
            for client in clients {
                #expect(try RelayUnderTest.Answer(from: client).lines.count == 11)
            }
            #expect(
                String(decoding: try client.receiveChunks(), as: UTF8.self)
                    == "{\"wake\":0,\"delivery\":\"gone\"}\n{\"done\":1}\n")
            #expect(relay.counters.counts.gone == 31)
        }
    }

    @Test("clients that hang up do not pile up wake-ups without end")
    func abandoned() async throws {
        let gateway = SessionGateway { _ in nil }
        try await RelayUnderTest.run([gateway], perMinute: 1_000_000) { relay in
            let tokens = try relay.tokens(1_000)
            let most = Limits.relayWakeUps / tokens.count
            var taken = 0
            var refusal: String?
            while taken < most + 5, refusal == nil {
                try Task.checkCancellation()
                let client = try LoopbackClient(port: relay.port)
                try client.send(relay.wire(tokens))
                let head = try client.receive(through: "\r\n\r\n")
                if head.contains("chunked") {
                    taken += 1
                } else if !head.contains("Retry-After: 1\r\n") {
                    // One second is asked for while an end was not noticed yet.
                    refusal = head
                }
            }
            #expect(taken == most)
            #expect(refusal?.contains(" 429 ") == true)
            #expect(refusal?.contains("Retry-After: 5\r\n") == true)
            let round = try await gateway.round(0)
            round.settle(Limits.relayWakeUps, .accepted)
            let client = try LoopbackClient(port: relay.port)
            try client.send(relay.wire(relay.tokens(1)))
            _ = try await round.waiting.first { $0.count == 1 ? true : nil }
            round.settle(1, .accepted)
            #expect(try RelayUnderTest.Answer(from: client).lines.count == 2)
        }
    }

    @Test("large bodies of one installation that are slow to come leave room for those of others")
    func slowBodies() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            try relay.allow("two", relay.stranger)
            let large = try relay.tokens(1_000)
            func slow() throws -> (client: LoopbackClient, head: String) {
                let client = try LoopbackClient(port: relay.port)
                let wire = String(decoding: relay.wire(large), as: UTF8.self)
                let head = wire.prefix { $0 != "{" }.dropLast()
                try client.send(Array((head + "Expect: 100-continue\r\n\r\n").utf8))
                return (client, try client.receive(through: "\r\n\r\n"))
            }
            var clients: [LoopbackClient] = []
            for _ in 0..<Limits.relayRequestsEach {
                let (client, head) = try slow()
                #expect(head.contains(" 100 "))
                clients.append(client)
            }
            for _ in 0..<Limits.relayLargeBodies {
                let (_, head) = try slow()
                #expect(head.contains(" 429 ") && head.contains("Retry-After: 1\r\n"))
            }
            #expect(try relay.send(relay.wire(large, by: relay.stranger)).lines.count == 1_001)
            // Small ones take no room.
            #expect(try relay.send(relay.wire(relay.tokens(1))).status == 200)
            clients.removeFirst()
            // Asked again until the end of the connection was noticed.
            while try relay.send(relay.wire(large)).status != 200 { try Task.checkCancellation() }
            for _ in 0..<20 { #expect(try relay.send(relay.wire(large)).status == 200) }
        }
    }

    @Test("what is unsettled after five minutes is left for another round")
    func deadline() async throws {
        let gateway = SessionGateway { _ in nil }
        try await RelayUnderTest.run([gateway]) { relay in
            let client = try LoopbackClient(port: relay.port)
            try client.send(relay.wire(relay.tokens(2)))
            let round = try await gateway.round(0)
            _ = try await round.waiting.first { $0.count == 2 ? true : nil }
            _ = try client.receive(through: "\r\n\r\n")
            round.settle(1, .accepted)
            _ = try client.receiveChunk()
            relay.clock.advance(seconds: 301)
            #expect(
                String(decoding: try client.receiveChunks(), as: UTF8.self)
                    == #"{"wake":1,"delivery":"retry","cause":"connection-fault"}"#
                    + "\n{\"done\":2}\n")
            // Too late: nobody waits for it.
            round.settle(1, .gone)
            try client.send(relay.wire(relay.tokens(1)))
            _ = try await round.waiting.first { $0.count == 1 ? true : nil }
            round.settle(1, .accepted)
            #expect(try RelayUnderTest.Answer(from: client).lines.count == 2)
        }
    }

    @Test("rounds are shared, one for each step of lifetimes, and replaced before they grow old")
    func rounds() async throws {
        let gateway = SessionGateway()
        try await RelayUnderTest.run([gateway]) { relay in
            for lifetime in [60, 7_200, 3_600, 7_201, 7_200] {
                #expect(
                    try relay.send(relay.wire(relay.tokens(1), lifetime: lifetime)).status == 200)
            }
            #expect(gateway.seen.value.lifetimes == [8_100, 29_700])
            let old = try await gateway.round(0)
            for _ in 0..<4 {
                relay.clock.advance(seconds: 500)
                #expect(try relay.send(relay.wire(relay.tokens(1))).status == 200)
            }
            #expect(gateway.seen.value.lifetimes == [8_100, 29_700, 8_100])
            _ = try await old.isStopped.first { $0 ? true : nil }
            // Without use for ten minutes, nothing stays open.
            let last = try await gateway.round(2)
            relay.clock.advance(seconds: 601)
            _ = try await last.isStopped.first { $0 ? true : nil }
        }
    }

    @Test("a gateway that fails is said to all who wait for it, and tried again only after a pause")
    func failure() async throws {
        let gateway = SessionGateway { _ in nil }
        let failure = GatewayFailure.unavailable(.unreachable, .apns)
        let line = #"{"service":"apns","stopped":"unavailable","cause":"unreachable"}"#
        try await RelayUnderTest.run([gateway]) { relay in
            let clients = try (0..<2).map { _ in
                let client = try LoopbackClient(port: relay.port)
                try client.send(relay.wire(relay.tokens(3)))
                return client
            }
            let round = try await gateway.round(0)
            _ = try await round.waiting.first { $0.count == 6 ? true : nil }
            round.settle(1, .accepted)
            round.fail(failure)
            var lines: [[String]] = []
            for client in clients { lines.append(try RelayUnderTest.Answer(from: client).lines) }
            #expect(
                lines.sorted { $0.count < $1.count } == [
                    [line, #"{"done":3}"#],
                    [#"{"wake":0,"delivery":"accepted"}"#, line, #"{"done":3}"#],
                ])
            for pause in [30, 60, 120] {
                let rounds = gateway.seen.value.rounds.count
                relay.clock.advance(seconds: pause - 1)
                #expect(
                    try relay.send(relay.wire(relay.tokens(1))).lines == [line, #"{"done":1}"#])
                #expect(gateway.seen.value.rounds.count == rounds)
                relay.clock.advance(seconds: 1)
                let client = try LoopbackClient(port: relay.port)
                try client.send(relay.wire(relay.tokens(1)))
                try await gateway.round(rounds).fail(failure)
                #expect(try RelayUnderTest.Answer(from: client).lines == [line, #"{"done":1}"#])
            }
        }
    }

    @Test("a relay that stops says what it knows and completes its answers")
    func stopping() async throws {
        let gateway = SessionGateway { _ in nil }
        var client: LoopbackClient?
        try await RelayUnderTest.run([gateway]) { relay in
            client = try LoopbackClient(port: relay.port)
            try client?.send(relay.wire(relay.tokens(2)))
            let round = try await gateway.round(0)
            _ = try await round.waiting.first { $0.count == 2 ? true : nil }
            round.settle(1, .accepted)
        }
        let lines = try RelayUnderTest.Answer(from: #require(client)).lines
        #expect(
            lines == [
                #"{"wake":0,"delivery":"accepted"}"#,
                #"{"wake":1,"delivery":"retry","cause":"connection-fault"}"#,
                #"{"done":2}"#,
            ])
    }
}
