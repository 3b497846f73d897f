import Foundation
import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite(
    "Web Push gateway",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .timeLimit(.minutes(5)))
struct WebPushGatewayTests {
    private static let strict = [
        "--urgency", "normal", "--topic", "wake", "--lifetime", "7200", "--subject",
        "mailto:push@example.org",
    ]

    @Test(
        "requests are field by field as documented, over HTTP/2 and HTTP/1.1",
        arguments: [[], ["--without-h2", "yes"]])
    func fields(_ flags: [String]) async throws {
        let mock = try await MockWebPush(Self.strict + ["--body", "empty"] + flags)
        let test = try WebPushSessionUnderTest(mock)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<300, hosts: 3))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(300)
        #expect(settled.values.allSatisfy { $0 == .accepted } && test.failure == nil)
        let report = try await mock.report()
        #expect(report.requests == 300 && report.distinct == 300 && report.refusals.isEmpty)
        #expect(report.violations.isEmpty)
        let expected: Set<String> = [
            "ttl", "urgency", "topic", "authorization", "user-agent", "accept", "content-length",
        ]
        #expect(Set(report.fields.keys).subtracting(["host", ":authority"]) == expected)
        for name in expected { #expect(report.fields[name] == 300) }
        for host in report.hosts.values {
            #expect(host.credentials == 1 && host.endpoints == 100 && host.mostAtOnce <= 16)
        }
    }

    @Test("with body = byte one byte is sent, as a plain sequence of bytes")
    func byte() async throws {
        let mock = try await MockWebPush(Self.strict + ["--body", "byte"])
        let test = try WebPushSessionUnderTest(mock, ["body": "byte"])
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<20))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(20).values.allSatisfy { $0 == .accepted })
        let report = try await mock.report()
        #expect(report.refusals.isEmpty && report.fields["content-type"] == 20)
        #expect(report.fields["content-encoding"] == nil)
    }

    @Test("a subscription with keys gets an encrypted body, others none")
    func encrypted() async throws {
        let mock = try await MockWebPush(Self.strict + ["--body", "any"])
        let test = try WebPushSessionUnderTest(mock)
        let point = try #require(try P256Key.ephemeral().publicPoint())
        let keys = try SubscriptionKeys(
            p256dh: Base64URL.encode(point.span).span,
            auth: Base64URL.encode([UInt8](repeating: 7, count: 16).span).span)
        let keyed = try (0..<10).map { number in
            WakeUp(
                reference: number,
                token: try PushToken(
                    endpoint: Array(MockWebPush.endpoint(number, host: 0).utf8).span, keys: keys))
        }
        test.round.send(keyed + (try WebPushSessionUnderTest.wakeUps(10..<20)))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(20).values.allSatisfy { $0 == .accepted })
        let report = try await mock.report()
        #expect(report.refusals.isEmpty && report.fields["content-encoding"] == 10)
        #expect(report.fields["content-type"] == 10)
    }

    @Test("push services of browsers get an empty body in any case")
    func browsers() throws {
        let request = WebPushRequest(lifetime: 60, body: .byte)
        for (host, body) in [
            ("fcm.googleapis.com", nil), ("updates.push.services.mozilla.com", nil),
            ("web.push.apple.com", nil), ("ntfy.sh", [0x31]), ("up.example.org", [0x31]),
        ] as [(String, [UInt8]?)] {
            let token = try PushToken(service: .webPush, bytes: Array("https://\(host)/x".utf8))
            let fetch = try request.fetch(
                token, host: Array(host.utf8), authorization: SecretBytes([0x61]),
                addresses: [WebPushWorld.address])
            #expect(fetch.body == body && fetch.pin?.port == 443 && fetch.allowsHTTP2)
        }
    }

    @Test("answers of real services mean what the table says, and nothing else is deleted")
    func answers() async throws {
        let told = [
            (404, Delivery.invalid), (410, .invalid), (400, .retry(.unknownRefusal)),
            (401, .retry(.unknownRefusal)), (403, .retry(.unknownRefusal)),
            (413, .retry(.unknownRefusal)), (302, .retry(.unknownRefusal)),
            (307, .retry(.unknownRefusal)),
        ]
        let flags = told.indices.flatMap { index in
            ["--answer-to", "\(MockWebPush.endpoint(900 + index, host: 0))=\(told[index].0)"]
        }
        let mock = try await MockWebPush(flags)
        let test = try WebPushSessionUnderTest(mock)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<50))
        test.round.send(try WebPushSessionUnderTest.wakeUps(900..<900 + told.count))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(50 + told.count)
        for number in 0..<50 { #expect(settled[number] == .accepted) }
        for (index, row) in told.enumerated() {
            #expect(settled[900 + index] == row.1, "\(row.0)")
        }
        let report = try await mock.report()
        #expect(report.redirects == 2 && report.redirectsFollowed == 0)
    }

    @Test("429 with Retry-After is heeded for its endpoint, and nothing is lost")
    func throttled() async throws {
        let mock = try await MockWebPush(["--throttle", "10:1"])
        let test = try WebPushSessionUnderTest(mock)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<40))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(40).values.allSatisfy { $0 == .accepted })
        let report = try await mock.report()
        #expect(report.faults["429"] == 4 && report.distinct == 40 && report.requests == 44)
        #expect(report.violations.isEmpty)
    }

    // Waited for, the endless ones end after 200 s.
    @Test("what a service says beside its status is not waited for", .timeLimit(.minutes(3)))
    func longAnswers() async throws {
        let mock = try await MockWebPush(["--oversized-every", "4", "--endless-every", "7"])
        let test = try WebPushSessionUnderTest(mock)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<60, hosts: 4))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(60).values.allSatisfy { $0 == .accepted })
    }

    @Test("another key than the one apps subscribed with deletes nothing and is told")
    func otherKey() async throws {
        let mock = try await MockWebPush()
        let other = try SigningKeyPair()
        let test = try WebPushSessionUnderTest(mock, ["key": other.privatePath])
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<10, hosts: 3))
        test.round.flush(isFinal: true)
        _ = try await test.settled(10)
        guard case .misconfigured(.webPush(.keyRefused)) = test.failure else {
            Issue.record("failed as \(String(describing: test.failure))")
            return
        }
    }

    @Test("a certificate that is not trusted gets nothing but a handshake")
    func untrusted() async throws {
        let mock = try await MockWebPush()
        let foreign = try TestAuthority()
        let test = try WebPushSessionUnderTest(mock, ["ca": foreign.certificate])
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<1))
        test.round.flush(isFinal: true)
        _ = try await test.settled(1)
        #expect(test.failure == .misconfigured(.webPush(.untrusted)))
        #expect(try await mock.report().requests == 0)
    }

    @Test("a stopped round reports nothing more; a landed one takes what is on its way")
    func ending() async throws {
        let mock = try await MockWebPush(["--latency", "3000"])
        let landed = try WebPushSessionUnderTest(mock)
        landed.round.send(try WebPushSessionUnderTest.wakeUps(0..<100))
        let count = landed.round.quiesce()
        #expect(count > 0 && count <= 4)
        let settled = try await landed.settled(count)
        #expect(settled.count == count && settled.values.allSatisfy { $0 == .accepted })
        #expect(landed.round.quiesce() == 0)

        let stopped = try WebPushSessionUnderTest(mock)
        stopped.round.send(try WebPushSessionUnderTest.wakeUps(100..<200))
        stopped.round.cancel()
        #expect(stopped.round.quiesce() == 0)
        let reports = stopped.reports.value.count
        let another = try WebPushSessionUnderTest(mock)
        another.round.send(try WebPushSessionUnderTest.wakeUps(200..<201))
        _ = try await another.settled(1)
        #expect(stopped.reports.value.count == reports)
    }

    @Test("the gateway admits what its rules name")
    func admits() async throws {
        let mock = try await MockWebPush()
        let gateway = try WebPushSessionUnderTest(mock, ["hosts": "*.push.example"]).gateway
        let good = try PushToken(service: .webPush, bytes: Array("https://h.push.example/".utf8))
        let bad = try PushToken(service: .webPush, bytes: Array("https://push.example/".utf8))
        #expect(gateway.refusal(of: good) == nil && gateway.refusal(of: bad) == .hostNotAllowed)
        #expect(gateway.publicKey == mock.publicKey && gateway.service == .webPush)
    }
}
