import ReveilleTesting
import Synchronization
import Testing
import WakeFetch
import WakeSystem

@testable import Reveille

@Suite("A restart cuts the wait for a registration, once")
struct RestartTests {
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    /// A device that has tried for two days without a line, and waits for hours.
    private func patient(_ seed: UInt64) throws -> World {
        let world = try World(seed: seed)
        world.network.fail(.registration, with: .network(code: 6))
        try world.time.run {
            let client = try world.client()
            _ = try await client.register(try .init(.fcm, text: Self.token))
            try await world.live(client, for: .seconds(2 * 86_400))
        }
        // However the last wait was drawn: the longest there is.
        try Database(path: world.stateDirectory + "/client.db", access: .readWrite).execute(
            """
            UPDATE state SET value=json_set(value, '$.notBefore', \(world.time.wall + 21_000))
            WHERE key='registration'
            """)
        return world
    }

    private func puts(_ world: World) -> [Duration] {
        world.network.traces.filter { $0.purpose == .registration }.map(\.time)
    }

    @Test("the first attempt comes within five minutes, at random", arguments: 1...8)
    func soon(_ seed: UInt64) throws {
        let world = try patient(seed)
        world.network.fail(.registration, with: nil)
        let (start, before) = (world.time.now, puts(world).count)
        try world.time.run { try await world.live(try world.client(), for: .seconds(302)) }
        #expect(puts(world).count == before + 1)
        #expect(try #require(puts(world).last) - start <= .seconds(301))
        #expect(world.service.rows == [Self.token])
    }

    @Test("once: the attempts after it wait as long as they would have")
    func once() throws {
        let world = try patient(3)
        let before = puts(world)
        try world.time.run { try await world.live(try world.client(), for: .seconds(86_400)) }
        // Full jitter below six hours: on average eight a day, and one for the restart.
        #expect((2...30).contains(puts(world).count - before.count))
    }

    @Test("a program that is restarted all the time asks no more often than every five minutes")
    func crashLoop() throws {
        for period in [2, 20, 60] {
            let world = try patient(5)
            let before = puts(world).count
            let starts = 600
            try world.time.run {
                for _ in 0..<starts {
                    try await world.live(try world.client(), for: .seconds(Int64(period)))
                }
            }
            let count = Double(puts(world).count - before)
            // On average, and six standard deviations more.
            let expected = Double(starts * period) / 300
            #expect(
                count > 0 && count <= expected + 6 * expected.squareRoot(), "\(period): \(count)")
        }
    }

    @Test("what the server asked for is kept to, across restarts, and so is a refusal")
    func asked() throws {
        for answer in [
            SimulatedNetwork.Answer(status: 503, retryAfter: 20_000), .init(status: 400),
        ] {
            let world = try World()
            world.service.answer(next: [answer])
            try world.time.run {
                let client = try world.client()
                _ = try await client.register(try .init(.fcm, text: Self.token))
            }
            try world.time.run {
                for _ in 0..<9 {
                    try await world.live(try world.client(), for: .seconds(1000))
                }
            }
            #expect(puts(world).count == 1)
            try world.time.run {
                try await world.live(try world.client(), for: .seconds(21_600))
            }
            #expect(puts(world).count == 2)
        }
    }

    @Test("a registration that was acknowledged is not renewed any sooner")
    func renewal() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            _ = try await client.register(try .init(.fcm, text: Self.token))
        }
        try world.time.run {
            for _ in 0..<20 { try await world.live(try world.client(), for: .seconds(1000)) }
        }
        #expect(puts(world).count == 1)
    }
}
