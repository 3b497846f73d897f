import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Connections that do nothing", .timeLimit(.minutes(5)))
struct CrowdTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    /// The forms in which a client holds a connection without a complete request.
    private static let idle = [
        "", "GET / HT", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", get,
    ]

    private static func crowd(_ count: Int, _ live: LiveServer) async throws -> [LoopbackClient] {
        var crowd: [LoopbackClient] = []
        for index in 0..<count {
            let client = try LoopbackClient(port: live.port)
            try client.send(idle[index % idle.count])
            try await client.delivered()
            crowd.append(client)
        }
        try await live.until { live.accepted >= count }
        await live.settle()
        return crowd
    }

    @Test("silent, half sent and kept ones make room, the oldest first")
    func room() async throws {
        var limits = HTTPLimits()
        limits.connections = 16
        try await LiveServer.run(limits: limits, handler: Handlers.echo) { live in
            let crowd = try await Self.crowd(16, live)
            await live.advance(seconds: 1)
            var kept: [LoopbackClient] = []
            for _ in 0..<40 {
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                #expect(try client.receiveResponse().status == 200)
                #expect(live.open <= 16)
                kept.append(client)
                await live.advance(seconds: 0.01)
            }
            #expect(live.dropped >= 16 && live.refusedByServerError == 0)
            #expect(try (crowd.first?.receiveAll() ?? [1]).isEmpty)
        }
    }

    @Test("slow readers make room for others")
    func slowReaders() async throws {
        let directory = try TemporaryDirectory()
        let path = try BodyFile.make(in: directory, size: 16 << 20)
        var limits = HTTPLimits()
        limits.connections = 8
        let handler: RequestHandler = { request, responder in
            guard request.isPath("/file") else { return Handlers.echo(request, responder) }
            responder.respond(BodyFile.response(path, offset: 0, count: 16 << 20))
        }
        try await LiveServer.run(limits: limits, handler: handler) { live in
            var readers: [LoopbackClient] = []
            for _ in 0..<8 {
                let reader = try LoopbackClient(port: live.port, receiveBuffer: 16_384)
                try reader.send("GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try reader.receive(through: "\r\n\r\n")
                readers.append(reader)
            }
            await live.settle()
            for _ in 0..<3 {
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                #expect(try client.receiveResponse().status == 200)
                await live.advance(seconds: 0.1)
            }
            #expect(live.dropped >= 1)
        }
    }

    @Test("a listener with a reserve answers whatever the other one holds, and the other way round")
    func reserve() async throws {
        let held = HeldResponders()
        let open = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0)) { held.hold($1) }
        let own = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), reserved: 2, handler: Handlers.echo)
        var limits = HTTPLimits()
        limits.connections = 4
        try await LiveServer.run([open, own], limits: limits) { live in
            let used = try (0..<4).map { _ in try LoopbackClient(port: live.port) }
            for client in used { try client.send(Self.get) }
            try await live.until { held.count == 4 }
            // In use, so none of them makes room.
            let refused = try LoopbackClient(port: live.port)
            #expect(try refused.receiveResponse().status == 503)
            for _ in 0..<6 {
                let client = try LoopbackClient(port: live.server.ports[1])
                try client.send(Self.get)
                #expect(try client.receiveResponse().status == 200)
            }
            while held.answer(Response(204)) {}
            for client in used { #expect(try client.receiveResponse().status == 204) }
        }
    }

    @Test("what arrived while the process stood still is read before anybody is timed out")
    func pause() async throws {
        let isBlocked = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        let handler: RequestHandler = { request, responder in
            if request.isPath("/wait") {
                isBlocked.withLock { $0 = true }
                gate.wait()
            }
            Handlers.echo(request, responder)
        }
        try await LiveServer.run(handler: handler) { live in
            let clients = try (0..<600).map { _ in try LoopbackClient(port: live.port) }
            try await live.until { live.accepted == 600 }
            let half = try LoopbackClient(port: live.port)
            try half.send("GET /h")
            try await half.delivered()
            await live.settle()
            let blocker = try LoopbackClient(port: live.port)
            try blocker.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            while !isBlocked.withLock({ $0 }) { await Task.yield() }
            for client in clients { try client.send(Self.get) }
            for client in clients { try await client.delivered() }
            try half.send(" HTTP/1.1\r\nHost: x\r\n\r\n")
            try await half.delivered()
            live.clock.advance(seconds: 60)
            gate.signal()
            for client in clients + [half] {
                #expect((try? client.receiveResponse())?.status == 200)
            }
            // Those who still send nothing are.
            await live.advance(seconds: 21)
            try await live.until { live.open == 0 }
        }
    }
}
