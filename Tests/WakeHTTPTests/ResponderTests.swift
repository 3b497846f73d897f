import Dispatch
import Synchronization
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("Answers from elsewhere", .timeLimit(.minutes(5)))
struct ResponderTests {
    private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n" }

    private func response(_ text: some Collection<UInt8>) -> Response {
        Response(200, body: .bytes(Array(text)))
    }

    @Test("from many threads each reach the request they answer")
    func otherThreads() async throws {
        let queue = DispatchQueue(label: "answers", attributes: .concurrent)
        let handler: RequestHandler = { request, responder in
            queue.async { responder.respond(Response(200, body: .bytes(Array(request.path)))) }
        }
        try await LiveServer.run(handler: handler) { live in
            let clients = try (0..<20).map { _ in try LoopbackClient(port: live.port) }
            for round in 0..<50 {
                for (index, client) in clients.enumerated() {
                    try client.send(get("/\(index)/\(round)"))
                }
                for (index, client) in clients.enumerated() {
                    #expect(try client.receiveResponse().text == "/\(index)/\(round)")
                }
            }
        }
    }

    @Test("keep the order of pipelined requests though later handlers answer at once")
    func order() async throws {
        let queue = DispatchQueue(label: "answers")
        let handler: RequestHandler = { request, responder in
            guard request.isPath("/slow") else {
                return responder.respond(Response(200, body: .bytes(Array(request.path))))
            }
            queue.async { responder.respond(Response(200, body: .bytes(Array(request.path)))) }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            let paths = (0..<200).map { $0 % 3 == 0 ? "/slow" : "/\($0)" }
            try client.send(paths.map(get).joined())
            for path in paths { #expect(try client.receiveResponse().text == path) }
        }
    }

    @Test("given twice count once")
    func twice() async throws {
        let waiting = HeldResponders()
        let handler: RequestHandler = { request, responder in
            if request.isPath("/two") {
                responder.respond(Response(200, body: .bytes([0x31])))
                responder.respond(Response(200, body: .bytes([0x32])))
                waiting.hold(responder)
            } else {
                Handlers.echo(request, responder)
            }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(get("/two"))
            #expect(try client.receiveResponse().text == "1")
            waiting.answer(Response(500))
            await live.settle()
            try client.send(get("/a"))
            #expect(try client.receiveResponse().text == "get /a 0")
        }
    }

    @Test("to a client that is gone meet nobody, not the next one in its place")
    func goneClient() async throws {
        let waiting = HeldResponders()
        let handler: RequestHandler = { request, responder in
            if request.isPath("/held") {
                waiting.hold(responder)
            } else {
                Handlers.echo(request, responder)
            }
        }
        try await LiveServer.run(handler: handler) { live in
            do {
                let client = try LoopbackClient(port: live.port)
                try client.send(get("/held"))
                try await live.until { waiting.count == 1 }
                client.reset()
            }
            await live.settle()
            let next = try LoopbackClient(port: live.port)
            try next.send(get("/held"))
            try await live.until { waiting.count == 2 }
            waiting.answer(Response(500))
            await live.settle()
            waiting.answer(Response(201))
            #expect(try next.receiveResponse().status == 201)
        }
    }

    @Test("work from a handler of another connection on the loop itself")
    func fromAnotherHandler() async throws {
        let waiting = HeldResponders()
        let handler: RequestHandler = { request, responder in
            if request.isPath("/held") { return waiting.hold(responder) }
            while waiting.answer(Response(201)) {}
            Handlers.echo(request, responder)
        }
        try await LiveServer.run(handler: handler) { live in
            let held = try (0..<3).map { _ in try LoopbackClient(port: live.port) }
            for client in held { try client.send(get("/held") + get("/held")) }
            let other = try LoopbackClient(port: live.port)
            for round in 1...2 {
                // The second of a connection is asked for once its first was answered.
                try await live.until { live.requests == 4 * round - 1 }
                try other.send(get("/a"))
                #expect(try other.receiveResponse().status == 200)
            }
            for client in held {
                #expect(try client.receiveResponse().status == 201)
                #expect(try client.receiveResponse().status == 201)
            }
        }
    }
}
