import ReveilleTesting
import Synchronization
import Testing
import WakeFetch
import WakeModel

@testable import Reveille

@Suite("A registration for which the service wants work")
struct RegistrationProofTests {
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    private static func answer(
        bits: Int, _ first: UInt8 = 0, retryAfter: Int? = 60
    ) -> SimulatedNetwork.Answer {
        let bytes = Array(first..<first + 24)
        let challenge = RegistrationChallenge(bytes: bytes, bits: bits, seconds: 600)
        return .init(
            status: 429, body: challenge.problem(), contentType: .problem, retryAfter: retryAfter)
    }

    private static func puts(_ world: World) -> [FetchRequest] {
        world.network.requests.filter { $0.purpose == .registration && $0.method == .put }
    }

    @Test("proves it at once, in a request of the same size, and says what it does meanwhile")
    func proves() throws {
        let world = try World()
        let instance = try world.time.run {
            world.service.answer(next: [Self.answer(bits: 8)])
            let client = try world.client()
            #expect(try await client.register(try .init(.fcm, text: Self.token)) == .registered)
            return try #require(try await client.instanceBytes)
        }
        #expect(world.service.rows == [Self.token])
        let puts = Self.puts(world)
        #expect(puts.count == 2)
        #expect(Set(puts.map { $0.body?.count }) == [Limits.paddedBodyBytes])
        #expect(puts[0].fields.map(\.name) == puts[1].fields.map(\.name))
        let body = try RegistrationBody(decoding: try #require(puts[1].body))
        let proof = try #require(body.proof)
        #expect(proof.challenge == Array(0..<24))
        let found = ProofOfWork.search(
            proof.nonce..<proof.nonce + 1, challenge: proof.challenge,
            token: try #require(InstanceToken(instance)), bits: 8)
        #expect(found == proof.nonce)
        #expect(
            world.events.withLock { $0 }.filter { $0 != .started }
                == [.registrationProof(bits: 8), .registered])
        #expect(world.time.now < .seconds(1))
    }

    @Test("answers four challenges in a row, and then waits as it was told")
    func rounds() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: (0..<5).map { Self.answer(bits: 4, UInt8($0)) })
            let client = try world.client()
            let state = try await client.register(try .init(.fcm, text: Self.token))
            #expect(state == .registering(failure: .httpStatus(429, retryAfter: .seconds(60))))
            #expect(Self.puts(world).count == 5)
            try await world.live(client, for: .seconds(600))
            #expect(await client.status.registration == .registered)
        }
        let times = world.registrations
        #expect(times.count == 6 && times[5] - times[4] >= .seconds(60))
    }

    @Test(
        "that is too much, or makes no sense, is left, and asked for again as it was told",
        arguments: [
            answer(bits: 27), .init(status: 429, body: Array("{}".utf8), retryAfter: 60),
            .init(status: 429, retryAfter: 60),
        ])
    func refused(_ answer: SimulatedNetwork.Answer) throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [answer])
            let client = try world.client()
            let state = try await client.register(try .init(.fcm, text: Self.token))
            #expect(state == .registering(failure: .httpStatus(429, retryAfter: .seconds(60))))
            #expect(Self.puts(world).count == 1)
            try await world.live(client, for: .seconds(600))
            #expect(await client.status.registration == .registered)
        }
    }

    /// Registers where 26 bits are asked for, and calls `body` while they are worked for.
    private static func work(
        _ world: World, until body: @escaping @Sendable (WakeClient) async throws -> Bool
    ) throws {
        try world.time.run {
            // At once, for time stands still while anybody works.
            var asked = answer(bits: 26)
            asked.delay = .zero
            world.service.answer(next: [asked])
            let client = try world.client()
            let registering = Task(executorPreference: world.time.tasks) {
                try await client.register(try .init(.fcm, text: token))
            }
            while await client.status.registration != .proving { await Task.yield() }
            let access = try ProfileAccess(
                world.configuration(), environment: world.environment)
            #expect(try access.registration() == .proving)
            if try await body(client) { registering.cancel() }
            _ = await registering.result
        }
    }

    @Test("that is not desired any more is not worked for: the push token is not sent again")
    func unregistered() throws {
        let world = try World()
        try Self.work(world) { client in
            _ = try await client.unregister()
            return false
        }
        #expect(Self.puts(world).count == 1 && world.service.deletes == 1)
        #expect(world.service.rows == [])
    }

    @Test("ends with its task, and is taken up again by the next start")
    func cancelled() throws {
        let world = try World()
        try Self.work(world) { _ in true }
        #expect(Self.puts(world).count == 1)
        try world.time.run {
            let client = try world.client()
            #expect(await client.status.registration == .proving)
            try await world.live(client, for: .seconds(60))
            #expect(await client.status.registration == .registered)
        }
        #expect(Self.puts(world).count == 2)
    }
}
