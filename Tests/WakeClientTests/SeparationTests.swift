import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

/// Who sees a registration and a fetch must not join them by their times.
@Suite("Registrations are apart from fetches in time")
struct SeparationTests {
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    /// A device that was switched off for longer than a registration lasts.
    private func overdue(_ seed: UInt64) throws -> World {
        let world = try World(seed: seed)
        try world.time.run {
            let client = try world.client()
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .registered)
            await world.time.sleep(.seconds(3 * 86_400))
        }
        return world
    }

    private static func expectSpread(_ waits: [Duration]) {
        #expect(waits.allSatisfy { $0 >= .zero && $0 <= .seconds(602) }, "\(waits)")
        // Evenly: a quarter of them in each quarter, give or take five standard deviations.
        let (mean, tolerance) = (waits.count / 4, 5 * Double(waits.count * 3 / 16).squareRoot())
        for quarter in 0..<4 {
            let range = Duration.seconds(150 * quarter)..<Duration.seconds(150 * (quarter + 1))
            let count = waits.count { range.contains($0) }
            #expect(Double(abs(count - mean)) <= tolerance, "\(quarter): \(count)")
        }
    }

    @Test("a renewal that is due when run begins comes at random within ten minutes of the head")
    func run() throws {
        var waits: [Duration] = []
        for seed in 1...120 as ClosedRange<UInt64> {
            let world = try overdue(seed)
            let start = world.time.now
            try world.time.run {
                try await world.live(try world.client(), for: .seconds(603))
            }
            let head = try #require(world.headFetches.first { $0 >= start })
            #expect(PacedTransport.isBegin(head - start))
            #expect(world.registrations.count == 2)
            waits.append(try #require(world.registrations.last) - head)
        }
        Self.expectSpread(waits)
    }

    @Test("so it does after the check of sync, which takes no other step")
    func sync() throws {
        var waits: [Duration] = []
        for seed in 1...120 as ClosedRange<UInt64> {
            let world = try overdue(seed)
            let wait = try world.time.run {
                let client = try world.client()
                #expect(try await client.check() == .upToDate)
                let wait = try #require(try await client.registrationWait())
                // Before its time nothing is sent.
                try await client.reconcileApart()
                #expect(world.service.puts == 1)
                await world.time.sleep(wait)
                #expect(try await client.registrationWait() == nil)
                try await client.reconcileApart()
                #expect(world.service.puts == 2)
                #expect(try await client.registrationWait() == nil)
                return wait
            }
            waits.append(wait)
        }
        Self.expectSpread(waits)
    }

    @Test("what somebody has just asked for is sent at once, and again until it is acknowledged")
    func asked() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [.init(status: 500)])
            let client = try world.client()
            #expect(try await client.registrationWait() == nil)
            _ = try await client.register(.init(.fcm, text: Self.token))
            await world.time.sleep(.seconds(40))
            #expect(try await client.registrationWait() == nil)
            try await client.reconcileApart()
            #expect(await client.status.registration == .registered)
        }
    }

    @Test("what the feed allows or ends for all clients at once is apart from its head")
    func directed() throws {
        for flags in [FeedFlags.retired, []] {
            let isRetired = flags == .retired
            let settings = FeedSettings(
                pollSeconds: 86_400, spreadSeconds: 0, flags: isRetired ? [] : .noRegistration)
            let world = try World(settings: settings)
            try world.time.run {
                let client = try world.client()
                if !isRetired { try await client.synchronize() }
                let state = try await client.register(.init(.fcm, text: Self.token))
                #expect(state == (isRetired ? .registered : .suspended))
                await world.time.sleep(.seconds(10))
                try world.feed.resign(
                    FeedSettings(pollSeconds: 86_400, spreadSeconds: 0, flags: flags))
            }
            // Another process.
            try world.time.run {
                let client = try world.client()
                _ = try await client.check()
                let wait = try #require(try await client.registrationWait())
                await world.time.sleep(wait)
                try await client.reconcileApart()
                #expect(world.service.rows.count == (isRetired ? 0 : 1))
            }
        }
    }

    @Test("each request of a check begins a multiple of 100 ms after the first, and a little more")
    func paced() throws {
        let world = try World()
        for _ in 0..<5 { try world.feed.publishCover() }
        try world.time.run { try await world.client().synchronize() }
        let times = world.network.traces.map(\.time)
        #expect(times.count == 7)
        #expect(PacedTransport.isBegin(try #require(times.first)))
        var delays: Set<Duration> = []
        for (index, time) in times.enumerated() {
            let delay = time - PacedTransport.firstStep - PacedTransport.step * index
            #expect((.zero..<PacedTransport.jitter).contains(delay), "\(index)")
            delays.insert(delay)
        }
        #expect(delays.count > 5)
    }
}

extension PacedTransport {
    /// Whether the first request of a check began so long after it was due.
    static func isBegin(_ wait: Duration) -> Bool {
        (firstStep..<firstStep + jitter).contains(wait)
    }
}
