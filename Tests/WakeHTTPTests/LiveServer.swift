import Synchronization
import TestSupport
import WakeSystem

@testable import WakeHTTP

/// Time that moves when a test says so.
final class ManualClock: Sendable {
    private let nanoseconds = Atomic<UInt64>(1_000_000_000_000)

    var loopClock: LoopClock {
        LoopClock(
            monotonic: { self.nanoseconds.load(ordering: .sequentiallyConsistent) },
            wall: { 784_111_777 })
    }

    func advance(seconds: Double) {
        nanoseconds.add(UInt64(seconds * 1_000_000_000), ordering: .sequentiallyConsistent)
    }
}

/// A server that runs for as long as a test's body. Its time stands still unless the test moves it:
/// no deadline passes because a machine is busy.
struct LiveServer {
    let server: HTTPServer
    let clock: ManualClock

    /// The port of the first listener.
    var port: UInt16 { server.ports[0] }

    /// Starts, calls `body`, stops.
    static func run(
        _ listeners: [ListenerConfiguration], limits: HTTPLimits = HTTPLimits(),
        loop: EventLoop? = nil, clock: ManualClock = ManualClock(),
        _ body: (LiveServer) async throws -> Void
    ) async throws {
        let server = try HTTPServer(
            listeners: listeners, limits: limits, loop: loop, clock: clock.loopClock)
        let running = Task { await server.run() }
        while await !server.isServing { await Task.yield() }
        let result = await Result { try await body(LiveServer(server: server, clock: clock)) }
        running.cancel()
        // What is still open is not waited for: the time for draining is over.
        clock.advance(seconds: 11)
        server.checkDeadlines()
        await running.value
        try result.get()
    }

    /// One listener on a loopback port.
    static func run(
        limits: HTTPLimits = HTTPLimits(), loop: EventLoop? = nil,
        clock: ManualClock = ManualClock(),
        proxyProtocol: Bool = false, handler: @escaping RequestHandler,
        _ body: (LiveServer) async throws -> Void
    ) async throws {
        let listener = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), proxyProtocol: proxyProtocol, handler: handler)
        try await run([listener], limits: limits, loop: loop, clock: clock, body)
    }

    var accepted: Int { server.counters.accepted.now }
    var open: Int { server.counters.open.now }
    var requests: Int { server.counters.requests.now }
    var dropped: Int { server.counters.dropped.now }
    var refusedByClientError: Int {
        server.counters.refusedByClientError.now
    }
    var refusedByServerError: Int {
        server.counters.refusedByServerError.now
    }

    /// Returns when the loop has dealt with everything that had reached its sockets before. What a
    /// client has just sent, or its end, may reach them later: `LoopbackClient.delivered` waits
    /// for the former, `until` for what comes of either.
    func settle() async {
        // The first question may be answered before the loop looks at its sockets again, the next
        // ones after.
        for _ in 0..<4 { _ = await server.isServing }
    }

    /// Waits until something that a client does has had its effect.
    func until(_ hasHappened: () -> Bool) async throws {
        while !hasHappened() {
            try Task.checkCancellation()
            await settle()
        }
    }

    /// Lets the loop see what arrived, moves the clock, and lets the loop act on it.
    func advance(seconds: Double) async {
        await settle()
        clock.advance(seconds: seconds)
        server.checkDeadlines()
        await settle()
    }
}

/// Answers that say what was asked.
enum Handlers {
    /// 200 with `method path?query body-length`.
    static let echo: RequestHandler = { request, responder in
        var text = Array("\(request.method) ".utf8) + request.path
        if let query = request.query { text += [0x3F] + query }
        text += Array(" \(request.body.count)".utf8)
        responder.respond(
            Response(200, fields: [("Content-Type", "text/plain")], body: .bytes(text)))
    }
}
