import Synchronization
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Connection caps and sources", .timeLimit(.minutes(5)))
struct CapTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Remembers the sources a handler saw.
    private final class Sources: Sendable {
        let seen = Mutex<[PrefixHash?]>([])

        var handler: RequestHandler {
            { request, responder in
                self.seen.withLock { $0.append(responder.source) }
                Handlers.echo(request, responder)
            }
        }
    }

    @Test("beyond a cap of connections in use one is told 503 and when to come back")
    func global() async throws {
        var limits = HTTPLimits()
        limits.connections = 3
        let held = HeldResponders()
        try await LiveServer.run(limits: limits, handler: { held.hold($1) }) { live in
            do {
                let used = try (0..<3).map { _ in try LoopbackClient(port: live.port) }
                for client in used { try client.send(Self.get) }
                try await live.until { held.count == 3 }
                let extra = try LoopbackClient(port: live.port)
                let response = try extra.receiveResponse()
                #expect(response.status == 503)
                #expect(response["Retry-After"] == "30")
                while held.answer(Response(200)) {}
                for client in used { #expect(try client.receiveResponse().status == 200) }
            }
            try await live.until { live.open == 0 }
            let next = try LoopbackClient(port: live.port)
            try next.send(Self.get)
            try await live.until { held.count == 1 }
            held.answer(Response(200))
            #expect(try next.receiveResponse().status == 200)
            #expect(live.refusedByServerError == 1)
        }
    }

    @Test("a prefix beyond its cap is refused, others are not")
    func perSource() async throws {
        var limits = HTTPLimits()
        limits.connectionsPerSource = 2
        try await LiveServer.run(limits: limits, proxyProtocol: true, handler: Handlers.echo) {
            live in
            func open(_ last: UInt8, net: UInt8) throws -> (LoopbackClient, Int) {
                let client = try LoopbackClient(port: live.port)
                try client.send(ProxyWire.version4([192, 0, net, last]) + Array(Self.get.utf8))
                return (client, try client.receiveResponse().status)
            }
            do {
                let first = try open(1, net: 2)
                let second = try open(2, net: 2)
                #expect([first.1, second.1] == [200, 200])
                #expect(try open(3, net: 2).1 == 503)
                #expect(try open(3, net: 3).1 == 200)
            }
            try await live.until { live.open == 0 }
            #expect(try open(4, net: 2).1 == 200)
        }
    }

    @Test(
        "a peer on this machine has no source, and neither has one over a Unix socket",
        .enabled(if: LoopbackClient.hasVersion6, "this machine has no ::1"))
    func noSource() async throws {
        let sources = Sources()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let listeners = [
            ListenerConfiguration(.tcp(host: "::", port: 0), handler: sources.handler),
            ListenerConfiguration(.unix(path: path, mode: 0o600), handler: sources.handler),
        ]
        try await LiveServer.run(listeners) { live in
            let clients = [
                try LoopbackClient(port: live.port), try LoopbackClient(path: path),
                try LoopbackClient(port: live.port, version6: true),
            ]
            for client in clients {
                try client.send(Self.get)
                _ = try client.receiveResponse()
            }
            #expect(sources.seen.withLock { $0 } == [nil, nil, nil])
        }
    }

    @Test("a front gives its clients' sources by PROXY v2, at any split of its header")
    func proxied() async throws {
        let sources = Sources()
        try await LiveServer.run(proxyProtocol: true, handler: sources.handler) { live in
            for address: [UInt8] in [[192, 0, 2, 1], [192, 0, 2, 99], [198, 51, 100, 1]] {
                let client = try LoopbackClient(port: live.port)
                for byte in ProxyWire.version4(address) {
                    try client.send([byte])
                    try await client.delivered()
                    await live.settle()
                }
                try client.send(Self.get + Self.get)
                #expect(try client.receiveResponse().status == 200)
                #expect(try client.receiveResponse().status == 200)
            }
            let seen = sources.seen.withLock { $0 }
            #expect(seen.count == 6 && !seen.contains(nil))
            #expect(Set(seen).count == 2)
            #expect(seen[0] == seen[3] && seen[0] != seen[4])
        }
    }

    @Test(
        "a listener for fronts hears nobody without the header, and no other listener takes it"
    )
    func strictProxy() async throws {
        try await LiveServer.run(proxyProtocol: true, handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(Self.get)
            #expect((try? client.receiveAll()) ?? [] == [])
            #expect(live.requests == 0)
        }
        try await LiveServer.run(handler: Handlers.echo) { live in
            let client = try LoopbackClient(port: live.port)
            try client.send(ProxyWire.version4([192, 0, 2, 1]) + Array(Self.get.utf8))
            #expect(try client.receiveResponse().status == 400)
        }
    }
}
