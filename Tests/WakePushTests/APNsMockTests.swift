import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite("The mock push service", .timeLimit(.minutes(2)))
struct APNsMockTests {
    private static let body = #"{"aps":{"content-available":1}}"#
    private static let token = String(repeating: "ab", count: 32)

    /// The fields of a request that deserves 200, changed as told; an empty value leaves one out.
    private static func fields(
        _ changes: [String: String] = [:], token: String = token
    ) -> [(String, String)] {
        let expiration = Int(Date.now.timeIntervalSince1970) + 7200
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/3/device/\(token)"),
            (":authority", "localhost"), ("authorization", "bearer a.b.c"),
            ("apns-topic", "org.example.app"), ("apns-push-type", "background"),
            ("apns-priority", "5"), ("apns-expiration", "\(expiration)"),
        ]
        return fields.map { ($0.0, changes[$0.0] ?? $0.1) }.filter { !$0.1.isEmpty }
    }

    private static func number(_ index: Int) -> String {
        let digits = String(index, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    @Test("a proper request is accepted and counted, and a second one is a duplicate")
    func accepted() async throws {
        let mock = try await MockPush(["--topic", "org.example.app"])
        let client = try APNsMockClient(port: mock.port)
        for stream in [1, 3] as [UInt32] {
            client.request(Self.fields(), body: Self.body)
            #expect(
                try client.next()
                    == .answer(stream: stream, status: "200", body: "", fields: 1))
        }
        // A header block in two frames is one.
        client.request(Self.fields(token: Self.number(7)), body: Self.body, split: 20)
        #expect(try client.next() == .answer(stream: 5, status: "200", body: "", fields: 1))
        let report = try await mock.report()
        #expect(report.distinct == 2)
        #expect(report.duplicates == 1)
        #expect(report.delivered == 3)
        #expect(report.fields["apns-priority"] == 3)
        #expect(report.violations.isEmpty == true)
    }

    static let faults: [([String: String], String, String, String)] = [
        ([":method": "GET"], body, "405", "MethodNotAllowed"),
        ([":path": "/3/devices/\(token)"], body, "404", "BadPath"),
        ([":path": "/3/device/\(token.dropLast())"], body, "400", "BadDeviceToken"),
        ([":path": "/3/device/\(token.dropLast(2))zz"], body, "400", "BadDeviceToken"),
        ([":path": "/3/device/"], body, "400", "BadDeviceToken"),
        (["authorization": ""], body, "403", "MissingProviderToken"),
        (["authorization": "basic x"], body, "403", "InvalidProviderToken"),
        (["apns-topic": ""], body, "400", "MissingTopic"),
        (["apns-topic": "org.example.other"], body, "400", "TopicDisallowed"),
        (["apns-push-type": "alert"], body, "400", "InvalidPushType"),
        (["apns-priority": "10"], body, "400", "BadPriority"),
        (["apns-priority": ""], body, "400", "BadPriority"),
        (["apns-expiration": ""], body, "400", "BadExpirationDate"),
        (["apns-expiration": "0"], body, "400", "BadExpirationDate"),
        (["apns-expiration": "1700000000"], body, "400", "BadExpirationDate"),
        ([:], "", "400", "PayloadEmpty"),
        ([:], #"{"aps":{"content-available":1},"a":1}"#, "400", "PayloadNotConstant"),
        ([:], #"{"aps":{"content-available":2}}"#, "400", "PayloadNotConstant"),
        ([:], String(repeating: " ", count: 4097), "413", "PayloadTooLarge"),
    ]

    @Test("whatever is wrong with a request is refused by its reason")
    func refused() async throws {
        let mock = try await MockPush(["--topic", "org.example.app"])
        let client = try APNsMockClient(port: mock.port)
        for (changes, body, status, reason) in Self.faults {
            let stream = client.request(Self.fields(changes), body: body)
            #expect(
                try client.next()
                    == .answer(
                        stream: stream, status: status, body: #"{"reason":"\#(reason)"}"#,
                        fields: 2))
        }
        let report = try await mock.report()
        #expect(report.distinct == 0)
        #expect(report.requests == Self.faults.count)
    }

    @Test(
        "provider tokens are verified: key, names and age", .enabled(if: OpenSSLCommand.isInstalled)
    )
    func providerTokens() async throws {
        let pair = try SigningKeyPair()
        let credentials = try JWTTests.credentials(pair)
        let mock = try await MockPush([
            "--public-key", pair.publicPath, "--key-id", "ABC123DEFG", "--team-id", "TEAM123456",
            "--token-interval", "1200",
        ])
        let client = try APNsMockClient(port: mock.port)
        let now = ClockReading.system()
        let cases: [(APNsCredentials, ClockReading, String)] = [
            (credentials, now, "200"),
            (try JWTTests.credentials(SigningKeyPair()), now, "403 InvalidProviderToken"),
            (try JWTTests.credentials(pair, team: "OTHER12345"), now, "403 InvalidProviderToken"),
            (try JWTTests.credentials(pair, keyID: "OTHER12345"), now, "403 InvalidProviderToken"),
            (credentials, now.later(-3601), "429 TooManyProviderTokenUpdates"),
        ]
        var tokens = try cases.map { credentials, time, expected in
            (try #require(ProviderToken(mintedBy: credentials, at: time)), expected)
        }
        // Signatures are random: only the very same token is no new one.
        tokens.append(tokens[0])
        for (token, expected) in tokens {
            let value = String(decoding: APNsRequest.authorization(token), as: UTF8.self)
            let stream = client.request(Self.fields(["authorization": value]), body: Self.body)
            let parts = expected.split(separator: " ")
            let body = parts.count > 1 ? #"{"reason":"\#(parts[1])"}"# : ""
            guard case .answer(stream, let status, body, _) = try client.next() else {
                Issue.record("expected \(expected)")
                continue
            }
            #expect(status == parts[0])
        }
        #expect(try await mock.report().providerTokens == 2)
    }

    @Test("an old provider token is expired", .enabled(if: OpenSSLCommand.isInstalled))
    func expired() async throws {
        let pair = try SigningKeyPair()
        let mock = try await MockPush(["--public-key", pair.publicPath])
        let client = try APNsMockClient(port: mock.port)
        let credentials = try JWTTests.credentials(pair)
        let old = try #require(
            ProviderToken(mintedBy: credentials, at: ClockReading.system().later(-3601)))
        let value = String(decoding: APNsRequest.authorization(old), as: UTF8.self)
        client.request(Self.fields(["authorization": value]), body: Self.body)
        #expect(
            try client.next()
                == .answer(
                    stream: 1, status: "403", body: #"{"reason":"ExpiredProviderToken"}"#,
                    fields: 2))
        _ = try await mock.report()
    }

    @Test("resets, refusals and answers come when they were asked for")
    func injected() async throws {
        let mock = try await MockPush([
            "--reset-every", "5", "--refuse-every", "7", "--answer", "3:410:Unregistered",
            "--answer", "4:429:TooManyRequests:60", "--streams", "10",
        ])
        let client = try APNsMockClient(port: mock.port)
        var seen: [String] = []
        for index in 1...8 {
            client.request(Self.fields(token: Self.number(index)), body: Self.body)
            switch try client.next() {
            case .answer(_, let status, _, let fields): seen.append("\(status)/\(fields)")
            case .reset(_, let code): seen.append("reset \(code)")
            case let other: Issue.record("\(other)")
            }
        }
        #expect(
            seen == ["200/1", "200/1", "410/2", "429/3", "reset 2", "410/2", "reset 7", "429/3"])
        #expect(client.settings[0x3] == 10)
        let report = try await mock.report()
        // What was reset after it was taken counts as delivered: the client cannot know.
        #expect(report.distinct == 3)
        #expect(
            report.faults == ["410": 2, "429": 2, "refused": 1, "reset": 1])
    }

    @Test("GOAWAY names the last stream that was looked at, and the connection ends")
    func goAway() async throws {
        let mock = try await MockPush(["--goaway-every", "3", "--latency", "20"])
        let client = try APNsMockClient(port: mock.port)
        for index in 1...4 {
            client.request(Self.fields(token: Self.number(index)), body: Self.body)
        }
        var events: Set<APNsMockClient.Event> = []
        while case let event = try client.next(), event != .closed { events.insert(event) }
        #expect(
            events == [
                .goAway(lastStream: 3),
                .answer(stream: 1, status: "200", body: "", fields: 1),
                .answer(stream: 3, status: "200", body: "", fields: 1),
            ])
        #expect(try await mock.report().distinct == 2)
    }

    @Test("stream limits change on request, and breaking them is seen")
    func streams() async throws {
        let mock = try await MockPush([
            "--streams", "2", "--streams-at", "2:1", "--latency", "60000",
        ])
        let client = try APNsMockClient(port: mock.port)
        for index in 1...3 {
            client.request(Self.fields(token: Self.number(index)), body: Self.body)
        }
        #expect(try client.next() == .reset(stream: 5, code: 7))
        #expect(client.settings[0x3] == 1)
        let report = try await mock.report()
        #expect(report.violations == ["too many streams": 1])
        #expect(report.mostStreams == 2)
    }

    @Test("huge heads, the dynamic table and tiny windows are what they say")
    func headers() async throws {
        let mock = try await MockPush([
            "--huge-headers-every", "2", "--dynamic-headers", "yes", "--window", "31",
            "--table-size", "0",
        ])
        let client = try APNsMockClient(port: mock.port)
        for (stream, fields) in [(1, 2), (3, 8), (5, 2)] as [(UInt32, Int)] {
            client.request(Self.fields(token: Self.number(Int(stream))), body: Self.body)
            #expect(
                try client.next()
                    == .answer(stream: stream, status: "200", body: "", fields: fields))
        }
        #expect(client.settings == [0x1: 0, 0x3: 1000, 0x4: 31])
        _ = try await mock.report()
    }

    @Test("garbage is no frame and ends the connection; a stall is silence that ends")
    func garbageAndStall() async throws {
        let mock = try await MockPush([
            "--garbage-at", "3", "--stall-at", "1", "--stall-seconds", "1",
        ])
        let stalled = try APNsMockClient(port: mock.port)
        let start = ContinuousClock.now
        stalled.request(Self.fields(token: Self.number(1)), body: Self.body)
        stalled.request(Self.fields(token: Self.number(2)), body: Self.body)
        #expect(try stalled.next() == .answer(stream: 3, status: "200", body: "", fields: 1))
        #expect(ContinuousClock.now - start >= .milliseconds(900))
        stalled.request(Self.fields(token: Self.number(3)), body: Self.body)
        #expect(throws: (any Error).self) { try stalled.next() }
        let report = try await mock.report()
        #expect(report.faults == ["garbage": 1, "stall": 1])
    }

    @Test("it ends by itself when every token has come")
    func exitAt() async throws {
        let mock = try await MockPush(["--exit-at", "2"])
        let client = try APNsMockClient(port: mock.port)
        client.request(Self.fields(token: Self.number(1)), body: Self.body)
        client.request(Self.fields(token: Self.number(2)), body: Self.body)
        let line = try await mock.program.line(containing: "\"distinct\":2")
        #expect(line.contains("\"duplicates\":0"))
        #expect(await mock.program.exit() == 0)
    }

    @Test("flags that do not exist are refused with the list of those that do")
    func usage() async throws {
        let (status, output) = try await RunningProgram.run("mock-push", ["--no-such", "1"])
        #expect(status == 2 && output.contains("--goaway-every"))
    }
}
