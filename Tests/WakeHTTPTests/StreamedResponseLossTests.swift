import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Streamed responses whose client is slow or gone", .timeLimit(.minutes(5)))
struct StreamedResponseLossTests {
    private static let get = StreamedResponseTests.get

    @Test(
        "are given up once, whether it closes, resets, or ends its side",
        arguments: ["close", "reset", "end"])
    func leaving(how: String) async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            var client: LoopbackClient? = try LoopbackClient(port: live.port)
            try client?.send(Self.get)
            _ = try client?.receive(through: "\r\n\r\n")
            responses[0].send([0x31])
            if how == "reset" { client?.reset() }
            if how == "end" { client?.endSending() } else { client = nil }
            _ = try await responses.lost.first { $0 > 0 ? $0 : nil }
            #expect(responses[0].send([0x32]) == .gone)
            responses[0].finish()
            responses[0].abort()
            try await live.until { live.open == 0 }
            #expect(responses.lost.value == 1)
            withExtendedLifetime(client) {}
        }
    }

    @Test("begun for a client that has left are given up")
    func tooLate() async throws {
        let waiting = HeldResponders()
        let lost = Observed(0)
        try await LiveServer.run(handler: { waiting.hold($1) }) { live in
            for count in 1...2 {
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                try await live.until { waiting.count == count }
                client.reset()
            }
            for _ in 0..<2 {
                let answer = waiting.take()?.stream(StreamedResponses.head, capacity: 10) {
                    lost.update { $0 += 1 }
                }
                answer?.send([0x31])
            }
            _ = try await lost.first { $0 == 2 ? true : nil }
        }
    }

    @Test("given a second time are abandoned, and the first response stands")
    func second() async throws {
        let lost = Observed(0)
        let handler: RequestHandler = { request, responder in
            Handlers.echo(request, responder)
            _ = responder.stream(StreamedResponses.head, capacity: 10) { lost.update { $0 += 1 } }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(StreamedResponseTests.other)
            #expect(try client.receiveResponse().text == "get /a 0")
            _ = try await lost.first { $0 > 0 ? $0 : nil }
            #expect(lost.value == 1)
        }
    }

    @Test("take no more than their bound while the client does not read, and lose nothing of it")
    func slowReader() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler(capacity: 100_000)) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 4_096)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            var given: [UInt8] = []
            var count: UInt8 = 0
            // The kernel takes some megabytes first.
            while true {
                try Task.checkCancellation()
                let chunk = [UInt8](repeating: count, count: 50_000)
                if responses[0].send(chunk) == .full {
                    await live.settle()
                    guard responses[0].send(chunk) == .queued else { break }
                }
                given += chunk
                count &+= 1
            }
            responses[0].finish()
            #expect(try client.receiveChunks() == given)
            try client.send(StreamedResponseTests.other)
            #expect(try client.receiveResponse().status == 200)
        }
    }

    @Test("are given up when the client takes nothing for the time of the write deadline")
    func neverReads() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 4_096)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            let chunk = [UInt8](repeating: 0x31, count: 60_000)
            // The kernel takes bytes for the client until its buffers are full, which may need
            // several spans on a busy machine.
            while live.dropped == 0 {
                try Task.checkCancellation()
                while responses[0].send(chunk) == .queued { await live.settle() }
                await live.advance(seconds: 11)
            }
            #expect(responses.lost.value == 1)
            #expect(live.dropped == 1)
            #expect(live.open == 0)
        }
    }

    @Test("are completed while the server drains, or given up at the end of its time")
    func draining() async throws {
        for isFinished in [true, false] {
            let responses = StreamedResponses()
            let clock = ManualClock()
            let listener = ListenerConfiguration(
                .tcp(host: "127.0.0.1", port: 0), handler: responses.handler())
            let server = try HTTPServer(listeners: [listener], clock: clock.loopClock)
            let running = Task { await server.run() }
            while await !server.isServing { await Task.yield() }
            let client = try LoopbackClient(port: server.ports[0])
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            running.cancel()
            responses[0].send([0x31])
            #expect(try client.receiveChunk() == [0x31])
            if isFinished {
                responses[0].finish()
                #expect(try client.receiveChunk().isEmpty)
            } else {
                clock.advance(seconds: 10.1)
                server.checkDeadlines()
            }
            await running.value
            #expect(try client.isAtEnd())
            #expect(responses.lost.value == (isFinished ? 0 : 1))
        }
    }
}
