import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("Large bodies", .timeLimit(.minutes(5)))
struct LargeBodyTests {
    private static let limits: RequestLimits = {
        var limits = RequestLimits()
        limits.bodyBytes = 4
        limits.largePath = Array("/large".utf8)
        limits.largeBodyBytes = 40
        return limits
    }()

    private func wire(_ target: String, _ count: Int, method: String = "POST") -> [UInt8] {
        let head = "\(method) \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n"
        return Array(head.utf8) + [UInt8](repeating: 0x61, count: count)
    }

    @Test(
        "are for one path and method, byte for byte",
        arguments: [
            ("/large", 40, "POST", true), ("/large", 41, "POST", false),
            ("/large?q", 40, "POST", true), ("http://x/large", 40, "POST", true),
            ("/large", 5, "PUT", false), ("/large/", 5, "POST", false),
            ("/larg", 5, "POST", false), ("/Large", 5, "POST", false),
            ("/%6Carge", 5, "POST", false), ("/?/large", 5, "POST", false),
            ("/large", 4, "PUT", true), ("/a", 4, "POST", true),
        ])
    func bounds(target: String, count: Int, method: String, isTaken: Bool) {
        let bytes = wire(target, count, method: method)
        let run = ParserRun.feed(bytes, limits: Self.limits)
        #expect(
            run.step
                == (isTaken ? .complete(consumed: bytes.count) : .invalid(.contentTooLarge)))
        if isTaken { #expect(run.head.isLarge == (count > 4)) }
    }

    private func run(
        atOnce: Int = 4, clock: ManualClock = ManualClock(), handler: @escaping RequestHandler,
        screen: @escaping @Sendable (Request) -> BodyMemoryBudget.Verdict = { _ in
            .admitted(holding: nil)
        },
        _ body: (LiveServer) async throws -> Void
    ) async throws {
        let large = BodyMemoryBudget(path: "/large", bytes: 655_360, atOnce: atOnce, screen: screen)
        let listener = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), largeBodies: large, handler: handler)
        try await LiveServer.run([listener], clock: clock, body)
    }

    @Test("arrive whole, one after the other and pipelined, and others stay small")
    func arriving() async throws {
        try await run(handler: { request, responder in
            responder.respond(
                Response(200, body: .bytes([request.body.reduce(0) { $0 &+ $1 }])))
        }) { live in
            let client = try LoopbackClient(port: live.port)
            let bytes = wire("/large", 655_360)
            let sum = UInt8(truncatingIfNeeded: 655_360 * 0x61)
            try client.send(bytes)
            #expect(try client.receiveResponse().body == [sum])
            try client.send(wire("/a", 3) + bytes + wire("/large", 5_000) + wire("/a", 3))
            let expected = [3 * 0x61, 655_360 * 0x61, 5_000 * 0x61, 3 * 0x61]
            for value in expected {
                let body = try client.receiveResponse().body
                #expect(body == [UInt8(truncatingIfNeeded: value)])
            }
            try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4097\r\n\r\n")
            #expect(try client.receiveResponse().status == 413)
        }
    }

    @Test("are refused by their head before anybody listens to them")
    func screened() async throws {
        let screen: @Sendable (Request) -> BodyMemoryBudget.Verdict = { request in
            #expect(request.body.isEmpty)
            return request.onlyValue(of: "x-who").map(Array.init) == Array("me".utf8)
                ? .admitted(holding: nil) : .rejected(.problem(403, title: "no", code: "no"))
        }
        try await run(handler: Handlers.echo, screen: screen) { live in
            for (who, expects) in [("you", true), ("you", false), ("me", true)] {
                let client = try LoopbackClient(port: live.port)
                var head = "POST /large HTTP/1.1\r\nHost: x\r\nX-Who: \(who)\r\n"
                if expects { head += "Expect: 100-continue\r\n" }
                try client.send(head + "Content-Length: 100000\r\n\r\n")
                if who == "you" {
                    let answer = try client.receiveResponse()
                    #expect(answer.status == 403)
                    #expect(answer["Connection"] == "close")
                } else {
                    #expect(
                        try client.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                    try client.send([UInt8](repeating: 0x61, count: 100_000))
                    #expect(try client.receiveResponse().text == "post /large 100000")
                }
            }
            // What fits anyway is the handler's alone.
            let client = try LoopbackClient(port: live.port)
            try client.send(wire("/large", 4_096))
            #expect(try client.receiveResponse().text == "post /large 4096")
        }
    }

    @Test("have a number of permits: one is free again when the request is gone, for any reason")
    func places() async throws {
        let waiting = HeldResponders()
        try await run(atOnce: 2, handler: { _, responder in waiting.hold(responder) }) { live in
            // The handler lets go of the request at once, the sender does not finish: both count.
            let halves = try (0..<2).map { _ in
                let client = try LoopbackClient(port: live.port)
                try client.send(Array(wire("/large", 20_000).dropLast(10_000)))
                return client
            }
            for half in halves { try await half.delivered() }
            await live.settle()
            let refused = try LoopbackClient(port: live.port)
            try refused.send(wire("/large", 20_000))
            let answer = try refused.receiveResponse()
            #expect(answer.status == 503)
            #expect(answer["Retry-After"] == "30")
            let small = try LoopbackClient(port: live.port)
            try small.send(wire("/large", 10))
            try await live.until { waiting.count == 1 }
            #expect(waiting.answer(Response(201)))
            #expect(try small.receiveResponse().status == 201)

            halves[0].reset()
            try halves[1].send([UInt8](repeating: 0x61, count: 10_000))
            try await live.until { waiting.count == 1 }
            #expect(waiting.answer(Response(201)))
            #expect(try halves[1].receiveResponse().status == 201)
            try halves[1].send(wire("/large", 20_000))
            try await live.until { waiting.count == 1 }
            #expect(waiting.answer(Response(201)))
            #expect(try halves[1].receiveResponse().status == 201)
        }
    }
}
