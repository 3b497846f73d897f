import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite(
    "The mock of FCM", .enabled(if: OpenSSLCommand.isInstalled), .timeLimit(.minutes(2)))
struct MockFCMTests {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    static let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    static let message =
        #"{"message":{"data":{"wake":"1"},"android":{"priority":"NORMAL","ttl":"7200s","#
        + #""collapse_key":"wake"},"token":"abcdefgh:ijk"}}"#

    /// An assertion as Google documents it, signed by `openssl`; claims changed as told.
    static func assertion(
        _ mock: MockFCM, header: String = #"{"alg":"RS256","typ":"JWT","kid":"KID"}"#,
        _ changes: [String: String] = [:]
    ) throws -> String {
        let now = MockToken.now
        var claims = [
            "iss": "\"\(ServiceAccountFile.email)\"", "scope": "\"\(scope)\"",
            "aud": "\"\(mock.tokenURI)\"", "iat": "\(now)", "exp": "\(now + 3600)",
        ]
        claims.merge(changes) { $1 }
        let members = claims.filter { !$0.value.isEmpty }.map { "\"\($0.key)\":\($0.value)" }
        let signed =
            MockToken.part(header.replacing("KID", with: ServiceAccountFile.keyID)) + "."
            + MockToken.part("{\(members.joined(separator: ","))}")
        return signed + "." + MockToken.part(try mock.account.sign(Array(signed.utf8)))
    }

    static func exchange(_ assertion: String) -> MockCall {
        MockCall(
            "/token", [("Content-Type", "application/x-www-form-urlencoded")],
            body: "grant_type=\(grant)&assertion=\(assertion)")
    }

    static func exchanged(_ call: MockCall, _ mock: MockFCM) throws -> WireResponse {
        var call = call
        call.host = "127.0.0.1:\(mock.tokenPort)"
        return try call.answer(from: mock.tokenPort)
    }

    static func accessToken(_ mock: MockFCM) throws -> String {
        let answer = try exchanged(exchange(try assertion(mock)), mock)
        return try #require(answer.member("access_token"))
    }

