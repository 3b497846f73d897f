import Dispatch
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Streamed responses", .timeLimit(.minutes(5)))
struct StreamedResponseTests {
    static let get = "GET /chunks HTTP/1.1\r\nHost: x\r\n\r\n"
    static let other = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("are chunks as they come, and the connection goes on after the last")
    func chunks() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            for round in 0..<3 {
                try client.send(Self.get)
                let head = try client.receive(through: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/jsonl\r\n"))
                #expect(head.contains("\r\nTransfer-Encoding: chunked\r\n"))
                #expect(!head.contains("Content-Length") && !head.contains("Connection"))
                for count in [1, 15, 16, 255, 256, 4_096, 60_000] {
                    let chunk = [UInt8](repeating: 0x61, count: count)
                    #expect(responses[round].send(chunk) == .queued)
                    #expect(try client.receiveChunk() == chunk)
                }
                responses[round].finish()
                #expect(try client.receiveChunk().isEmpty)
                #expect(responses[round].send([0x61]) == .gone)
            }
            try client.send(Self.other)
            #expect(try client.receiveResponse().text == "get /a 0")
            #expect(responses.lost.value == 0)
        }
    }

    @Test("given from many threads arrive whole, and in the order in which each gave them")
    func threads() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler(capacity: 1 << 20)) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            let answer = responses[0]
            let group = DispatchGroup()
            for thread in UInt8(0)..<4 {
                DispatchQueue.global().async(group: group) {
                    for index in UInt8(0)..<200 {
                        answer.send([thread, index])
                    }
                }
            }
            group.notify(queue: .global()) { answer.finish() }
            let bytes = try client.receiveChunks()
            #expect(bytes.count == 1_600)
            var next = [UInt8](repeating: 0, count: 4)
            for index in stride(from: 0, to: bytes.count, by: 2) {
                #expect(bytes[index + 1] == next[Int(bytes[index])])
                next[Int(bytes[index])] += 1
            }
        }
    }

    @Test("are the same content however they were cut", arguments: 0..<20)
    func cuts(seed: Int) async throws {
        var random = SplitMix64(seed: UInt64(seed))
        let content = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            var rest = content[...]
            while !rest.isEmpty {
                let count = min(rest.count, Int.random(in: 0...3_000, using: &random))
                #expect(responses[0].send(Array(rest.prefix(count))) == .queued)
                rest = rest.dropFirst(count)
                if Bool.random(using: &random) { await live.settle() }
            }
            responses[0].finish()
            #expect(try client.receiveChunks() == content)
        }
    }

    @Test("given and ended before the handler returns are an answer like others")
    func atOnce() async throws {
        let handler: RequestHandler = { _, responder in
            let answer = responder.stream(StreamedResponses.head, capacity: 100) {}
            answer.send([0x31])
            answer.send([0x32])
            answer.finish()
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get + Self.get)
            for _ in 0..<2 {
                _ = try client.receive(through: "\r\n\r\n")
                #expect(try client.receiveChunks() == [0x31, 0x32])
            }
        }
    }

    @Test("to HTTP/1.0 end with the connection")
    func oldVersion() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("GET /chunks HTTP/1.0\r\n\r\n")
            let head = try client.receive(through: "\r\n\r\n")
            #expect(!head.contains("Transfer-Encoding"))
            #expect(head.contains("\r\nConnection: close\r\n"))
            responses[0].send([0x31])
            #expect(try client.receive(exactly: 1) == [0x31])
            responses[0].send([0x32])
            responses[0].finish()
            #expect(try client.receiveAll() == [0x32])
            #expect(responses.lost.value == 0)
        }
    }

    @Test("end the connection when the client asked for that")
    func closing() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("GET /chunks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try client.receive(through: "\r\n\r\n").contains("\r\nConnection: close\r\n"))
            responses[0].finish()
            #expect(try client.receiveChunk().isEmpty)
            #expect(try client.isAtEnd())
        }
    }

    @Test("to HEAD are a head, and their source is notified")
    func headOnly() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("HEAD /chunks HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.receiveResponse(toHead: true).status == 200)
            #expect(try client.isAtEnd())
            #expect(try await responses.lost.first { $0 > 0 ? $0 : nil } == 1)
            #expect(responses[0].send([0x31]) == .gone)
        }
    }

    @Test("that are cut have no last chunk")
    func cut() async throws {
        let responses = StreamedResponses()
        try await LiveServer.run(handler: responses.handler()) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            _ = try client.receive(through: "\r\n\r\n")
            responses[0].send([0x31])
            responses[0].abort()
            #expect(try client.receiveChunk() == [0x31])
            #expect(try client.isAtEnd())
            #expect(responses.lost.value == 0)
        }
    }
}
