import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite("Web Push hosts that hang")
struct WebPushHangTests {
    /// What a time-out looks like.
    private static let hang: WebPushWorld.Answer = (10_000, .failed(.timeout))

    private func world(
        hanging: Int, of hosts: Int, count: Int, _ limits: WebPushLimits = .init()
    ) throws -> (WebPushWorld, [WakeUp]) {
        var world = WebPushWorld(limits: limits)
        let names = Set((0..<hanging).map { "push\($0).example.org" })
        world.answer = { host, _, _ in
            names.contains(host) ? Self.hang : (50, .answered(201))
        }
        let wakeUps = try (0..<count).map {
            try WebPushWorld.wakeUp($0, "push\($0 * 7 % hosts).example.org")
        }
        return (world, wakeUps)
    }

    @Test("10,000 endpoints over 100 hosts, 10 of them hanging: the hanging ones cost their own")
    func tenOfAHundred() throws {
        var (world, wakeUps) = try world(hanging: 10, of: 100, count: 10_000)
        world.run(wakeUps, capacity: 8192 + 4096)
        #expect(world.failure == nil && world.settled.count == 10_000)
        var slowest: UInt64 = 0
        for number in 0..<10_000 {
            if number * 7 % 100 < 10 {
                #expect(world.settled[number] == .retry(.connectionFault))
            } else {
                #expect(world.settled[number] == .accepted)
                slowest = max(slowest, try #require(world.times[number]))
            }
        }
        // 9,000 wake-ups at 50 ms, 216 at once and more: two seconds; ten is without doubt no wait.
        #expect(slowest < 1000 + 5000)
        // Three time-outs, and two pauses with a try after each.
        #expect(world.now < 1000 + 10_000 + 7500 + 10_000 + 15_000 + 10_000 + 1000)
        #expect(world.asked["push0.example.org"] == 4 + 1 + 1)
    }

    @Test("the same through a small window: it is never full of hanging hosts for long")
    func smallWindow() throws {
        var limits = WebPushLimits()
        (limits.window, limits.total) = (1024, 64)
        var (world, wakeUps) = try world(hanging: 10, of: 100, count: 20_000, limits)
        world.run(wakeUps, capacity: 1024)
        #expect(world.failure == nil && world.settled.count == 20_000)
        let slowest = (0..<20_000).filter { $0 * 7 % 100 >= 10 }.compactMap { world.times[$0] }
            .max()
        // 18,000 with 32 to 64 at once are 14 to 28 seconds; full, it stood still until the first
        // time-outs, and not until the hosts were given up.
        #expect(try #require(slowest) < 1000 + 40_000)
        #expect(world.settled.values.count { $0 == .accepted } == 18_000)
    }

    @Test("a host that hangs for a moment loses nothing")
    func moment() throws {
        var world = WebPushWorld()
        world.answer = { _, _, attempt in attempt == 1 ? Self.hang : (50, .answered(201)) }
        let wakeUps = try (0..<3).map { try WebPushWorld.wakeUp($0, "a.example.org") }
        world.run(wakeUps)
        #expect(world.settled.values.allSatisfy { $0 == .accepted } && world.settled.count == 3)
    }

    @Test("a host that worked before gets minutes, not seconds")
    func provenHost() throws {
        var world = WebPushWorld()
        world.answer = { [now = Clock()] _, number, _ in
            now.calls += 1
            // Works, hangs for twenty requests, works.
            return now.calls > 50 && now.calls < 70 ? Self.hang : (50, .answered(201))
        }
        let wakeUps = try (0..<200).map { try WebPushWorld.wakeUp($0, "a.example.org") }
        world.run(wakeUps)
        #expect(world.settled.count == 200)
        #expect(world.settled.values.count { $0 == .accepted } == 200)
    }

    @Test("when nothing can be reached, the gateway is unavailable")
    func allHang() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (1, .failed(.network(code: 7))) }
        world.run(try (0..<100).map { try WebPushWorld.wakeUp($0, "h\($0 % 3).example.org") })
        #expect(world.failure == .unavailable(.unreachable, .webPush))
        // There is neither host, port nor via in [webpush].
        #expect(
            world.failure?.message.hasPrefix("webpush: no push service can be reached\n") == true)
        #expect(world.failure?.message.contains("host and port") == false)
        #expect(world.settled.count == 99)
        #expect(world.settled.values.allSatisfy { $0 == .retry(.connectionFault) })
    }

    @Test("no TLS anywhere is the operator's matter")
    func noTLS() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (1, .failed(.tls(code: 60))) }
        world.run([try WebPushWorld.wakeUp(0, "a.example.org")])
        #expect(world.failure == .misconfigured(.webPush(.untrusted)))
    }

    @Test("a name server that hangs for some hosts holds up only those")
    func hangingNames() throws {
        var world = WebPushWorld()
        world.lookUp = { host, _ in
            host.hasPrefix("bad")
                ? (10_000, .failure(.timedOut)) : (5, .success([WebPushWorld.address]))
        }
        let wakeUps = try (0..<1000).map {
            try WebPushWorld.wakeUp($0, $0 % 100 == 0 ? "bad\($0).example.org" : "ok.example.org")
        }
        world.run(wakeUps)
        for number in 0..<1000 where number % 100 != 0 {
            #expect(try #require(world.times[number]) < 1000 + 10_000)
        }
        #expect(world.settled.values.count { $0 == .retry(.connectionFault) } == 10)
    }

    @Test("a name that does not exist is given up at once")
    func noSuchName() throws {
        var world = WebPushWorld()
        world.lookUp = { host, _ in
            host == "none.example.org"
                ? (5, .failure(.notFound)) : (5, .success([WebPushWorld.address]))
        }
        world.run([
            try WebPushWorld.wakeUp(0, "none.example.org"),
            try WebPushWorld.wakeUp(1, "ok.example.org"),
        ])
        #expect(world.settled == [0: .retry(.connectionFault), 1: .accepted])
        #expect(world.now < 2000)
    }

    private final class Clock { var calls = 0 }
}