    static func send(_ token: String, _ body: String = message) -> MockCall {
        MockCall(
            "/v1/projects/\(ServiceAccountFile.project)/messages:send",
            [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
            body: body)
    }

    @Test("an assertion is exchanged for a token, which is good for messages by HTTP/1.1 and 2")
    func exchanged() async throws {
        let mock = try await MockFCM(isPlain: true)
        let token = try Self.accessToken(mock)
        let first = try Self.send(token).answer(from: mock.port)
        #expect(first.status == 200)
        #expect(
            first.member("name")?.hasPrefix("projects/\(ServiceAccountFile.project)/messages/")
                == true)
        let client = try APNsMockClient(port: mock.port)
        let path = "/v1/projects/\(ServiceAccountFile.project)/messages:send"
        for body in [Self.message, Self.message.replacing("ijk", with: #"\"\\k"#)] {
            client.request(
                [
                    (":method", "POST"), (":scheme", "http"), (":path", path),
                    (":authority", "localhost"), ("authorization", "Bearer \(token)"),
                    ("content-type", "application/json"),
                ], body: body)
            guard case .answer(_, let status, _, _) = try client.next() else {
                throw TestFailure("no answer")
            }
            #expect(status == "200")
        }
        let report = try await mock.report()
        #expect(report.answers == ["200": 4])
        #expect((report.distinct, report.duplicates) == (2, 1))
        #expect((report.exchanges, report.issued, report.assertions) == (1, 1, 1))
        #expect(report.refusals.isEmpty && report.violations.isEmpty)
    }

    static let wrongClaims: [([String: String], String, String)] = [
        (["iss": #""other@example.org""#], "assertion-iss", "invalid_grant"),
        (
            ["scope": #""https://www.googleapis.com/auth/cloud-platform""#], "assertion-scope",
            "invalid_scope"
        ),
        (["aud": #""https://oauth2.googleapis.com/token""#], "assertion-aud", "invalid_grant"),
        (["exp": "1000"], "assertion-time", "invalid_grant"),
        (["exp": "\(MockToken.now + 7200)"], "assertion-time", "invalid_grant"),
        (["iat": "\(MockToken.now + 600)"], "assertion-time", "invalid_grant"),
        (["sub": #""somebody""#], "assertion-claims", "invalid_grant"),
        (["iat": ""], "assertion-claims", "invalid_grant"),
    ]

    @Test("an assertion with a wrong claim is refused by the word for it", arguments: wrongClaims)
    func claims(_ changes: [String: String], _ word: String, _ error: String) async throws {
        let mock = try await MockFCM(isPlain: true)
        let answer = try Self.exchanged(
            Self.exchange(try Self.assertion(mock, changes)), mock)
        #expect(answer.status == 400)
        #expect(answer.member("error") == error)
        #expect(try await mock.report().refusals == [word: 1])
    }

    @Test("signature, header and form of an exchange are checked")
    func forms() async throws {
        let mock = try await MockFCM(isPlain: true, isKeyForeign: true)
        let good = try Self.assertion(mock)
        #expect(try Self.exchanged(Self.exchange(good), mock).status == 400)
        let none = try Self.assertion(mock, header: #"{"alg":"none","typ":"JWT"}"#)
        _ = try Self.exchanged(Self.exchange(none), mock)
        let other = try Self.assertion(mock, header: #"{"alg":"RS256","typ":"JWT","kid":"x"}"#)
        _ = try Self.exchanged(Self.exchange(other), mock)
        _ = try Self.exchanged(
            Self.exchange(good).with("Content-Type", "application/json"), mock)
        _ = try Self.exchanged(Self.exchange(good + "&scope=x"), mock)
        var grant = Self.exchange(good)
        grant.body = Array("grant_type=password&assertion=\(good)".utf8)
        #expect(try Self.exchanged(grant, mock).member("error") == "unsupported_grant_type")
        #expect(try Self.exchanged(Self.exchange("no.token"), mock).status == 400)
        let report = try await mock.report()
        #expect(
            report.refusals == [
                "assertion-signature": 1, "assertion-header": 1, "assertion-key-id": 1,
                "token-content-type": 1, "token-form": 1, "grant-type": 1, "assertion": 1,
            ])
        #expect(report.issued == 0)
    }

    static let wrongMessages: [(String, String, String)] = [
        (#""NORMAL""#, #""HIGH""#, "priority"), (#""NORMAL""#, #""normal""#, "priority"),
        (#""7200s""#, #""7200""#, "ttl"), (#""7200s""#, "7200", "ttl"),
        (#""7200s""#, #""2419201s""#, "ttl"), (#""7200s""#, #""-1s""#, "ttl"),
        (#""collapse_key""#, #""collapse""#, "unknown-field"),
        (#""collapse_key":"wake""#, #""collapse_key":"""#, "collapse-key"),
        (#"{"wake":"1"}"#, "{}", "data"), (#"{"wake":"1"}"#, #"{"wake":1}"#, "data"),
        (#"{"wake":"1"}"#, #"{"wake":"1","more":"2"}"#, "data"),
        (#"{"wake":"1"}"#, #"{"google.wake":"1"}"#, "data-key-reserved"),
        (#"{"wake":"1"}"#, #"{"from":"1"}"#, "data-key-reserved"),
        (#""abcdefgh:ijk""#, #""""#, "token"), (#""token""#, #""topic""#, "recipient"),
        (#""data":"#, #""notification":{"title":"x"},"data":"#, "not-promised"),
        (#""data":"#, #""body":"x","data":"#, "unknown-field"),
        (#"{"message""#, #"{"validate_only":true,"message""#, "not-promised"),
        (#"{"message""#, #"{"message":{},"message""#, "json"), ("}}", "}", "json"),
    ]

    @Test("a message that is not the one is refused by the word for it", arguments: wrongMessages)
    func messages(_ part: String, _ other: String, _ word: String) async throws {
        let mock = try await MockFCM(isPlain: true)
        let body = Self.message.replacing(part, with: other)
        #expect(body != Self.message)
        let token = try Self.accessToken(mock)
        let answer = try Self.send(token, body).answer(from: mock.port)
        #expect(answer.status == 400)
        let text = answer.text
        #expect(text.contains("BadRequest") && text.contains("fieldViolations"))
        let report = try await mock.report()
        #expect(report.refusals == [word: 1])
        #expect(report.distinct == 0)
    }

    @Test("data that changes from message to message is refused, another push token is not")
    func constant() async throws {
        let mock = try await MockFCM(isPlain: true)
        let token = try Self.accessToken(mock)
        let bodies = [
            Self.message, Self.message.replacing("abcdefgh", with: "another!"),
            Self.message.replacing(#""1""#, with: #""2""#),
        ]
        let statuses = try bodies.map { try Self.send(token, $0).answer(from: mock.port).status }
        #expect(statuses == [200, 200, 400])
        let report = try await mock.report()
        #expect(report.refusals == ["not-constant": 1])
        #expect(report.distinct == 2)
    }
}
