import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite(
    "The mock of Web Push", .enabled(if: OpenSSLCommand.isInstalled), .timeLimit(.minutes(2)))
struct MockWebPushTests {
    static let origin = "http://\(MockWebPush.host(1))"

    /// `vapid t=…,k=…` as RFC 8292 §3 has it; claims changed as told.
    static func authorization(
        _ mock: MockWebPush, header: String = #"{"typ":"JWT","alg":"ES256"}"#,
        _ changes: [String: String] = [:]
    ) throws -> String {
        var claims = [
            "aud": "\"\(origin)\"", "exp": "\(MockToken.now + 43_200)",
            "sub": #""mailto:push@example.org""#,
        ]
        claims.merge(changes) { $1 }
        let members = claims.filter { !$0.value.isEmpty }.map { "\"\($0.key)\":\($0.value)" }
        let signed =
            MockToken.part(header) + "." + MockToken.part("{\(members.joined(separator: ","))}")
        let pem = Array(try Data(contentsOf: URL(filePath: mock.keyPath)))
        let key = try P256Key(.privateKey, pem: pem.span)
        let message = Array(signed.utf8)
        guard let signature = key.sign(message.span) else { throw TestFailure("cannot sign") }
        return "vapid t=\(signed).\(MockToken.part(signature.raw)), k=\(mock.publicKey)"
    }

    static func call(_ authorization: String, _ path: String = "/p/1") -> MockCall {
        var call = MockCall(
            path,
            [
                ("TTL", "7200"), ("Urgency", "normal"), ("Topic", "wake"),
                ("Authorization", authorization),
            ])
        call.host = MockWebPush.host(1)
        return call
    }

    @Test("a proper request is created, by HTTP/1.1 and 2, and counted by host and endpoint")
    func accepted() async throws {
        let mock = try await MockWebPush(
            ["--lifetime", "7200", "--urgency", "normal", "--topic", "wake", "--body", "empty"],
            isPlain: true)
        let authorization = try Self.authorization(mock)
        let answer = try Self.call(authorization).answer(from: mock.port)
        #expect(answer.status == 201)
        #expect(answer["Location"] == "\(Self.origin)/message/1")
        let client = try APNsMockClient(port: mock.port)
        for path in ["/p/2", "/p/1"] {
            client.request(
                [
                    (":method", "POST"), (":scheme", "http"), (":path", path),
                    (":authority", MockWebPush.host(1)), ("ttl", "7200"), ("urgency", "normal"),
                    ("topic", "wake"), ("authorization", authorization),
                ], body: "")
            guard case .answer(_, let status, _, _) = try client.next() else {
                throw TestFailure("no answer")
            }
            #expect(status == "201")
        }
        let report = try await mock.report()
        #expect(report.refusals.isEmpty && report.violations.isEmpty)
        let host = try #require(report.hosts[MockWebPush.host(1)])
        #expect((host.requests, host.endpoints, host.duplicates) == (3, 2, 1))
        #expect((host.connections, host.credentials) == (2, 1))
    }

    static let wrongFields: [(String, String?, Int, String)] = [
        ("TTL", nil, 400, "ttl-missing"), ("TTL", "-1", 400, "ttl"), ("TTL", "1.5", 400, "ttl"),
        ("TTL", "", 400, "ttl"), ("Urgency", "urgent", 400, "urgency"),
        ("Topic", "a b", 400, "topic"), ("Topic", String(repeating: "t", count: 33), 400, "topic"),
        ("Authorization", nil, 401, "vapid-missing"),
        ("Authorization", "Bearer x", 401, "vapid-form"),
        ("Authorization", "vapid t=a.b.c", 401, "vapid-form"),
        ("Authorization", "vapid t=a.b.c, k=BAAA", 403, "vapid-point"),
        ("Content-Encoding", "aes128gcm", 400, "content-encoding"),
    ]

    @Test("a field that is not as it must be is refused by the word for it", arguments: wrongFields)
    func fields(_ name: String, _ value: String?, _ status: Int, _ word: String) async throws {
        let mock = try await MockWebPush(isPlain: true)
        let call = Self.call(try Self.authorization(mock)).with(name, value)
        #expect(try call.answer(from: mock.port).status == status)
        let report = try await mock.report()
        #expect(report.refusals == [word: 1])
        #expect(report.distinct == 0)
    }

    static let wrongClaims: [([String: String], String)] = [
        (["aud": #""http://h2.push.example""#], "vapid-aud"),
        (["aud": #""https://h1.push.example""#], "vapid-aud"),
        (["aud": #""http://h1.push.example/""#], "vapid-aud"),
        (["exp": "\(MockToken.now + 90_000)"], "vapid-exp-too-far"),
        (["exp": "1000"], "vapid-expired"), (["exp": ""], "vapid-claims"),
        (["sub": #""push@example.org""#], "vapid-sub"), (["id": #""x""#], "vapid-claims"),
    ]

    @Test("a claim that is not as it must be is refused by the word for it", arguments: wrongClaims)
    func claims(_ changes: [String: String], _ word: String) async throws {
        let mock = try await MockWebPush(isPlain: true)
        let call = Self.call(try Self.authorization(mock, changes))
        #expect(try call.answer(from: mock.port).status == 403)
        #expect(try await mock.report().refusals == [word: 1])
    }

    @Test("another key, another signature and another algorithm are refused")
    func signatures() async throws {
        let mock = try await MockWebPush(isPlain: true)
        let other = try await MockWebPush(isPlain: true)
        let good = try Self.authorization(mock)
        let foreign = try Self.authorization(other)
        let split = try #require(good.range(of: ", k="))
        let mixed = foreign.prefix { $0 != "," } + good[split.lowerBound...]
        let none = try Self.authorization(mock, header: #"{"typ":"JWT","alg":"HS256"}"#)
        let statuses = try [foreign, String(mixed), none, good].map {
            try Self.call($0).answer(from: mock.port).status
        }
        #expect(statuses == [403, 403, 403, 201])
        #expect(
            try await mock.report().refusals == [
                "vapid-key": 1, "vapid-signature": 1, "vapid-header": 1,
            ])
        _ = try await other.report()
    }

    @Test("bodies are empty, a byte, or encrypted, and never longer than 4096 bytes")
    func bodies() async throws {
        let mock = try await MockWebPush(isPlain: true)
        let authorization = try Self.authorization(mock)
        func status(_ body: String, _ encoding: String? = nil) throws -> Int {
            var call = Self.call(authorization).with("Content-Encoding", encoding)
            call.body = Array(body.utf8)
            return try call.answer(from: mock.port).status
        }
        #expect(try status("w") == 201)
        #expect(try status("clear") == 400)
        #expect(try status("sealed", "aes128gcm") == 201)
        #expect(try status(String(repeating: "x", count: 4097), "aes128gcm") == 413)
        var call = Self.call(authorization)
        call.tellsLength = false
        #expect(try call.answer(from: mock.port).status == 411)
        let report = try await mock.report()
        #expect(
            report.refusals == [
                "body-in-the-clear": 1, "too-large": 1, "content-length-missing": 1,
            ])
        let empty = try await MockWebPush(["--body", "empty"], isPlain: true)
        var byte = Self.call(try Self.authorization(empty))
        byte.body = [0x77]
        #expect(try byte.answer(from: empty.port).status == 400)
        _ = try await empty.report()
    }
}
