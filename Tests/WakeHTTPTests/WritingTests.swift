import Dispatch
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("Answers larger than a socket takes at once", .timeLimit(.minutes(5)))
struct WritingTests {
    private static let size = 3_000_000

    private static let handler: RequestHandler = { request, responder in
        let count = request.isPath("/large") ? size : 5
        responder.respond(Response(200, body: .bytes(BodyFile.bytes(count: count))))
    }

    private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n" }

    @Test("arrive whole and in order though the client reads late, and the connection goes on")
    func lateReader() async throws {
        try await LiveServer.run(handler: Self.handler) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
            let paths = ["/large", "/a", "/large", "/large", "/a"]
            try client.send(paths.map(get).joined())
            await live.settle()
            // While an answer is stuck, the next request is not begun: answers do not pile up.
            #expect(live.requests < paths.count)
            for path in paths {
                let count = path == "/large" ? Self.size : 5
                #expect(try client.receiveResponse().body == BodyFile.bytes(count: count))
            }
            try client.send(get("/a"))
            #expect(try client.receiveResponse().status == 200)
        }
    }

    @Test("end the connection only when they are written")
    func closing() async throws {
        try await LiveServer.run(handler: Self.handler) { live in
            let client = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
            try client.send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await live.settle()
            #expect(try client.receiveResponse().body.count == Self.size)
            #expect(try client.isAtEnd())
        }
    }

    @Test("are given up when the client resets")
    func reset() async throws {
        try await LiveServer.run(handler: Self.handler) { live in
            do {
                let client = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
                try client.send(get("/large"))
                _ = try client.receive(through: "\r\n\r\n")
                client.reset()
            }
            try await live.until { live.open == 0 }
        }
    }

    @Test("and small ones keep their order over random splits, paths and threads", arguments: 0..<6)
    func randomTraffic(seed: Int) async throws {
        let queue = DispatchQueue(label: "random", attributes: .concurrent)
        let handler: RequestHandler = { request, responder in
            let answer = Response(200, body: .bytes(Array(request.path) + request.body))
            guard request.method == .put else { return responder.respond(answer) }
            queue.async { responder.respond(answer) }
        }
        try await LiveServer.run(handler: handler) { live in
            var random = SplitMix64(seed: UInt64(seed))
            let client = try LoopbackClient(port: live.port)
            var wire: [UInt8] = []
            var expected: [String] = []
            for index in 0..<150 {
                let body = String(repeating: "b", count: Int.random(in: 0...300, using: &random))
                let method = Bool.random(using: &random) ? "PUT" : "POST"
                wire += Array(
                    ("\(method) /\(index) HTTP/1.1\r\nHost: x\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
                expected.append("/\(index)\(body)")
            }
            var rest = wire[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...2_000, using: &random)
                try client.send(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
                if Bool.random(using: &random) { await live.settle() }
            }
            for text in expected { #expect(try client.receiveResponse().text == text) }
        }
    }
}
