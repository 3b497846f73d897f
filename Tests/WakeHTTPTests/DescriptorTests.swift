import Glibc
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Without descriptors")
struct DescriptorTests {
    @Test("idle ones make room; else the server pauses, and takes others when there is one again")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            try await DescriptorTests.exhaust()
        }
    }

    /// Ends the process with a failure when something does not hold.
    static func exhaust() async throws {
        let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        let held = HeldResponders()
        try await LiveServer.run(handler: { held.hold($1) }) { live in
            let first = try LoopbackClient(port: live.port)
            try first.send(get)
            let waiting = try LoopbackClient(port: live.port)
            try await live.until { live.accepted == 2 && held.count == 1 }
            // Every descriptor there may be is used up, but for one the next client needs.
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 64
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var fillers: [Int32] = []
            while true {
                let filler = dup(0)
                guard filler >= 0 else { break }
                fillers.append(filler)
            }
            if let last = fillers.popLast() { close(last) }
            // Whoever waits without a request makes room for one who has one.
            let next = try LoopbackClient(port: live.port)
            try next.send(get)
            try await live.until { held.count == 2 }
            guard live.dropped == 1, (try? waiting.receiveAll()) ?? [] == [] else { exit(2) }
            guard let last = fillers.popLast() else { exit(3) }
            close(last)
            let refused = try LoopbackClient(port: live.port)
            try refused.send(get)
            try await live.until { live.dropped >= 2 }
            // Paused, not spinning: nothing more is tried until a moment has passed, or somebody
            // leaves. Time stands still here.
            for _ in 0..<20 { await live.settle() }
            guard live.dropped == 2, live.accepted == 3 else { exit(4) }
            held.answer(Response(200))
            guard try first.receiveResponse().status == 200 else { exit(5) }
            for filler in fillers { close(filler) }
            await live.advance(seconds: 0.3)
            try await live.until { held.count == 2 }
            while held.answer(Response(200)) {}
            guard try next.receiveResponse().status == 200 else { exit(6) }
            guard try refused.receiveResponse().status == 200 else { exit(7) }
        }
    }

    @Test("a listener keeps to its numbers, and one with a reserve takes the last")
    func numbers() async throws {
        await #expect(processExitsWith: .success) {
            try await DescriptorTests.keepToNumbers()
        }
    }

    /// Ends the process with a failure when something does not hold.
    static func keepToNumbers() async throws {
        let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        let held = HeldResponders()
        let open = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0)) { held.hold($1) }
        let own = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), reserved: 8, handler: Handlers.echo)
        var limits = HTTPLimits()
        limits.descriptors = 100
        try await LiveServer.run([open, own], limits: limits) { live in
            var clients: [LoopbackClient] = []
            while live.dropped == 0, clients.count < 100 {
                let client = try LoopbackClient(port: live.port)
                try client.send(get)
                clients.append(client)
                try await live.until { held.count == clients.count || live.dropped > 0 }
            }
            guard live.dropped == 1, clients.count < 60 else { exit(2) }
            let operators = try LoopbackClient(port: live.server.ports[1])
            try operators.send(get)
            guard try operators.receiveResponse().status == 200 else { exit(3) }
            // The server ends when everything in flight is answered: time stands still here.
            while held.answer(Response(200)) {}
        }
    }
}
