import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite(
    "What the mock of FCM is told", .enabled(if: OpenSSLCommand.isInstalled),
    .timeLimit(.minutes(2)))
struct MockFCMFaultTests {
    @Test("path, method, project, type and access token are checked before the message")
    func heads() async throws {
        let mock = try await MockFCM(isPlain: true)
        let token = try MockFCMTests.accessToken(mock)
        let good = MockFCMTests.send(token)
        var calls = [
            good.with("Authorization", nil), good.with("Authorization", "Basic \(token)"),
            good.with("Authorization", "Bearer x"), good.with("Content-Type", "text/plain"),
        ]
        for path in ["/v1/projects/other/messages:send", "/v1/messages:send"] {
            var call = good
            call.path = path
            calls.append(call)
        }
        var get = good
        get.method = "GET"
        calls.append(get)
        let statuses = try calls.map { try $0.answer(from: mock.port).status }
        #expect(statuses == [401, 401, 401, 400, 403, 404, 404])
        let report = try await mock.report()
        #expect(
            report.refusals == [
                "authorization-missing": 1, "authorization": 1, "access-token-unknown": 1,
                "content-type": 1, "project": 1, "path": 1, "method": 1,
            ])
    }

    static let answers: [(String, Int, [String])] = [
        ("404:UNREGISTERED", 404, ["NOT_FOUND", "FcmError", "UNREGISTERED"]),
        ("400:INVALID_ARGUMENT", 400, ["FcmError", "INVALID_ARGUMENT"]),
        ("400:BAD_REQUEST", 400, ["BadRequest", "message.android.ttl"]),
        ("400:BAD_TOKEN", 400, ["FcmError", "BadRequest", "message.token"]),
        ("403:SENDER_ID_MISMATCH", 403, ["PERMISSION_DENIED", "SENDER_ID_MISMATCH"]),
        ("401:THIRD_PARTY_AUTH_ERROR", 401, ["UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"]),
        ("401:UNAUTHENTICATED", 401, ["UNAUTHENTICATED"]),
        ("429:QUOTA_EXCEEDED:60", 429, ["RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"]),
        ("500:INTERNAL", 500, ["INTERNAL"]), ("503:UNAVAILABLE:7", 503, ["UNAVAILABLE"]),
    ]

    @Test("every answer of FCM can be had, as it is documented", arguments: answers)
    func told(_ flag: String, _ status: Int, _ parts: [String]) async throws {
        let mock = try await MockFCM(["--answer", "2:\(flag)"], isPlain: true)
        let token = try MockFCMTests.accessToken(mock)
        let call = MockFCMTests.send(token)
        #expect(try call.answer(from: mock.port).status == 200)
        let answer = try call.answer(from: mock.port)
        #expect(answer.status == status)
        for part in parts { #expect(answer.text.contains(part)) }
        let seconds = flag.split(separator: ":").dropFirst(2).first.map(String.init)
        #expect(answer["Retry-After"] == seconds)
        let reason = FCMReason(body: answer.body.span)
        #expect((reason == nil) == (flag == "401:UNAUTHENTICATED"))
        let report = try await mock.report()
        #expect(report.faults == ["\(status)": 1])
        #expect(report.delivered == 1)
    }

    @Test("whoever comes back before Retry-After is over is counted")
    func tooSoon() async throws {
        let mock = try await MockFCM(
            ["--answer-first", "1:503:UNAVAILABLE:60"], isPlain: true)
        let call = MockFCMTests.send(try MockFCMTests.accessToken(mock))
        #expect(try call.answer(from: mock.port).status == 503)
        #expect(try call.answer(from: mock.port).status == 200)
        #expect(try await mock.report().violations == ["sooner than Retry-After": 1])
    }

    @Test("access tokens end with their time, and when they are revoked")
    func ends() async throws {
        let short = try await MockFCM(["--token-lifetime", "0"], isPlain: true)
        let old = MockFCMTests.send(try MockFCMTests.accessToken(short))
        #expect(try old.answer(from: short.port).status == 401)
        #expect(try await short.report().refusals == ["access-token-expired": 1])
        let mock = try await MockFCM(["--revoke-every", "2"], isPlain: true)
        let call = MockFCMTests.send(try MockFCMTests.accessToken(mock))
        let statuses = try (0..<3).map { _ in try call.answer(from: mock.port).status }
        #expect(statuses == [200, 401, 401])
        let next = MockFCMTests.send(try MockFCMTests.accessToken(mock))
        #expect(try next.answer(from: mock.port).status == 200)
        let report = try await mock.report()
        #expect(report.refusals == ["access-token-revoked": 1])
        #expect(report.faults == ["revoked": 1])
        #expect(report.issued == 2)
    }

    @Test("exchanges fail as told, and those at once are counted")
    func exchanges() async throws {
        let mock = try await MockFCM(
            [
                "--token-answer-first", "1:400:invalid_grant", "--token-answer", "2:503::9",
                "--token-latency", "500",
            ], isPlain: true)
        let call = MockFCMTests.exchange(try MockFCMTests.assertion(mock))
        let first = try MockFCMTests.exchanged(call, mock)
        #expect(first.status == 400 && first.member("error") == "invalid_grant")
        let second = try MockFCMTests.exchanged(call, mock)
        #expect(second.status == 503 && second["Retry-After"] == "9")
        var both = call
        both.host = "127.0.0.1:\(mock.tokenPort)"
        let clients = try (0..<2).map { _ in try LoopbackClient(port: UInt16(mock.tokenPort)) }
        for client in clients { try client.send(both.bytes) }
        // Either may be the first to be read.
        let statuses = try clients.map { try $0.receiveResponse().status }
        #expect(statuses.sorted() == [200, 503])
        let report = try await mock.report()
        #expect(report.faults == ["token 400": 1, "token 503": 2])
        #expect(report.mostExchanges == 2)
        #expect((report.exchanges, report.issued, report.assertions) == (4, 1, 1))
    }
}
