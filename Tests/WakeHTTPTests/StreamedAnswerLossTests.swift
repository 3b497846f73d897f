import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Answers in pieces whose client is slow or gone", .timeLimit(.minutes(1)))
struct StreamedAnswerLossTests {
    private static let get = StreamedAnswerTests.get

    @Test(
        "are given up once, whether it closes, resets, or ends its side",
        arguments: ["close", "reset", "end"])
    func leaving(how: String) async throws {
        let answers = StreamedAnswers()
        try await LiveServer.run(handler: answers.handler()) { live in
            var client: LoopbackClient? = try LoopbackClient(port: live.port)
            try client?.send(Self.get)
            _ = try client?.receive(through: "\r\n\r\n")
            answers[0].send([0x31])
            if how == "reset" { client?.reset() }
            if how == "end" { client?.endSending() } else { client = nil }
            _ = try await answers.lost.first { $0 > 0 ? $0 : nil }
            #expect(answers[0].send([0x32]) == .gone)
            answers[0].finish()
            answers[0].cut()
            await live.settle()
            #expect(answers.lost.value == 1)
            #expect(live.open == 0)
            withExtendedLifetime(client) {}
        }
    }

    @Test("begun for a client that has left are given up")
    func tooLate() async throws {
        let waiting = Waiting()
        let lost = Observed(0)
        try await LiveServer.run(handler: { waiting.hold($1) }) { live in
            for count in 1...2 {
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                while waiting.count < count { await Task.yield() }
                client.reset()
            }
            for _ in 0..<2 {
                let answer = waiting.take()?.stream(StreamedAnswers.head, waiting: 10) {
                    lost.update { $0 += 1 }
                }
                answer?.send([0x31])
            }
            _ = try await lost.first { $0 == 2 ? true : nil }
        }
    }

    @Test("given a second time are given up, and the first answer stands")
    func second() async throws {
        let lost = Observed(0)
        let handler: RequestHandler = { request, exchange in
            Handlers.echo(request, exchange)
            _ = exchange.stream(StreamedAnswers.head, waiting: 10) { lost.update { $0 += 1 } }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(StreamedAnswerTests.other)
            #expect(try client.receiveResponse().text == "get /a 0")
            #expect(lost.value == 1)
        }
    }

    @Test("take no more than their bound while the client does not read, and lose nothing of it")
    func slowReader() async throws {
        let answers = StreamedAnswers()
        try await LiveServer.run(handler: answers.handler(waiting: 100_000)) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 4_096)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            var given: [UInt8] = []
            var count: UInt8 = 0
            // The kernel takes some megabytes first.
            while true {
                let piece = [UInt8](repeating: count, count: 50_000)
                if answers[0].send(piece) == .full {
                    await live.settle()
                    guard answers[0].send(piece) == .taken else { break }
                }
                given += piece
                count &+= 1
            }
            #expect(answers[0].send([0x31]) == .full)
            answers[0].finish()
            #expect(try client.receiveChunks() == given)
            try client.send(StreamedAnswerTests.other)
            #expect(try client.receiveResponse().status == 200)
        }
    }

    @Test("are given up when the client takes nothing for the time of the write deadline")
    func neverReads() async throws {
        let answers = StreamedAnswers()
        let clock = ManualClock()
        try await LiveServer.run(clock: clock, handler: answers.handler()) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 4_096)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            let piece = [UInt8](repeating: 0x31, count: 60_000)
            while answers[0].send(piece) == .taken { await live.settle() }
            await live.advance(seconds: 11)
            await live.advance(seconds: 11)
            #expect(answers.lost.value == 1)
            #expect(live.dropped == 1)
            #expect(live.open == 0)
        }
    }

    @Test("may pause for ten minutes between two pieces, not longer")
    func pause() async throws {
        let answers = StreamedAnswers()
        let clock = ManualClock()
        try await LiveServer.run(clock: clock, handler: answers.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            for _ in 0..<3 {
                await live.advance(seconds: 590)
                answers[0].send([0x31])
                #expect(try client.receiveChunk() == [0x31])
            }
            await live.advance(seconds: 601)
            #expect(answers.lost.value == 1)
            #expect(try client.isAtEnd())
        }
    }

    @Test("are completed while the server drains, or given up at the end of its time")
    func draining() async throws {
        for isFinished in [true, false] {
            let answers = StreamedAnswers()
            let clock = ManualClock()
            let listener = ListenerConfiguration(
                .tcp(host: "127.0.0.1", port: 0), handler: answers.handler())
            let server = try HTTPServer(listeners: [listener], clock: clock.loopClock)
            let running = Task { await server.run() }
            while await !server.isServing { await Task.yield() }
            let client = try LoopbackClient(port: server.ports[0])
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            running.cancel()
            answers[0].send([0x31])
            #expect(try client.receiveChunk() == [0x31])
            if isFinished {
                answers[0].finish()
                #expect(try client.receiveChunk().isEmpty)
            } else {
                clock.advance(seconds: 10.1)
                server.checkDeadlines()
            }
            await running.value
            #expect(try client.isAtEnd())
            #expect(answers.lost.value == (isFinished ? 0 : 1))
        }
    }
}
