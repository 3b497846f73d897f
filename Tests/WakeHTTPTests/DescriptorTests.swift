import Glibc
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Without descriptors")
struct DescriptorTests {
    @Test("the server pauses accepting, serves whom it has, and takes others when one leaves")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            try await DescriptorTests.exhaust()
        }
    }

    /// Ends the process with a failure when something does not hold.
    static func exhaust() async throws {
        let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        try await LiveServer.run(handler: Handlers.echo) { live in
            let first = try LoopbackClient(port: live.port)
            try first.send(get)
            _ = try first.receiveResponse()
            let waiting = try LoopbackClient(port: live.port)
            try await live.until { live.accepted == 2 }
            let accepted = live.accepted
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
            let refused = try LoopbackClient(port: live.port)
            try refused.send(get)
            try await live.until { live.dropped >= 1 }
            guard live.accepted == accepted else { exit(2) }
            // Paused, not spinning: nothing more is tried until a moment has passed, or somebody
            // leaves. Time stands still here.
            for _ in 0..<20 { await live.settle() }
            guard live.dropped == 1, live.accepted == accepted else { exit(3) }
            try first.send(get)
            guard try first.receiveResponse().status == 200 else { exit(4) }
            for filler in fillers { close(filler) }
            await live.advance(seconds: 0.3)
            guard try refused.receiveResponse().status == 200 else { exit(5) }
            try waiting.send(get)
            guard try waiting.receiveResponse().status == 200 else { exit(6) }
        }
    }
}
