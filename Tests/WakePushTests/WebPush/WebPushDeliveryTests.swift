import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite("Web Push flow")
struct WebPushDeliveryTests {
    private func wakeUps(_ count: Int, over hosts: Int = 1) throws -> [WakeUp] {
        try (0..<count).map { try WebPushWorld.wakeUp($0, "push\($0 % hosts).example.org") }
    }

    @Test("everything that is accepted is settled as accepted, after one look-up for each host")
    func accepted() throws {
        var world = WebPushWorld()
        world.run(try wakeUps(500, over: 5))
        #expect(world.settled.count == 500 && world.settled.values.allSatisfy { $0 == .accepted })
        #expect(world.lookUps.count == 5 && world.lookUps.values.allSatisfy { $0 == 1 })
        #expect(world.sent == 500 && world.failure == nil)
    }

    @Test("no host gets more than its share at once, and all together not more than theirs")
    func bounds() throws {
        var limits = WebPushLimits()
        (limits.perHost, limits.total) = (5, 18)
        var world = WebPushWorld(limits: limits)
        world.run(try wakeUps(2000, over: 7))
        #expect(world.mostAtHost == 5 && world.mostInFlight == 18)
        #expect(world.settled.count == 2000)
    }

    @Test("a host that has answered nothing gets four requests, not sixteen")
    func slowStart() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (9999, .answered(201)) }
        world.add(try wakeUps(100))
        for _ in 0..<20 { world.step() }
        #expect(world.mostAtHost == 4)
    }

    @Test("a slow host that fills the window does not hold up the others; its rest comes last")
    func slowHost() throws {
        var limits = WebPushLimits()
        (limits.window, limits.perHost) = (512, 4)
        var world = WebPushWorld(limits: limits)
        world.answer = { host, _, _ in (host.hasPrefix("push0") ? 1500 : 20, .answered(201)) }
        // Half of 4,000 at one host: 750 seconds of its own, the others some seconds of theirs.
        let wakeUps = try (0..<4000).map { number in
            let host = number % 2 == 0 ? 0 : 1 + number / 2 % 5
            return try WebPushWorld.wakeUp(number, "push\(host).example.org")
        }
        world.run(wakeUps, capacity: limits.window)
        #expect(world.settled.count == 4000 && world.sent == 4000)
        #expect(world.settled.values.allSatisfy { $0 == .accepted })
        let others = world.times.filter { $0.key % 2 == 1 }.values.max() ?? .max
        #expect(others < 30_000, "\(others) ms")
        #expect((700_000..<800_000).contains(world.now))
        // In a pass of its own nothing is given back again.
        #expect(world.givenBack.count > 1500 && Set(world.givenBack).count == world.givenBack.count)
        #expect(world.givenBack.allSatisfy { $0 % 2 == 0 })
    }

    @Test("many slow hosts share half of all requests: the others have the rest")
    func slowHosts() throws {
        /// - Returns: the time at which the prompt hosts had all of theirs.
        func time(slow: UInt64) throws -> UInt64 {
            var limits = WebPushLimits()
            (limits.perHost, limits.total, limits.slow) = (4, 32, slow)
            var world = WebPushWorld(limits: limits)
            world.answer = { host, _, _ in (host.hasPrefix("slow") ? 9000 : 50, .answered(201)) }
            let wakeUps = try (0..<2000).map { number in
                let name = number % 2 == 0 ? "slow\(number / 2 % 20)" : "push\(number / 2 % 8)"
                return try WebPushWorld.wakeUp(number, name + ".example.org")
            }
            world.run(wakeUps)
            #expect(world.settled.values.count { $0 == .accepted } == 2000)
            return world.times.filter { $0.key % 2 == 1 }.values.max() ?? .max
        }
        // One answer of the slow ones, while all are new, and what half of the requests takes.
        #expect(try time(slow: 2000) < 15_000)
        #expect(try time(slow: .max) > 60_000)
    }

    @Test("hosts of three speeds: each of them waits for the slower ones in no pass")
    func speeds() throws {
        var limits = WebPushLimits()
        (limits.window, limits.perHost) = (512, 4)
        var world = WebPushWorld(limits: limits)
        world.answer = { host, _, _ in
            (["a": 10, "b": 100, "c": 1000][host.prefix(1)] ?? 0, .answered(201))
        }
        let wakeUps = try (0..<3000).map { number in
            try WebPushWorld.wakeUp(number, ["a", "b", "c"][number % 3] + ".example.org")
        }
        world.run(wakeUps, capacity: limits.window)
        #expect(world.settled.values.count { $0 == .accepted } == 3000 && world.sent == 3000)
        func last(_ kind: Int) -> UInt64 {
            world.times.filter { $0.key % 3 == kind }.values.max() ?? .max
        }
        // 1,000 each: 2.5, 25 and 250 seconds alone.
        #expect(last(0) < 15_000, "\(last(0)) ms")
        #expect(last(1) < 60_000, "\(last(1)) ms")
        #expect(last(2) < 300_000, "\(last(2)) ms")
    }

    @Test("429 is for its endpoint: it waits as long as it is told, the others do not")
    func throttled() throws {
        var world = WebPushWorld()
        world.answer = { _, number, attempt in
            number == 3 && attempt == 1
                ? (20, .answered(status: 429, retryAfter: 90)) : (20, .answered(201))
        }
        world.run(try wakeUps(50))
        #expect(world.settled.values.allSatisfy { $0 == .accepted } && world.retried == 1)
        let late = try #require(world.times[3])
        #expect(late >= 91_000 && late <= 91_000 + 46_000)
        for number in 0..<50 where number != 3 {
            #expect(try #require(world.times[number]) < 3000)
        }
    }

    @Test("429 for longer than a round lasts is given up at once")
    func throttledForLong() throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in
            number == 0
                ? (20, .answered(status: 429, retryAfter: 7000)) : (20, .answered(201))
        }
        world.run(try wakeUps(2))
        #expect(world.settled == [0: .retry(.throttled), 1: .accepted])
        #expect(world.now < 3000)
    }

    @Test("404 is believed once its host has accepted something, also what came before")
    func goneWithEvidence() throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in
            (UInt64(20 + number), .answered(number == 7 ? 201 : 404))
        }
        world.run(try wakeUps(8))
        #expect(world.settled[7] == .accepted)
        for number in 0..<7 { #expect(world.settled[number] == .invalid) }
    }

    @Test("404 to everything deletes nothing, and is told when nothing was accepted anywhere")
    func goneWithoutEvidence() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (20, .answered(404)) }
        world.run(try wakeUps(300, over: 3))
        #expect(world.failure == .misconfigured(.webPush(.endpointsUnknown)))
        #expect(!world.settled.values.contains(.gone))
        #expect(world.sent == 300)
    }

    @Test("404 of one host to everything deletes nothing there while another host accepts")
    func goneAtOneHost() throws {
        var world = WebPushWorld()
        world.answer = { host, _, _ in (20, .answered(host.hasPrefix("push0") ? 404 : 201)) }
        world.run(try wakeUps(400, over: 2))
        #expect(world.failure == nil)
        for number in 0..<400 {
            let expected: Delivery = number % 2 == 0 ? .retry(.unknownRefusal) : .accepted
            #expect(world.settled[number] == expected)
        }
    }

    @Test("410 to everything is believed three times of a host that accepted nothing, no more")
    func goneWithoutEnd() throws {
        var world = WebPushWorld()
        world.answer = { host, _, _ in (20, .answered(host.hasPrefix("push0") ? 410 : 201)) }
        world.run(try wakeUps(400, over: 2))
        #expect(world.failure == nil)
        #expect(world.settled.values.count { $0 == .gone } == 3)
        #expect(world.settled.values.count { $0 == .retry(.unknownRefusal) } == 197)
        #expect(world.settled.values.count { $0 == .accepted } == 200)
    }

    @Test("410 is believed as often as it comes of a host that accepts others")
    func goneBesideAccepted() throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in (20, .answered(number % 10 == 9 ? 201 : 410)) }
        world.run(try wakeUps(200))
        let (gone, invalid) = (Delivery.gone, Delivery.invalid)
        #expect(world.settled.values.count { $0 == gone || $0 == invalid } == 180)
    }

    @Test("410 of a few is believed of any host")
    func goneForGood() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (20, .answered(410)) }
        world.run(try wakeUps(3))
        #expect(world.settled.values.allSatisfy { $0 == .gone } && world.settled.count == 3)
    }

    @Test(
        "a refusal of one endpoint does not stop the gateway, nor the host",
        arguments: [301, 400, 401, 403, 405, 413, 418])
    func refusedOne(_ status: Int) throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in (20, .answered(number % 10 == 0 ? status : 201)) }
        world.run(try wakeUps(1000))
        #expect(world.failure == nil && world.sent == 1000)
        for number in 0..<1000 {
            let expected: Delivery = number % 10 == 0 ? .retry(.unknownRefusal) : .accepted
            #expect(world.settled[number] == expected)
        }
    }

    @Test("a host that refuses everything is asked once for each endpoint; the others go on")
    func refusingHost() throws {
        var world = WebPushWorld()
        world.answer = { host, _, _ in (20, .answered(host.hasPrefix("push0") ? 403 : 201)) }
        world.run(try wakeUps(4000, over: 4))
        #expect(world.failure == nil)
        #expect(world.settled.values.count { $0 == .accepted } == 3000)
        #expect(world.settled.values.count { $0 == .retry(.unknownRefusal) } == 1000)
        #expect(world.asked["push0.example.org"] == 1000)
    }

    @Test("thirty real endpoints among thousands invented are woken", arguments: [403, 404])
    func invented(_ status: Int) throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in (20, .answered(number % 250 == 249 ? 201 : status)) }
        world.run(try wakeUps(7500))
        #expect(world.failure == nil)
        #expect(world.settled.values.count { $0 == .accepted } == 30)
        #expect(world.settled.values.count { $0 == .invalid } == (status == 404 ? 7470 : 0))
    }

    @Test("when every host refuses, the gateway is at fault")
    func allRefuse() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (20, .answered(403)) }
        world.run(try wakeUps(10, over: 5))
        #expect(world.failure == .misconfigured(.webPush(.keyRefused(status: 403))))
        #expect(world.settled.count == 9)
    }

    @Test("one 5xx costs one more attempt; ten of them the wake-up")
    func serviceFault() throws {
        var world = WebPushWorld()
        world.answer = { _, number, attempt in
            let isFailing = number == 1 && attempt == 1 || number == 2
            return (20, .answered(isFailing ? 503 : 201))
        }
        world.run(try wakeUps(5))
        #expect(world.settled[1] == .accepted && world.settled[2] == .retry(.serviceFault))
        #expect(world.sent == 5 + 1 + 9)
    }

    @Test("what will be the same in a minute is asked once a round", arguments: [501, 505, 507])
    func final(_ status: Int) throws {
        var world = WebPushWorld()
        world.answer = { _, number, _ in (20, .answered(number < 100 ? status : 201)) }
        world.run(try wakeUps(150))
        #expect(world.sent == 150 && world.retried == 0 && world.failure == nil)
        #expect(world.settled.values.count { $0 == .retry(.serviceFault) } == 100)
        #expect(world.settled.values.count { $0 == .accepted } == 50)
    }

    /// Microsoft's and another host, half of the wake-ups each.
    private func besideMicrosoft(_ count: Int) throws -> [WakeUp] {
        try (0..<count).map {
            try WebPushWorld.wakeUp(
                $0, $0 % 2 == 0 ? "par02p.notify.windows.com" : "push.example.org")
        }
    }

    @Test("406 of Microsoft's service rests the whole host for as long as it says")
    func hostThrottled() throws {
        var world = WebPushWorld()
        world.answer = { host, number, attempt in
            let isRefused = host.hasSuffix("windows.com") && number < 8 && attempt == 1
            return (20, isRefused ? .answered(status: 406, retryAfter: 60) : .answered(201))
        }
        world.run(try besideMicrosoft(200), until: 50_000)
        #expect(world.asked["par02p.notify.windows.com"] == 4)
        for number in 0..<200 where number % 2 == 1 { #expect(world.settled[number] == .accepted) }
        #expect(try #require(world.times.values.max()) < 3000)
        for _ in 0..<20_000 where world.settled.count < 200 { world.step() }
        #expect(world.settled.values.allSatisfy { $0 == .accepted } && world.failure == nil)
    }

    @Test("406 for longer than a round lasts, or again and again, ends the host's round")
    func hostThrottledForLong() throws {
        for (retryAfter, most) in [(3600, 4), (nil, 8)] {
            var world = WebPushWorld()
            world.answer = { host, _, _ in
                host.hasSuffix("windows.com")
                    ? (20, .answered(status: 406, retryAfter: retryAfter)) : (20, .answered(201))
            }
            world.run(try besideMicrosoft(1200))
            #expect(world.failure == nil && world.settled.count == 1200)
            #expect(world.settled.values.count { $0 == .accepted } == 600)
            #expect(world.settled.values.count { $0 == .retry(.throttled) } == 600)
            #expect(try #require(world.asked["par02p.notify.windows.com"]) <= most)
            #expect(world.now < 240_000)
        }
    }

    @Test("Retry-After is kept with any refusal of a request")
    func refusedForNow() throws {
        var world = WebPushWorld()
        world.answer = { _, number, attempt in
            let isRefused = number < 20 && attempt == 1
            return (20, isRefused ? .answered(status: 413, retryAfter: 9) : .answered(201))
        }
        world.run(try wakeUps(40))
        #expect(world.settled.values.allSatisfy { $0 == .accepted } && world.retried == 20)
        #expect((0..<20).allSatisfy { world.times[$0] ?? 0 >= 10_000 })
    }

    @Test("a reply larger than what is read was still accepted")
    func largeReply() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (20, .failed(.tooLarge)) }
        world.run(try wakeUps(1))
        #expect(world.settled == [0: .accepted])
    }

    @Test("draining settles what is held, and the flow goes on")
    func draining() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (20, .answered(404)) }
        world.add(try wakeUps(3))
        world.flow.flush(isFinal: false)
        for _ in 0..<10 { world.step() }
        #expect(world.settled.values.allSatisfy { $0 == .retry(.unknownRefusal) })
        #expect(world.settled.count == 3 && world.failure == nil)
        world.answer = { _, _, _ in (20, .answered(201)) }
        world.add([try WebPushWorld.wakeUp(3, "push0.example.org")])
        for _ in 0..<10 { world.step() }
        #expect(world.settled[3] == .accepted)
    }

    @Test("landing lets nothing more leave, and takes what comes back")
    func landing() throws {
        var world = WebPushWorld()
        world.answer = { _, _, _ in (5000, .answered(201)) }
        world.add(try wakeUps(10))
        world.step()
        world.flow.quiesce()
        let count = world.flow.inFlight
        #expect(count == 4)
        for _ in 0..<100 { world.step() }
        #expect(world.flow.inFlight == 0 && world.sent == 4 && world.settled.count == 4)
    }
}
