import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite("What the mock push service is told", .timeLimit(.minutes(2)))
struct APNsMockFlagTests {
    private static let body = #"{"aps":{"content-available":1}}"#

    private static func fields(
        token: String, authorization: String = "bearer a.b.c"
    ) -> [(String, String)] {
        let expiration = Int(Date.now.timeIntervalSince1970) + 7200
        return [
            (":method", "POST"), (":scheme", "http"), (":path", "/3/device/\(token)"),
            (":authority", "localhost"), ("authorization", authorization),
            ("apns-topic", "org.example.app"), ("apns-push-type", "background"),
            ("apns-priority", "5"), ("apns-expiration", "\(expiration)"),
        ]
    }

    private static func token(_ start: String) -> String {
        start + String(repeating: "0", count: 64 - start.count)
    }

    /// Sends one request per token, one after the other; status and reason of each answer.
    private static func answers(_ mock: MockPush, _ tokens: [String]) throws -> [String] {
        let client = try APNsMockClient(port: mock.port)
        return try tokens.map { token in
            client.request(fields(token: token), body: body)
            guard case .answer(_, let status, let body, let fields) = try client.next() else {
                throw TestFailure("no answer")
            }
            let reason = body.split(separator: "\"").dropFirst(3).first ?? ""
            return "\(status) \(reason) \(fields)"
        }
    }

    @Test("every proper request gets the answer that all are to get, and no other")
    func answerAll() async throws {
        let mock = try await MockPush(["--answer-all", "503:ServiceUnavailable:7"])
        let tokens = [Self.token("01"), Self.token("02"), "nothex"]
        #expect(
            try Self.answers(mock, tokens)
                == [
                    "503 ServiceUnavailable 3", "503 ServiceUnavailable 3",
                    "400 BadDeviceToken 2",
                ])
        let report = try await mock.report()
        #expect(report.distinct == 0)
        #expect(report.answers == ["503": 2, "400": 1])
    }

    @Test("tokens that begin so get their own answer, before any other that was asked for")
    func answerToken() async throws {
        let mock = try await MockPush([
            "--answer-token", "aBc:410:Unregistered", "--answer-token", "ab:429",
            "--answer", "3:500", "--answer-all", "200",
        ])
        let tokens = ["ABCF", "abdf", "abce", "0abc", "0ab1", "ffff"].map(Self.token)
        #expect(
            try Self.answers(mock, tokens)
                == [
                    "410 Unregistered 2", "429  1", "410 Unregistered 2", "200  1", "200  1",
                    "500  1",
                ])
        let report = try await mock.report()
        #expect(report.distinct == 2)
        #expect(
            report.faults == ["200": 2, "410": 2, "429": 1, "500": 1])
    }

    @Test("the same header block with another token is still looked at")
    func sameBlock() async throws {
        let mock = try await MockPush([])
        let tokens = [
            Self.token("0a"), Self.token("0B"), Self.token("0g"), Self.token("0b"),
            Self.token("0a") + "1234", Self.token("0a") + "1235", Self.token(""),
        ]
        #expect(
            try Self.answers(mock, tokens)
                == ["200  1", "200  1", "400 BadDeviceToken 2"]
                + Array(repeating: "200  1", count: 4))
        let report = try await mock.report()
        #expect(report.distinct == 5)
        #expect(report.duplicates == 1)
        #expect(report.fields["apns-topic"] == 7)
    }

    @Test(
        "a provider token grows too old while it is in use",
        .enabled(if: OpenSSLCommand.isInstalled))
    func ageing() async throws {
        let pair = try SigningKeyPair()
        let mock = try await MockPush(["--public-key", pair.publicPath])
        let credentials = try JWTTests.credentials(pair)
        let old = try #require(
            ProviderToken(mintedBy: credentials, at: ClockReading.system().later(-3598)))
        let value = String(decoding: APNsRequest.authorization(old), as: UTF8.self)
        let client = try APNsMockClient(port: mock.port)
        var (accepted, last) = (0, "200")
        while last == "200" {
            client.request(
                Self.fields(token: Self.token("0a"), authorization: value), body: Self.body)
            guard case .answer(_, let status, _, _) = try client.next() else { break }
            last = status
            if status == "200" { accepted += 1 }
        }
        #expect(accepted > 0)
        #expect(last == "403")
        let report = try await mock.report()
        #expect(report.refusals == ["403 ExpiredProviderToken": 1])
    }

    @Test("the connection's window stays as small as it is told to, and is enforced")
    func connectionWindow() async throws {
        let mock = try await MockPush(["--connection-window", "10", "--window", "1000000"])
        let client = try APNsMockClient(port: mock.port)
        var block: [UInt8] = []
        for (name, value) in Self.fields(token: Self.token("0a")) {
            HPACKWriter.literal(
                name: Array(name.utf8), value: Array(value.utf8), .without, into: &block)
        }
        var head: [UInt8] = []
        FrameWriter.headers(stream: 1, block: block, ends: false, into: &head)
        // All of the first window (RFC 9113 §6.9.2), then what was given, then more than that.
        client.send(head + Self.data([16_384, 16_384, 16_384, 16_383]))
        #expect(try client.windowUpdate(of: 10, times: 1))
        client.send(Self.data([10]))
        #expect(try client.windowUpdate(of: 10, times: 2))
        client.send(Self.data([11]))
        #expect(try client.next() == .goAway(lastStream: 1))
        let report = try await mock.report()
        #expect(report.violations == ["flow control": 1])
    }

    private static func data(_ counts: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        for count in counts {
            let body = [UInt8](repeating: 0x20, count: count)
            FrameWriter.data(stream: 1, body: body[...], ends: false, into: &bytes)
        }
        return bytes
    }

    @Test("an answer never comes before its time")
    func latency() async throws {
        let mock = try await MockPush(["--latency", "60"])
        let client = try APNsMockClient(port: mock.port)
        for _ in 0..<3 {
            let start = ContinuousClock.now
            client.request(Self.fields(token: Self.token("0a")), body: Self.body)
            _ = try client.next()
            #expect(ContinuousClock.now - start >= .milliseconds(60))
        }
        _ = try await mock.report()
    }

    @Test("the report goes to a file, too")
    func report() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/report.json"
        let mock = try await MockPush(["--report", path])
        _ = try Self.answers(mock, [Self.token("0a")])
        let report = try await mock.report()
        #expect(report.distinct == 1)
        let kept = try String(contentsOfFile: path, encoding: .utf8)
        #expect(mock.program.output.hasSuffix(kept) && kept.hasPrefix("{"))
    }

    @Test("help is on standard output; a value that means nothing is refused")
    func help() async throws {
        let (status, output) = try await RunningProgram.run("mock-push", ["--help"])
        #expect(status == 0 && output.contains("--answer-token"))
        for words in [
            ["--answer-all", "99"], ["--answer-token", "xy:410"], ["--answer-token", ":410"],
            ["--answer", "0:410"], ["--answer", "2:410:not a reason"],
            ["--window", "2147483648"], ["--connection-window", "0"], ["--latency", "-1"],
            ["--port", "65536"], ["--key", "without-certificate"],
        ] {
            #expect(try await RunningProgram.run("mock-push", words).status == 2)
        }
    }
}
