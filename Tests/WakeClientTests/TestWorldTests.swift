import FoundationEssentials
import Reveille
import ReveilleTesting
import Synchronization
import Testing

/// As an app's own tests: nothing here sees more than what is public.
@Suite("A world for the tests of apps", .timeLimit(.minutes(5)))
struct TestWorldTests {
    /// Exactly what an app with a window writes.
    @MainActor private final class Model: MatchHandler {
        var matches: [Match] = []
        var warnings: [Warning] = []

        func didFind(_ match: Match) async throws { matches.append(match) }
        func didWarn(_ warning: Warning) async { warnings.append(warning) }
    }

    private struct Broken: Error {}

    private static let secret = Array("a secret of this device".utf8)

    private func secrets(_ world: TestWorld) throws -> SecretDirectory {
        let secrets = SecretDirectory(stateDirectory: world.configuration().stateDirectory)
        try secrets.add(Self.secret, named: "visit")
        return secrets
    }

    @Test("a handler on the main actor hears of a match, and of silence after days")
    func mainActor() async throws {
        let world = try TestWorld()
        let model = Model()
        let client = try WakeClient(
            world.configuration(), secrets: secrets(world), handler: model,
            environment: world.environment)
        try world.feed.publish([Self.secret], note: "see a doctor")
        try await world.run(client, for: .seconds(3600))
        #expect(await model.matches.map(\.note) == ["see a doctor"])
        world.network.fail(with: .unreachable)
        try await world.run(client, for: .seconds(8 * 86_400))
        #expect(await model.warnings == [.silence(days: 2), .silence(days: 7)])
        #expect(world.time.now >= .seconds(8 * 86_400 + 3600))
        world.network.fail(with: nil)
        try await world.run(client, for: .seconds(3600 * 2))
        let status = await client.status
        #expect(status.failure == nil && status.matchesToDeliver == 0)
    }

    @Test("what a handler refuses comes again, and the clock stands still while it works")
    func retries() async throws {
        let world = try TestWorld()
        let times = Mutex<[Duration]>([])
        let client = try WakeClient(
            world.configuration(), secrets: secrets(world), environment: world.environment
        ) { match in
            let before = world.time.now
            // Elsewhere, for a while of real time.
            await Task { @MainActor in for _ in 0..<100 { await Task.yield() } }.value
            #expect(world.time.now == before)
            let count = times.withLock { times in
                times.append(before)
                return times.count
            }
            if count < 3 { throw Broken() }
        } onWarning: { _ in
        }
        try world.feed.publish([Self.secret])
        try await world.run(client, for: .seconds(86_400))
        let all = times.withLock { $0 }
        #expect(all.count == 3)
        #expect(zip(all.dropFirst(), all).allSatisfy { $0 - $1 >= .seconds(60) })
    }

    @Test("a loop over events on the main actor sees each match once, whatever the time")
    func events() async throws {
        let world = try TestWorld()
        let client = try WakeClient(
            world.configuration(channel: .stream), secrets: secrets(world),
            environment: world.environment)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let found = Task { @MainActor in
            var notes: [String] = []
            for await event in client.events {
                begin.finish()
                if case .match(let delivery) = event {
                    notes.append(delivery.match.note ?? "")
                    await delivery.acknowledge()
                }
            }
            return notes
        }
        // A loop ends with the run that ends while it is there.
        for await _ in begun {}
        try await world.run { [world] in
            let running = Task { try await client.run() }
            for index in 0..<20 {
                try world.feed.publish([Self.secret], note: "\(index)")
                try world.wake()
                await world.time.sleep(for: .seconds(600))
            }
            running.cancel()
            try await running.value
        }
        let notes = await found.value
        let expected: [String] = (0..<20).map { "\($0)" }
        #expect(notes == expected)
    }

    @Test("one check, a registration and faults of each kind, without `run`")
    func steps() async throws {
        let world = try TestWorld()
        let client = try WakeClient(
            world.configuration(), secrets: secrets(world), environment: world.environment)
        try world.feed.publish([Self.secret])
        let outcome = try await world.run { try await client.synchronize() }
        #expect(outcome == .checked(batches: 1, matches: 1))
        world.service.refuse(next: [503], retryAfter: .seconds(60))
        let token = try AppPushToken(.fcm, text: "a-token:of-this-device")
        let first = try await world.run { try await client.register(token) }
        #expect(
            first == .registering(failure: .httpStatus(503, retryAfter: .seconds(60))))
        try await world.run(client, for: .seconds(3600))
        #expect(world.service.registrationCount == 1)
        for (fault, error) in [
            (SimulatedFeed.Fault.unsigned, ClientError.badSignature),
            (.outOfOrder, .httpStatus(503, retryAfter: nil)),
        ] {
            world.feed.serve(with: fault)
            await #expect(throws: error) {
                try await world.run { try await client.synchronize() }
            }
        }
        world.feed.serve(with: nil)
        world.network.fail([.feed], with: .tls)
        await #expect(throws: ClientError.tls(.unknownIssuer)) {
            try await world.run { try await client.synchronize() }
        }
    }

    @Test("a private fetch is bounded, metered, and the same clock's")
    func privateFetch() async throws {
        let world = try TestWorld()
        try world.feed.publish([Self.secret])
        let meter = world.directory + "/meter"
        let fetch = {
            try PrivateFetch(
                dailyByteBudget: 262_144, meterFile: meter, environment: world.environment)
        }
        let first = try fetch()
        let url = "https://shop.example/feed/head"
        let head = try await world.run { try await first.bytes(from: url, limit: 8192) }
        #expect(head.count > 328)
        let part = try await world.run { try await first.bytes(from: url, in: 300..<5000) }
        #expect(part == Array(head[300...]))
        let beyond = try await world.run { try await first.bytes(from: url, in: 9000..<9001) }
        #expect(beyond.isEmpty)
        await #expect(throws: ClientError.tooLarge) {
            try await world.run { try await first.bytes(from: url, limit: 100) }
        }
        await #expect(throws: ClientError.configuration(.feedURL)) {
            try await world.run { try await first.bytes(from: "http://shop.example/", limit: 1) }
        }
        await #expect(throws: ClientError.httpStatus(404, retryAfter: nil)) {
            try await world.run {
                try await first.bytes(from: "https://shop.example/feed/none", limit: 1)
            }
        }
        // Across a restart the day's bytes are counted.
        let second = try fetch()
        let seconds = 1_800_000_000 / 86_400 * 86_400 + 86_400
        let midnight = Date(timeIntervalSince1970: Double(seconds))
        await #expect(throws: ClientError.metered(until: midnight)) {
            try await world.run { try await second.bytes(from: url, limit: 262_000) }
        }
        world.time.date = midnight
        let next = try await world.run { try await second.bytes(from: url, limit: 262_000) }
        #expect(next == head)
    }
}
