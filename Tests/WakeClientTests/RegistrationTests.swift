import ReveilleTesting
import Testing
import WakeFetch
import WakeModel

@testable import Reveille

@Suite("The desired registration is brought about")
struct RegistrationTests {
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)
    private static let other = Array("another-token-of-the-same-instance-9876".utf8)

    @Test(
        "HTTP 500, a portal's 200 or a lost answer ends with exactly one row",
        arguments: [
            SimulatedNetwork.Answer(status: 500), .init(status: 200), .init(isLost: true),
        ])
    func oneRow(_ answer: SimulatedNetwork.Answer) throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [answer, answer, answer])
            let client = try world.client()
            _ = try await client.register(try .init(.fcm, text: Self.token))
            try await world.live(client, for: .seconds(24 * 3600))
            #expect(await client.status.registration == .registered)
        }
        #expect(world.service.rows == [Self.token])
        #expect(world.service.puts >= (answer.isLost ? 4 : 1))
    }

    @Test("who registers while a registration is under way is told what came of it")
    func together() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            let calls = (0..<3).map { _ in
                Task(executorPreference: world.time.tasks) {
                    try await client.register(try .init(.fcm, text: Self.token))
                }
            }
            for call in calls { #expect(try await call.value == .registered) }
            #expect(world.service.rows.count == 1)
            let last = (0..<3).map { _ in
                Task(executorPreference: world.time.tasks) { try await client.unregister() }
            }
            for call in last { #expect(try await call.value == .none) }
            #expect(world.service.rows.isEmpty)
        }
    }

    @Test("who is cancelled while waiting for that does not wait for a silent service")
    func cancelledTurn() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [.init(status: 204, delay: .seconds(25))])
            let client = try world.client()
            async let first = client.register(try .init(.fcm, text: Self.token))
            await world.time.sleep(.seconds(1))
            let second = Task(executorPreference: world.time.tasks) {
                try await client.unregister()
            }
            await world.time.sleep(.seconds(1))
            let cancelled = world.time.wall
            second.cancel()
            await #expect(throws: ClientError.cancelled) { try await second.value }
            #expect(world.time.wall == cancelled)
            // What it wished is stored, and brought about by who came first.
            _ = try await first
            #expect(await client.status.registration == .none)
        }
        #expect(world.service.rows.isEmpty)
    }

    @Test("a late answer to an older registration does not acknowledge the newer one")
    func lateAnswer() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [.init(status: 204, delay: .seconds(30))])
            let client = try world.client()
            async let first = client.register(try .init(.fcm, text: Self.token))
            await world.time.sleep(.seconds(1))
            let second = try await client.register(try .init(.fcm, text: Self.other))
            #expect(second == .registered)
            _ = try await first
            try await world.live(client, for: .seconds(3600))
            #expect(await client.status.registration == .registered)
        }
        #expect(world.service.rows == [Self.other])
    }

    @Test("unregistering offline succeeds by itself later, across restarts, and leaves no byte")
    func unregistersLater() throws {
        let world = try World()
        let instance = try world.time.run {
            let client = try world.client()
            #expect(try await client.register(try .init(.fcm, text: Self.token)) == .registered)
            let bytes = try #require(try await client.instanceBytes)
            world.network.failEverything(with: .network(code: 7))
            let state = try await client.unregister()
            #expect(state == .unregistering(failure: .network))
            return bytes
        }
        let isKept = try world.scratch.contents().values.contains { $0.holds(instance) }
        #expect(isKept, "else the search below is blind")
        for _ in 0..<3 {
            try world.time.run {
                let client = try world.client()
                try await world.live(client, for: .seconds(3600))
                guard case .unregistering = await client.status.registration else {
                    Issue.record("the erasure was lost")
                    return
                }
            }
        }
        world.network.failEverything(with: nil)
        try world.time.run {
            let client = try world.client()
            try await world.live(client, for: .seconds(7 * 3600))
            #expect(await client.status.registration == .none)
        }
        #expect(world.service.rows.isEmpty)
        let secrets = [instance, Self.token, Base64URL.encode(instance.span)]
        for (path, bytes) in try world.scratch.contents() {
            let holds = secrets.contains { bytes.holds($0) }
            #expect(!holds, "\(path)")
        }
    }

    @Test("Retry-After is waited for, and never for more than six hours")
    func retryAfter() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: [
                .init(status: 503, retryAfter: 3000), .init(status: 503, retryAfter: 999_999),
            ])
            let client = try world.client()
            _ = try await client.register(try .init(.fcm, text: Self.token))
            try await world.live(client, for: .seconds(24 * 3600))
        }
        let puts = world.network.traces.filter { $0.purpose == .registration }.map(\.time)
        #expect(puts.count == 3)
        #expect(puts[1] - puts[0] >= .seconds(3000))
        #expect((Duration.seconds(21_600)...Duration.seconds(21_700)).contains(puts[2] - puts[1]))
    }

    @Test("a refusal is one warning and asked again seldom")
    func refusal() throws {
        let world = try World()
        try world.time.run {
            world.service.answer(next: Array(repeating: .init(status: 400), count: 100))
            let client = try world.client()
            _ = try await client.register(try .init(.fcm, text: Self.token))
            try await world.live(client, for: .seconds(2 * 86_400))
        }
        #expect(world.handler.warnings == [.registrationRefused(status: 400)])
        let puts = world.network.traces.count { $0.purpose == .registration }
        #expect((8...17).contains(puts))
    }

    @Test("a push token the service does not serve: one warning, asked seldom, until it does")
    func notServed() throws {
        let world = try World()
        let states = try world.time.run {
            world.service.answer(next: Array(repeating: .init(status: 422), count: 8))
            let client = try world.client()
            let first = try await client.register(try .init(.fcm, text: Self.token))
            try await world.live(client, for: .seconds(86_400))
            let later = await client.status.registration
            #expect((4...8).contains(world.network.traces.count { $0.purpose == .registration }))
            #expect(world.service.rows == [])
            try await world.live(client, for: .seconds(2 * 86_400))
            return [first, later]
        }
        #expect(states == [.registering(failure: .notServed), .registering(failure: .notServed)])
        #expect(world.handler.warnings == [.registrationRefused(status: 422)])
        #expect(world.service.rows == [Self.token])
    }

    @Test("what the service holds is shown, and nothing registered is said so")
    func stored() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            await #expect(throws: ClientError.notRegistered) {
                try await client.storedRegistration()
            }
            _ = try await client.register(try .init(.fcm, text: Self.token))
            let stored = try await client.storedRegistration()
            #expect(stored.row?.token.text() == Self.token)
            #expect(stored.row?.id.count == 32)
            #expect(stored.row?.sealed.count == 632)
        }
    }

    @Test("a test of pushes says how long one took, or that none came, and needs a registration")
    func testPush() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            await #expect(throws: ClientError.notRegistered) { try await client.testPush() }
            _ = try await client.register(try .init(.fcm, text: Self.token))
            let test = Task(executorPreference: world.time.tasks) { try await client.testPush() }
            await world.time.sleep(.seconds(2))
            client.wake(.push)
            let delay = try #require(try await test.value)
            #expect((.seconds(1)...(.seconds(3))).contains(delay))
            #expect(try await client.testPush() == nil)
            world.service.refuse(next: [429], retryAfter: .seconds(540))
            await #expect(throws: ClientError.httpStatus(429, retryAfter: .seconds(540))) {
                try await client.testPush()
            }
        }
        let access = try ProfileAccess(world.configuration(), environment: world.environment)
        #expect(try access.pushTest()?.seconds == nil && access.pushTest() != nil)
    }
}
