import TestSupport
import Testing

@testable import WakeHTTP

@Suite("The server over a socket", .timeLimit(.minutes(5)))
struct ServerTests {
    private static let get = "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("answers with status, own fields, date and length, and keeps the connection")
    func answer() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            for _ in 0..<3 {
                try client.send(Self.get)
                let response = try client.receiveResponse()
                #expect(
                    response.head == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                        + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 10\r\n\r\n")
                #expect(response.text == "get /a?b 0")
            }
            #expect(live.requests == 3)
            #expect(live.accepted == 1)
        }
    }

    @Test("answers HEAD like GET without the content")
    func head() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + Self.get)
            let head = try client.receiveResponse(toHead: true)
            #expect(head["Content-Length"] == "9")
            #expect(try client.receiveResponse().text == "get /a?b 0")
        }
    }

    @Test("sends no length with 204 and 304, and a length of 0 with other empty answers")
    func lengths() async throws {
        let handler: RequestHandler = { request, responder in
            responder.respond(
                Response(request.isPath("/204") ? 204 : request.isPath("/304") ? 304 : 200))
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            for (path, length) in [("/204", nil), ("/304", nil), ("/200", "0")] {
                try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try client.receiveResponse()
                #expect("/\(response.status)" == path)
                #expect(response["Content-Length"] == length)
            }
        }
    }

    @Test("answers a hundred pipelined requests in order, bodies included")
    func pipelining() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            var wire = ""
            for index in 0..<100 {
                let body = String(repeating: "x", count: index)
                wire += "PUT /\(index) HTTP/1.1\r\nHost: x\r\nContent-Length: \(index)\r\n\r\n"
                wire += body
            }
            try client.send(wire)
            for index in 0..<100 {
                #expect(try client.receiveResponse().text == "put /\(index) \(index)")
            }
        }
    }

    @Test("reads nothing after Connection: close, from the client or in the answer")
    func close() async throws {
        let handler: RequestHandler = { request, responder in
            responder.respond(Response(200, closes: request.isPath("/close")))
        }
        try await LiveServer.run(handler: handler) { live in
            for first in [
                "GET /close HTTP/1.1\r\nHost: x\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET / HTTP/1.0\r\n\r\n",
            ] {
                let client = try LoopbackClient(port: live.port)
                try client.send(first + Self.get + Self.get)
                let response = try client.receiveResponse()
                #expect(response["Connection"] == "close")
                #expect(try client.isAtEnd())
            }
            #expect(live.requests == 3)
        }
    }

    @Test("answers a client that has ended its side")
    func halfClose() async throws {
        let waiting = HeldResponders()
        let handler: RequestHandler = { request, responder in
            if request.isPath("/later") {
                waiting.hold(responder)
            } else {
                Handlers.echo(request, responder)
            }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get + "GET /later HTTP/1.1\r\nHost: x\r\n\r\n" + Self.get)
            client.endSending()
            #expect(try client.receiveResponse().text == "get /a?b 0")
            try await live.until { waiting.count == 1 }
            waiting.answer(Response(202))
            #expect(try client.receiveResponse().status == 202)
            #expect(try client.receiveResponse().text == "get /a?b 0")
            #expect(try client.isAtEnd())
        }
    }

    @Test("refuses in problem documents that echo nothing, and closes")
    func refusals() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let cases: [(String, Int)] = [
                ("GET /secret\n", 400), ("secret / HTTP/1.1\r\n\r\n", 501),
                ("GET /secret HTTP/3.0\r\n\r\n", 505),
                ("PUT /secret HTTP/1.1\r\nHost: x\r\n\r\n", 411),
                ("PUT /secret HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n", 413),
                (
                    "PUT /secret HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                        + "Content-Encoding: secret\r\n\r\n1", 415
                ),
                ("GET / HTTP/1.1\r\nHost: x\r\nExpect: secret\r\n\r\n", 417),
                ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
                ("GET /" + String(repeating: "s", count: 9_000) + " HTTP/1.1\r\n", 414),
                ("TRACE /secret HTTP/1.1\r\nHost: x\r\n\r\n", 405),
                (
                    "GET / HTTP/1.1\r\nHost: x\r\nA: " + String(repeating: "s", count: 17_000)
                        + "\r\n\r\n", 431
                ),
            ]
            for (wire, status) in cases {
                let client = try LoopbackClient(port: live.port)
                try client.send(wire)
                let response = try client.receiveResponse()
                #expect(response.status == status)
                #expect(response["Content-Type"] == "application/problem+json")
                #expect(response["Connection"] == "close")
                #expect((response["Allow"] != nil) == (status == 405))
                #expect(response.text.contains("\"status\":\(status),\"code\":\""))
                #expect(!response.text.contains("secret") && !response.head.contains("secret"))
                #expect(try client.isAtEnd())
            }
            #expect(live.refusedByClientError == 8)
            #expect(live.refusedByServerError == 3)
            #expect(live.requests == 0)
        }
    }

    @Test("lets a client finish sending a refused body and then read the answer")
    func lingering() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
            for _ in 0..<30 { try client.send([UInt8](repeating: 0x61, count: 10_000)) }
            #expect(try client.receiveResponse().status == 413)
            #expect(try client.isAtEnd())
        }
    }
}
