import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("Draining", .timeLimit(.minutes(5)))
struct DrainTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let held = "GET /held HTTP/1.1\r\nHost: x\r\n\r\n"

    /// A server whose task the test cancels itself.
    private struct Running {
        let server: HTTPServer
        let task: Task<Void, Never>
        let hub: StreamHub
        let waiting = HeldResponders()
        /// The loop is in the handler of `/stop`, and stays there until it may go on.
        let isStopped = Observed(false)
        let mayGoOn = Semaphore()
        let clock = ManualClock()

        var live: LiveServer { LiveServer(server: server, clock: clock) }

        init() async throws {
            let loop = try EventLoop()
            let hub = StreamHub(loop: loop)
            let (waiting, isStopped, mayGoOn) = (waiting, isStopped, mayGoOn)
            let listener = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0)) {
                request, responder in
                if request.isPath("/held") {
                    waiting.hold(responder)
                } else if request.isPath("/wakes") {
                    responder.subscribe(to: hub, head: Response(200), first: [0x31])
                } else {
                    if request.isPath("/stop") {
                        isStopped.update { $0 = true }
                        mayGoOn.wait()
                    }
                    Handlers.echo(request, responder)
                }
            }
            let server = try HTTPServer(listeners: [listener], loop: loop, clock: clock.loopClock)
            self.server = server
            self.hub = hub
            task = Task { await server.run() }
            while await !server.isServing { await Task.yield() }
        }
    }

    @Test("answers what is in flight, closes the idle and the streams, refuses newcomers, and ends")
    func graceful() async throws {
        let running = try await Running()
        let idle = try LoopbackClient(port: running.live.port)
        let stream = try LoopbackClient(port: running.live.port)
        try stream.send("GET /wakes HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try stream.receive(through: "\r\n\r\n1")
        let busy = try LoopbackClient(port: running.live.port)
        try busy.send(Self.held + Self.get)
        let partial = try LoopbackClient(port: running.live.port)
        try partial.send("GET /a HTT")
        try await partial.delivered()
        try await running.live.until { running.live.accepted == 4 && running.waiting.count == 1 }
        await running.live.settle()
        running.task.cancel()
        #expect(try idle.isAtEnd())
        #expect(try stream.isAtEnd())
        #expect(running.hub.count == 0)
        await running.live.settle()
        #expect(throws: LoopbackClient.Failure.cannotConnect(errno: ECONNREFUSED)) {
            _ = try LoopbackClient(port: running.live.port)
        }
        try partial.send("P/1.1\r\nHost: x\r\n\r\n")
        #expect(try partial.receiveResponse()["Connection"] == "close")
        running.waiting.answer(Response(201))
        let answer = try busy.receiveResponse()
        #expect(answer.status == 201)
        #expect(answer["Connection"] == "close")
        #expect(try busy.isAtEnd())
        // The request it sent too much was not read: it has some time to read the answer before it
        // is cut.
        await running.live.settle()
        #expect(running.live.open == 1)
        running.clock.advance(seconds: 2.1)
        running.server.checkDeadlines()
        await running.task.value
        #expect(running.live.open == 0)
    }

    @Test("answers a request that had arrived before it was told to stop")
    func arrived() async throws {
        for _ in 0..<20 {
            let running = try await Running()
            let known = try LoopbackClient(port: running.live.port)
            try known.send(Self.get)
            _ = try known.receiveResponse()
            let stopping = try LoopbackClient(port: running.live.port)
            try stopping.send("GET /stop HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await running.isStopped.first { $0 ? true : nil }
            let new = try LoopbackClient(port: running.live.port)
            try new.send(Self.get)
            try known.send(Self.get)
            // They are with the kernel, and the server has not looked.
            for client in [new, known] { try await client.delivered() }
            running.task.cancel()
            running.mayGoOn.post()
            #expect(try known.receiveResponse().status == 200)
            #expect(try new.receiveResponse().status == 200)
            await running.task.value
        }
    }

    @Test("takes at most its time")
    func bounded() async throws {
        let running = try await Running()
        let client = try LoopbackClient(port: running.live.port)
        try client.send(Self.held)
        try await running.live.until { running.waiting.count == 1 }
        running.task.cancel()
        await running.live.settle()
        #expect(running.live.open == 1)
        running.clock.advance(seconds: 10.1)
        running.server.checkDeadlines()
        await running.task.value
        #expect(try client.isAtEnd())
        #expect(running.live.dropped == 1)
        running.waiting.answer(Response(200))
    }

    @Test("ends at once when the task was cancelled before it ran")
    func cancelledBefore() async throws {
        let listener = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), handler: Handlers.echo)
        for _ in 0..<50 {
            let server = try HTTPServer(listeners: [listener])
            let task = Task { await server.run() }
            task.cancel()
            await task.value
        }
    }

    @Test("leaves no thread and no descriptor behind")
    func leaks() async throws {
        weak var loop: EventLoop?
        do {
            let made = try EventLoop()
            loop = made
            let hub = StreamHub(loop: made)
            try await LiveServer.run(
                loop: made,
                handler: { _, responder in
                    responder.subscribe(to: hub, head: Response(200), first: [0x31])
                }
            ) { live in
                let client = try LoopbackClient(port: live.port)
                try client.send(Self.get)
                _ = try client.receive(through: "\r\n\r\n1")
            }
        }
        // The thread lets go of the loop a moment after the server has returned.
        while loop != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
