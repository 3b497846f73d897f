import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Deadlines, with a clock the test moves", .timeLimit(.minutes(5)))
struct DeadlineTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("a body must be complete 10 s after its head")
    func body() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("PUT / HTTP/1.1\r\n")
            try await client.delivered()
            await live.advance(seconds: 9)
            try client.send("Host: x\r\nContent-Length: 2\r\n\r\n")
            try await client.delivered()
            await live.advance(seconds: 9)
            try client.send("a")
            try await client.delivered()
            await live.advance(seconds: 0.5)
            #expect(live.refusedByClientError == 0)
            await live.advance(seconds: 1)
            #expect(try client.receiveResponse().status == 408)
        }
    }

    @Test("the next pipelined request has a deadline of its own")
    func pipelined() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("GET / HT")
            try await client.delivered()
            await live.advance(seconds: 9)
            try client.send("TP/1.1\r\nHost: x\r\n\r\nGET /b")
            #expect(try client.receiveResponse().status == 200)
            await live.advance(seconds: 9)
            try client.send(" HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.receiveResponse().text == "get /b 0")
        }
    }

    @Test(
        "a reader that takes less than the floor in 10 s is dropped, one that takes more is served")
    func slowReader() async throws {
        let directory = try TemporaryDirectory()
        let size = 64 << 20
        let path = try BodyFile.make(in: directory, size: size)
        let handler: RequestHandler = { _, responder in
            responder.respond(BodyFile.response(path, offset: 0, count: size))
        }
        try await LiveServer.run(handler: handler) { live in
            let slow = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
            let steady = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
            try slow.send(Self.get)
            try steady.send(Self.get)
            _ = try slow.receive(through: "\r\n\r\n")
            let head = try steady.receive(through: "\r\n\r\n")
            #expect(head.contains("Content-Length: \(size)\r\n"))
            await live.settle()
            var taken = 0
            // The kernel takes bytes for the slow reader until its buffers are full, which may need
            // several spans on a busy machine. 6 MiB are more than it holds for the other one: the
            // server wrote for it in each span.
            while live.dropped == 0, taken < 54 << 20 {
                taken += try steady.receive(exactly: 6 << 20).count
                await live.advance(seconds: 10.5)
            }
            #expect(live.dropped == 1)
            #expect(live.open == 1)
            _ = try steady.receive(exactly: size - taken)
            try steady.send(Self.get)
            #expect(try steady.receive(through: "\r\n").hasPrefix("HTTP/1.1 200"))
        }
    }
}
