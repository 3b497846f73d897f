import Glibc
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Ten thousand connections")
struct IdleMemoryTests {
    @Test(
        "cost at most 1 KiB of user memory each, idle or streaming, and others are answered",
        .disabled(if: Sanitizer.isActive))
    func memory() async {
        // In a process of its own: memory of other tests and their descriptors would blur the
        // picture.
        await #expect(processExitsWith: .success) {
            let count = min(10_000, (ProcessMemory.raiseOpenFiles(to: 20_200) - 100) / 2)
            let perConnection = try await IdleMemoryTests.measure(count: count)
            #expect(perConnection.idle <= 1_024)
            #expect(perConnection.streaming <= 1_024)
        }
    }

    /// User memory per connection, in bytes: kept alive after a request, and subscribed to a
    /// stream.
    static func measure(count: Int) async throws -> (idle: Int, streaming: Int) {
        let loop = try EventLoop()
        let hub = StreamHub(loop: loop)
        let handler: RequestHandler = { request, responder in
            guard request.isPath("/wakes") else { return Handlers.echo(request, responder) }
            responder.subscribe(to: hub, head: Response(200), first: [0x31])
        }
        var result = (idle: 0, streaming: 0)
        try await LiveServer.run(loop: loop, handler: handler) { live in
            let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
            var clients: [LoopbackClient] = []
            clients.reserveCapacity(count)
            let warm = try LoopbackClient(port: live.port)
            try warm.send(get)
            _ = try warm.receiveResponse()
            let before = ProcessMemory.anonymousBytes() ?? 0
            for _ in 1..<count { clients.append(try LoopbackClient(port: live.port)) }
            for client in clients {
                try client.send(get)
                _ = try client.receiveResponse()
            }
            result.idle = ((ProcessMemory.anonymousBytes() ?? .max) - before) / count
            try warm.send(get)
            guard try warm.receiveResponse().status == 200, live.open == count else { exit(2) }
            for client in clients {
                try client.send("GET /wakes HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try client.receive(through: "\r\n\r\n1")
            }
            result.streaming = ((ProcessMemory.anonymousBytes() ?? .max) - before) / count
            hub.publish([0x32])
            for client in clients where try client.receive(exactly: 1) != [0x32] { exit(3) }
            guard hub.count == count - 1 else { exit(4) }
        }
        return result
    }
}
