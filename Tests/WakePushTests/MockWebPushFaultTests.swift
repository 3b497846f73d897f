import Foundation
import TestSupport
import Testing

@testable import WakePush

@Suite(
    "What the mock of Web Push is told", .enabled(if: OpenSSLCommand.isInstalled),
    .timeLimit(.minutes(2)))
struct MockWebPushFaultTests {
    private static let curl = "/usr/bin/curl"
    private static let hasCurl = FileManager.default.isExecutableFile(atPath: curl)

    /// Without VAPID, to a numbered host.
    private static func call(_ endpoint: Int, host: Int = 1) -> MockCall {
        var call = MockCall("/p/\(endpoint)", [("TTL", "60")])
        call.host = MockWebPush.host(host)
        return call
    }

    private static func mock(_ flags: String...) async throws -> MockWebPush {
        try await MockWebPush(["--vapid-optional", "yes"] + flags, isPlain: true)
    }

    @Test(
        "answers come by number, by endpoint and to all, and a redirect leads where it is counted")
    func told() async throws {
        let mock = try await Self.mock(
            "--answer", "3:302", "--answer-to", "http://h1.push.example/p/2=410",
            "--answer-to", "http://h2.=503::9", "--accept", "202", "--answer-to",
            "http://h3.=204")
        let answers = try [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3)].map {
            try Self.call($0.0, host: $0.1).answer(from: mock.port)
        }
        #expect(answers.map(\.status) == [202, 410, 302, 503, 204])
        #expect(answers[3]["Retry-After"] == "9")
        let place = try #require(answers[2]["Location"])
        #expect(place == "http://h1.push.example/redirected/1")
        var followed = Self.call(1)
        followed.path = "/redirected/1"
        #expect(try followed.answer(from: mock.port).status == 404)
        let report = try await mock.report()
        #expect((report.redirects, report.redirectsFollowed) == (1, 1))
        #expect(report.faults == ["204": 1, "302": 1, "410": 1, "503": 1])
        #expect(report.distinct == 2)
    }

    @Test("every so manieth endpoint is throttled once, and coming back too soon is counted")
    func throttled() async throws {
        let mock = try await Self.mock("--throttle", "2:30")
        let statuses = try [1, 2, 3, 2, 1].map {
            try Self.call($0).answer(from: mock.port).status
        }
        #expect(statuses == [201, 429, 201, 201, 201])
        let report = try await mock.report()
        #expect(report.violations == ["sooner than Retry-After": 1])
        #expect(report.faults == ["429": 1])
        #expect((report.distinct, report.duplicates) == (3, 1))
    }

    @Test("a hanging host never answers, and costs nobody else")
    func hanging() async throws {
        let mock = try await Self.mock("--hang-hosts", "h2.push.example")
        let hung = try LoopbackClient(port: UInt16(mock.port))
        try hung.send(Self.call(1, host: 2).bytes)
        for endpoint in 0..<5 {
            #expect(try Self.call(endpoint).answer(from: mock.port).status == 201)
        }
        let report = try await mock.report()
        #expect(report.faults == ["hung": 1])
        #expect(report.hosts[MockWebPush.host(2)]?.delivered == 0)
        #expect(report.hosts[MockWebPush.host(1)]?.delivered == 5)
        // The end of the mock is all that it hears.
        #expect(try hung.receiveAll().isEmpty)
    }

    @Test("requests to one host at once are counted, and a slow host takes its time")
    func slow() async throws {
        let mock = try await Self.mock("--slow-hosts", "1", "--slowness", "80")
        let start = ContinuousClock.now
        let clients = try (0..<4).map { _ in try LoopbackClient(port: UInt16(mock.port)) }
        for (number, client) in clients.enumerated() { try client.send(Self.call(number).bytes) }
        for client in clients { #expect(try client.receiveResponse().status == 201) }
        #expect(ContinuousClock.now - start >= .milliseconds(80))
        let again = ContinuousClock.now
        #expect(try Self.call(1, host: 2).answer(from: mock.port).status == 201)
        let report = try await mock.report()
        #expect(again - start >= .milliseconds(80))
        #expect(report.hosts[MockWebPush.host(1)]?.mostAtOnce == 4)
        #expect(report.hosts[MockWebPush.host(2)]?.mostAtOnce == 1)
    }

    @Test("a body may be four mebibytes, or have no end, and the mock's memory stays small")
    func bodies() async throws {
        let mock = try await Self.mock("--oversized-every", "2", "--endless-every", "3")
        #expect(try Self.call(1).answer(from: mock.port).body.isEmpty)
        #expect(try Self.call(2).answer(from: mock.port).body.count == 4 << 20)
        let endless = try LoopbackClient(port: UInt16(mock.port))
        try endless.send(Self.call(3).bytes)
        let head = try endless.receiveResponse(toHead: true)
        #expect(head.status == 201 && head["Transfer-Encoding"] == "chunked")
        _ = try endless.receive(exactly: 16 << 20)
        let peak = try #require(ProcessMemory.peakBytes(of: mock.program.identifier))
        #expect(peak < 64 << 20)
        let report = try await mock.report()
        #expect(report.faults == ["endless": 1, "oversized": 1])
    }

    @Test(
        "a host that hangs in the handshake is known by the name of TLS", .enabled(if: hasCurl))
    func handshake() async throws {
        let mock = try await MockWebPush([
            "--vapid-optional", "yes", "--hang-hosts", "h2.push.example", "--hang-in-handshake",
            "yes",
        ])
        func run(_ host: Int, _ version: String) async throws -> Int32 {
            let name = MockWebPush.host(host)
            return try await RunningProgram.run(
                path: Self.curl,
                [
                    "--silent", "--fail", "--max-time", "2", version, "--cacert", mock.authority,
                    "--connect-to", "\(name):443:127.0.0.1:\(mock.port)", "--request", "POST",
                    "--data", "", "--header", "TTL: 60", "--header", "Content-Type:",
                    "https://\(name)/p/1",
                ]
            ).status
        }
        #expect(try await run(1, "--http2") == 0)
        #expect(try await run(1, "--http1.1") == 0)
        // curl(1): 28 is a time-out.
        #expect(try await run(2, "--http2") == 28)
        let report = try await mock.report()
        #expect(report.hosts[MockWebPush.host(2)]?.silenced == 1)
        #expect(report.hosts[MockWebPush.host(2)]?.requests == 0)
        #expect(report.hosts[MockWebPush.host(1)]?.delivered == 2)
    }
}
