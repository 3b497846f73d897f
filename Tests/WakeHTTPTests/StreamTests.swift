import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Event streams", .timeLimit(.minutes(5)))
struct StreamTests {
    private static let get = "GET /wakes HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let head = Response(200, fields: [("Content-Type", "text/event-stream")])

    private func run(
        limits: HTTPLimits = HTTPLimits(), clock: ManualClock = ManualClock(),
        proxyProtocol: Bool = false,
        _ body: (LiveServer, StreamHub) async throws -> Void
    ) async throws {
        let loop = try EventLoop()
        let hub = StreamHub(loop: loop)
        let handler: RequestHandler = { request, responder in
            guard request.isPath("/wakes") else { return Handlers.echo(request, responder) }
            responder.subscribe(to: hub, head: Self.head, first: Array("data: first\n\n".utf8))
        }
        try await LiveServer.run(
            limits: limits, loop: loop, clock: clock, proxyProtocol: proxyProtocol,
            handler: handler
        ) { try await body($0, hub) }
    }

    @Test("start with their first event and no length, then carry what is published, in order")
    func publishing() async throws {
        try await run { live, hub in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            let head = try client.receive(through: "\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nDate: "))
            #expect(head.contains("\r\nConnection: close\r\n"))
            #expect(!head.contains("Content-Length"))
            #expect(try client.receive(through: "\n\n") == "data: first\n\n")
            #expect(hub.count == 1)
            for index in 0..<200 { hub.publish(Array("data: \(index)\n\n".utf8)) }
            for index in 0..<200 {
                #expect(try client.receive(through: "\n\n") == "data: \(index)\n\n")
            }
        }
    }

    @Test("reach a thousand subscribers, and requests are answered meanwhile")
    func manySubscribers() async throws {
        try await run { live, hub in
            // Fewer where a process may not open so many files.
            let count = min(1_000, (ProcessMemory.raiseOpenFiles(to: 2_200) - 100) / 2)
            let clients = try (0..<count).map { _ in
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                return client
            }
            for client in clients { _ = try client.receive(through: "first\n\n") }
            #expect(hub.count == count)
            hub.publish(Array("data: x\n\n".utf8))
            let other = try LoopbackClient(port: live.port)
            try other.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try other.receiveResponse().status == 200)
            for client in clients {
                #expect(try client.receive(through: "\n\n") == "data: x\n\n")
            }
        }
    }

    @Test("forget a subscriber that leaves")
    func leaving() async throws {
        try await run { live, hub in
            do {
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                _ = try client.receive(through: "first\n\n")
                #expect(hub.count == 1)
            }
            try await live.until { live.open == 0 }
            #expect(hub.count == 0)
            hub.publish([0x3A, 0x0A])
            await live.settle()
        }
    }

    @Test("drop a subscriber that does not read, and only that one")
    func slowReader() async throws {
        try await run { live, hub in
            let slow = try LoopbackClient(port: live.port, receiveBuffer: 4_096)
            try slow.send(Self.get)
            _ = try slow.receive(through: "first\n\n")
            let quick = try LoopbackClient(port: live.port)
            try quick.send(Self.get)
            _ = try quick.receive(through: "first\n\n")
            let event = [UInt8](repeating: 0x3A, count: 65_534) + [0x0A, 0x0A]
            var published = 0
            // The kernel takes some megabytes for the slow one, more on some machines.
            while hub.count == 2, published < 10_000 {
                hub.publish(event)
                published += 1
                _ = try quick.receive(exactly: event.count)
            }
            #expect(hub.count == 1)
            try await live.until { live.dropped == 1 }
            hub.publish([0x0A])
            #expect(try quick.receive(exactly: 1) == [0x0A])
        }
    }

    @Test("carry a comment at most every 240 s, earlier by some jitter")
    func keepAlive() async throws {
        try await run(clock: ManualClock()) { live, hub in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            _ = try client.receive(through: "first\n\n")
            await live.advance(seconds: 179)
            hub.publish([0x31])
            #expect(try client.receive(exactly: 1) == [0x31])
            await live.advance(seconds: 62)
            #expect(try client.receive(through: "\n\n") == ":\n\n")
            await live.advance(seconds: 241)
            #expect(try client.receive(through: "\n\n") == ":\n\n")
        }
    }

    @Test("are refused with 503 and Retry-After at the global cap")
    func globalCap() async throws {
        var limits = HTTPLimits()
        limits.streams = 2
        try await run(limits: limits) { live, hub in
            let first = try LoopbackClient(port: live.port)
            let second = try LoopbackClient(port: live.port)
            for client in [first, second] {
                try client.send(Self.get)
                _ = try client.receive(through: "first\n\n")
            }
            let third = try LoopbackClient(port: live.port)
            try third.send(Self.get)
            let response = try third.receiveResponse()
            #expect(response.status == 503)
            #expect(response["Retry-After"] == "30")
            #expect(hub.count == 2)
        }
    }

    @Test("are capped per address prefix, and a place becomes free when one leaves")
    func sourceCap() async throws {
        var limits = HTTPLimits()
        limits.streamsPerSource = 1
        try await run(limits: limits, proxyProtocol: true) { live, hub in
            func open(_ address: [UInt8]) throws -> (LoopbackClient, Int) {
                let client = try LoopbackClient(port: live.port)
                try client.send(ProxyWire.version4(address) + Array(Self.get.utf8))
                let head = try client.receive(through: "\r\n\r\n")
                return (client, WireResponse(head: head)?.status ?? 0)
            }
            do {
                let first = try open([192, 0, 2, 1])
                #expect(first.1 == 200)
                #expect(try open([192, 0, 2, 200]).1 == 503)
                #expect(try open([198, 51, 100, 1]).1 == 200)
            }
            try await live.until { live.open == 0 }
            #expect(hub.count == 0)
            #expect(try open([192, 0, 2, 7]).1 == 200)
        }
    }

    @Test("answer HEAD with the head alone")
    func headOnly() async throws {
        try await run { live, hub in
            let client = try LoopbackClient(port: live.port)
            try client.send("HEAD /wakes HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.receiveResponse(toHead: true).status == 200)
            #expect(try client.isAtEnd())
            #expect(hub.count == 0)
        }
    }
}
