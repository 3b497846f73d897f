import Synchronization
import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("The relay, asked by somebody else or twice", .timeLimit(.minutes(5)))
struct RelaySignatureRouteTests {
    @Test(
        "a request is of its time", arguments: [(-61, false), (-60, true), (5, true), (6, false)])
    func time(offset: Int, isFresh: Bool) async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            relay.clock.advance(seconds: 120)
            let body = try RelayBatch(lifetime: 1, tokens: relay.tokens(1)).body()
            let created = relay.clock.wall.withLock { $0 + offset }
            let answer = try relay.send(relay.wire(body, created: created))
            #expect(answer.status == (isFresh ? 200 : 401))
            #expect(answer.code == (isFresh ? nil : "signature_stale"))
        }
    }

    @Test("every byte of the body and of every signed field counts")
    func altered() async throws {
        let gateway = SessionGateway()
        try await RelayUnderTest.run([gateway]) { relay in
            let body = try RelayBatch(lifetime: 1, tokens: relay.tokens(1)).body()
            let head = relay.wire(body).count - body.count
            let client = try LoopbackClient(port: relay.port)
            var codes: [String: Int] = [:]
            // Each time another request, so that only the change can be why it is refused.
            for place in 0..<(head + body.count) {
                var wire = relay.wire(body)
                wire[place] ^= 1
                if place < head {
                    // Of the head, those bytes that are of a signed field's value.
                    guard isSigned(place, in: wire) else { continue }
                    let answer = try relay.send(wire)
                    #expect((400..<404).contains(answer.status), "\(place)")
                    codes[answer.code ?? "", default: 0] += 1
                } else {
                    try client.send(wire)
                    let answer = try RelayUnderTest.Answer(from: client)
                    #expect(answer.status == 401 && answer.code == "signature_wrong", "\(place)")
                    codes[answer.code ?? "", default: 0] += 1
                }
            }
            #expect(gateway.seen.value.rounds.isEmpty)
            #expect(codes["signature_wrong", default: 0] > body.count)
            #expect(codes["signature_malformed", default: 0] > 0)
            #expect(codes["installation_unknown", default: 0] > 30)
            #expect(try relay.send(relay.wire(body)).status == 200)
        }
    }

    /// Whether a byte belongs to the value of a field that the signature is about or in.
    private func isSigned(_ place: Int, in wire: [UInt8]) -> Bool {
        let before = String(decoding: wire[..<place], as: UTF8.self)
        let line = before.split(separator: "\r\n", omittingEmptySubsequences: false).last ?? ""
        let names = ["Host: ", "Content-Type: ", "Content-Digest: ", "Signature"]
        guard line.contains(": "), names.contains(where: { line.hasPrefix($0) }) else {
            return false
        }
        // The end of the line would make another request of it.
        return wire[place] != 0x0C && wire[place] != 0x0B
    }

    @Test("a signature for another relay, or by another key, is none for this one")
    func elsewhere() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            let body = try RelayBatch(lifetime: 1, tokens: relay.tokens(1)).body()
            #expect(
                try relay.send(relay.wire(body, host: "other.example")).code == "signature_wrong")
            let request = RelayRequest(
                body: body.span, authority: Array("other.example".utf8), key: relay.key,
                created: relay.clock.wall.withLock { $0 }, nonce: .random())
            var head = "POST \(RelayUnderTest.path) HTTP/1.1\r\nHost: wake.example.org\r\n"
            for field in request.fields {
                head += "\(field.name): \(String(decoding: field.value, as: UTF8.self))\r\n"
            }
            head += "Content-Length: \(body.count)\r\n\r\n"
            #expect(try relay.send(Array(head.utf8) + body).code == "signature_wrong")
        }
    }

    @Test("fields that are missing or come twice are said as such")
    func fields() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            let body = try RelayBatch(lifetime: 1, tokens: relay.tokens(1)).body()
            let lines = String(decoding: relay.wire(body), as: UTF8.self)
                .split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
            for (name, missing, twice) in [
                ("Signature-Input", "signature_missing", "signature_malformed"),
                ("Signature:", "signature_missing", "signature_malformed"),
                ("Content-Digest", "signature_malformed", "signature_malformed"),
                ("Content-Type", "signature_malformed", "signature_malformed"),
            ] {
                let without = lines.filter { !$0.hasPrefix(name) }.joined(separator: "\r\n")
                #expect(try relay.send(Array(without.utf8)).code == missing)
                let doubled = lines.flatMap { $0.hasPrefix(name) ? [$0, $0] : [$0] }
                #expect(
                    try relay.send(Array(doubled.joined(separator: "\r\n").utf8)).code == twice)
            }
        }
    }

    @Test("a stranger is refused before the body of a large batch is read")
    func largeFromStranger() async throws {
        try await RelayUnderTest.run([SessionGateway()]) { relay in
            let wire = try relay.wire(relay.tokens(1_000), by: relay.stranger)
            let client = try LoopbackClient(port: relay.port)
            let end = try #require(wire.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
            try client.send(Array(wire[..<end]))
            #expect(try RelayUnderTest.Answer(from: client).code == "installation_unknown")
        }
    }
}
