import TestSupport
import Testing

@testable import WakePush

@Suite("How the mocks speak HTTP", .timeLimit(.minutes(2)))
struct MockHTTPTests {
    private static func mock(_ flags: String...) async throws -> MockProgram {
        try await MockProgram(["--service", "webpush", "--vapid-optional", "yes"] + flags)
    }

    private static let head = "POST /p/1 HTTP/1.1\r\nHost: a.example\r\nTTL: 60\r\n"

    @Test("a request is the same however it is cut into pieces")
    func everySplitPoint() async throws {
        let mock = try await Self.mock()
        let text = Self.head + "Content-Length: 1\r\n\r\nw"
        let client = try LoopbackClient(port: UInt16(mock.ports[0]))
        for place in 1..<text.utf8.count {
            let bytes = Array(text.utf8)
            try client.send(Array(bytes[..<place]))
            try client.send(Array(bytes[place...]))
            #expect(try client.receiveResponse().status == 201)
        }
        let report: MockReport<MockWebPush.Own> = try await mock.report()
        #expect(report.delivered == text.utf8.count - 1)
        #expect(report.connections == 1)
    }

    @Test("requests that follow each other without waiting are answered in order")
    func pipeline() async throws {
        let mock = try await Self.mock("--answer", "2:410", "--latency", "5")
        let client = try LoopbackClient(port: UInt16(mock.ports[0]))
        let one = Self.head + "Content-Length: 0\r\n\r\n"
        try client.send(one + one + one)
        #expect(try (0..<3).map { _ in try client.receiveResponse().status } == [201, 410, 201])
        let _: MockTally = try await mock.report()
    }

    @Test("chunks are put together, and Expect gets its 100")
    func chunks() async throws {
        let mock = try await Self.mock()
        let client = try LoopbackClient(port: UInt16(mock.ports[0]))
        try client.send(
            Self.head + "Content-Encoding: aes128gcm\r\nTransfer-Encoding: chunked\r\n"
                + "Expect: 100-continue\r\n\r\n")
        #expect(try client.receiveResponse().status == 100)
        try client.send("3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\n")
        // Its length was not told.
        #expect(try client.receiveResponse().status == 411)
        let tally: MockTally = try await mock.report()
        #expect(tally.refusals == ["content-length-missing": 1])
    }

    static let malformed = [
        "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: a\r\n\r\n", "POST  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nA B: c\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n",
        "POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    @Test("what is no head of a request is a violation, and the end", arguments: malformed)
    func heads(_ head: String) async throws {
        let mock = try await Self.mock()
        let client = try LoopbackClient(port: UInt16(mock.ports[0]))
        try client.send(head)
        #expect(try client.receiveResponse().status == 400)
        #expect(try client.isAtEnd())
        let tally: MockTally = try await mock.report()
        #expect(tally.violations == ["head": 1])
        #expect(tally.requests == 0)
    }

    @Test("HTTP/2 streams are reset, refused and left behind as told")
    func streams() async throws {
        let mock = try await Self.mock(
            "--refuse-every", "2", "--reset-every", "3", "--goaway-every", "5")
        let client = try APNsMockClient(port: mock.ports[0])
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/p/1"),
            (":authority", "a.example"), ("ttl", "60"),
        ]
        var events: [APNsMockClient.Event] = []
        for _ in 0..<5 {
            client.request(fields, body: "")
            events.append(try client.next())
        }
        let accepted = { (stream: UInt32) in
            APNsMockClient.Event.answer(stream: stream, status: "201", body: "", fields: 3)
        }
        #expect(
            events == [
                accepted(1), .reset(stream: 3, code: 0x7), .reset(stream: 5, code: 0x2),
                .reset(stream: 7, code: 0x7), .goAway(lastStream: 7),
            ])
        #expect(try client.next() == .closed)
        let tally: MockTally = try await mock.report()
        #expect(tally.faults == ["refused": 2, "reset": 1, "goaway": 1])
        #expect((tally.delivered, tally.distinct) == (2, 1))
    }

    @Test("an endless body waits for the client's windows and ends with its reset")
    func windows() async throws {
        let mock = try await Self.mock("--endless-every", "1")
        let client = try APNsMockClient(port: mock.ports[0])
        client.request(
            [
                (":method", "POST"), (":scheme", "http"), (":path", "/p/1"),
                (":authority", "a.example"), ("ttl", "60"),
            ], body: "")
        client.request(
            [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a.example")],
            body: "")
        // The second stream's answer is a body, too: the connection's window is used up.
        var reset: [UInt8] = []
        FrameWriter.reset(stream: 1, code: 0x8, into: &reset)
        FrameWriter.windowUpdate(stream: 0, increment: 1000, into: &reset)
        client.send(reset)
        guard case .answer(3, "405", _, _) = try client.next() else {
            throw TestFailure("the second stream waits for the first")
        }
        let tally: MockTally = try await mock.report()
        #expect(tally.faults == ["endless": 1, "cancelled": 1])
        #expect(tally.violations.isEmpty)
    }

    @Test("every service has its help, and flags of another are refused")
    func help() async throws {
        let (status, all) = try await RunningProgram.run("mock-push", ["--help"])
        #expect(status == 0)
        for flag in ["--answer-token", "--token-port", "--hang-hosts", "--cut-after"] {
            #expect(all.contains(flag))
        }
        let one = try await RunningProgram.run("mock-push", ["--service", "fcm", "--help"])
        #expect(one.status == 0 && one.output.contains("--token-port"))
        #expect(!one.output.contains("--hang-hosts"))
        for words in [
            ["--service"], ["--service", "other"], ["--service", "fcm", "--hang-hosts", "1"],
            ["--service", "webpush", "--answer", "0:410"],
            ["--service", "webpush", "--answer", "410"],
            ["--service", "webpush", "--hang-hosts", "3", "--hang-in-handshake", "yes"],
            ["--service", "relay", "--deliver", "1:perhaps"],
            ["--service", "relay", "--lines", "x"],
            ["--service", "relay", "--stop", "webpush:misconfigured:x"],
            ["--service", "fcm", "--token-answer", "1:99"], ["--service", "fcm", "--key", "only"],
            ["--service", "fcm", "--port"],
        ] {
            #expect(try await RunningProgram.run("mock-push", words).status == 2)
        }
    }
}
