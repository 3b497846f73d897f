import ReveilleTesting
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakeSystem

@testable import Reveille

/// One test for each topic, in this file and in those named `…BehaviourTests`.
@Suite("What a client promises, topic by topic")
struct BehaviourTests {
    static let secret = Array("only this device knows this".utf8)
    static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)
    static let other = Array("another-token-of-the-same-instance-9876".utf8)

    /// Raw, base64url and hexadecimal in both cases.
    static func forms(_ bytes: [UInt8]) -> [[UInt8]] {
        let hex = Hex.encode(bytes.span)
        let upper = Array(String(decoding: hex, as: UTF8.self).uppercased().utf8)
        return [bytes, Base64URL.encode(bytes.span), hex, upper]
    }

    static func isSaid(_ secret: [UInt8], in request: FetchRequest, except name: String) -> Bool {
        var said = request.url.bytes + (request.body ?? [])
        for field in request.fields where field.name.description != name { said += field.value }
        return forms(secret).contains { said.holds($0) }
    }

    @Test("instance token: 32 random bytes, private, in Authorization alone, new after an erasure")
    func instanceToken() throws {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publish([Self.secret])
        var instances: [[UInt8]] = []
        for _ in 0..<3 {
            instances += try world.time.run {
                let client = try world.client(.stream)
                _ = try await client.register(Self.pushToken())
                let instance = try #require(try await client.instanceBytes)
                try await world.live(client, for: .seconds(4 * 86_400))
                _ = try await client.storedRegistration()
                for name in ["", "/client.db", "/client.db-wal"] {
                    let mode = try FileStatus(of: world.stateDirectory + name).mode
                    #expect(mode == (name.isEmpty ? 0o700 : 0o600))
                }
                #expect(try await client.unregister() == .none)
                for (path, bytes) in try world.scratch.contents() {
                    let isLeft = Self.forms(instance).contains { bytes.holds($0) }
                    #expect(!isLeft, "\(path)")
                }
                return [instance]
            }
        }
        #expect(instances.allSatisfy { $0.count == 32 })
        #expect(Set(instances).count == 3)
        for request in world.network.requests {
            let values = request.fields.filter { $0.name.description == "Authorization" }
                .map(\.value)
            #expect(values.count == (request.purpose == .registration ? 1 : 0))
            let bearers = instances.map { Array("Bearer ".utf8) + Base64URL.encode($0.span) }
            #expect(values.allSatisfy { bearers.contains($0) })
            for instance in instances {
                let isSaid = Self.isSaid(instance, in: request, except: "Authorization")
                #expect(!isSaid)
            }
        }
    }

    @Test("registration: noted as done after a 204 and not before, and tried on until then")
    func registration() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            world.service.answer(next: [.init(status: 500, delay: .seconds(30))])
            let first = Task(executorPreference: world.time.tasks) {
                try await client.register(Self.pushToken())
            }
            await world.time.sleep(.seconds(10))
            #expect(await client.status.registration == .registering(failure: nil))
            let failed = RegistrationState.registering(
                failure: .httpStatus(500, retryAfter: nil))
            #expect(try await first.value == failed)
        }
        // The next process knows no better.
        world.network.fail(.registration, with: .network(code: 7))
        let before = world.registrations.count
        try world.time.run {
            let client = try world.client()
            // Nor has it forgotten why.
            let state = RegistrationState.registering(failure: .httpStatus(500, retryAfter: nil))
            #expect(await client.status.registration == state)
            for _ in 0..<10 where world.registrations.count - before < 200 {
                try await world.live(client, for: .seconds(86_400))
            }
        }
        let tries = Array(world.registrations[before...])
        let gaps = zip(tries, tries.dropFirst()).map { $1 - $0 }
        // Half of six hours on the average.
        #expect((50...150).contains(tries.count), "\(tries.count)")
        #expect(gaps.allSatisfy { $0 >= .seconds(1) && $0 < .seconds(21_700) })
        #expect(gaps.contains { $0 > .seconds(15_000) } && gaps.contains { $0 < .seconds(5000) })
        world.network.fail(.registration, with: nil)
        world.service.answer(next: [.init(status: 503, retryAfter: 4000)])
        try world.time.run {
            let client = try world.client()
            // Registered once more: the back-off starts over, at half a minute.
            _ = try await client.register(Self.pushToken())
            try await world.live(client, for: .seconds(86_400))
            #expect(await client.status.registration == .registered)
        }
        let last = world.registrations.suffix(2)
        #expect(try #require(last.last) - #require(last.first) >= .seconds(4000))
        #expect(world.service.rows == [Self.token])
    }

    @Test("registration: one that failed beside a running client is tried again within moments")
    func registrationBeside() throws {
        let world = try World(settings: FeedSettings(pollSeconds: 86_400, spreadSeconds: 0))
        try world.time.run {
            let client = try world.client()
            try await world.live(client, for: .seconds(600)) {
                await world.time.sleep(.seconds(1000))
                // Slow, so that the client's own loop comes while it is on its way.
                world.service.answer(next: [.init(status: 500, delay: .seconds(5))])
                _ = try await client.register(Self.pushToken())
                await world.time.sleep(.seconds(60))
                #expect(await client.status.registration == .registered)
                // The same with a caller that goes away.
                world.service.answer(next: [.init(status: 204, delay: .seconds(5))])
                let cancelled = Task(executorPreference: world.time.tasks) {
                    try await client.register(Self.pushToken(Self.other))
                }
                await world.time.sleep(.seconds(1))
                cancelled.cancel()
                _ = await cancelled.result
                await world.time.sleep(.seconds(60))
                #expect(world.service.rows == [Self.other])
                #expect(await client.status.registration == .registered)
            }
        }
    }

    @Test("token change: the newest token gets the one row, whatever became of the others")
    func tokenChange() throws {
        let world = try World()
        try world.time.run {
            let client = try world.client()
            for round in 0..<40 {
                let answers = [
                    SimulatedNetwork.Answer(isLost: true), .init(status: 500),
                    .init(isUnsent: true),
                    .init(status: 204),
                ]
                world.service.answer(next: [answers[round % 4]])
                _ = try await client.register(Self.pushToken(Array("token-\(round)".utf8)))
                if round % 3 == 0 { await world.time.sleep(.seconds(40_000)) }
            }
            world.service.answerTruly()
            _ = try await client.register(Self.pushToken(Self.other))
            try await world.live(client, for: .seconds(86_400))
            #expect(await client.status.registration == .registered)
        }
        #expect(world.service.rows == [Self.other])
        #expect(world.service.mostRows == 1)
    }

    @Test("renewal: at random after 1 to 2 1/3 days, and heals a service that forgot everything")
    func renewal() throws {
        let world = try World(seed: 11)
        try world.time.run {
            let client = try world.client()
            _ = try await client.register(Self.pushToken())
            try await world.live(client, for: .seconds(30 * 86_400))
            world.service.forgetAll()
            try await world.live(client, for: .seconds(202_000))
            #expect(world.service.rows == [Self.token])
            // Not even a clock that is set back by a year lets the row run out.
            world.time.setWall(by: -31_536_000)
            world.service.forgetAll()
            try await world.live(client, for: .seconds(202_000))
            #expect(world.service.rows == [Self.token])
        }
        let gaps = zip(world.registrations, world.registrations.dropFirst()).map { $1 - $0 }
        let regular = gaps.prefix(12)
        #expect(regular.count == 12)
        #expect(regular.allSatisfy { $0 >= .seconds(86_400) && $0 <= .seconds(202_000) })
        #expect(try #require(regular.max()) - #require(regular.min()) > .seconds(20_000))
    }

    @Test("unregister: pushes are ignored at once, and it is tried across restarts until a 204")
    func unregister() throws {
        let world = try World()
        let instance = try world.time.run {
            let client = try world.client()
            _ = try await client.register(Self.pushToken())
            let instance = try #require(try await client.instanceBytes)
            world.network.fail(.registration, with: .network(code: 7))
            #expect(try await client.unregister() == .unregistering(failure: .network))
            #expect(try await client.synchronize(.push) == .ignored)
            #expect(world.headFetches.isEmpty)
            return instance
        }
        world.network.fail(.registration, with: nil)
        let answers: [SimulatedNetwork.Answer] = [
            .init(status: 500), .init(isUnsent: true), .init(status: 200), .init(isLost: true),
        ]
        for (index, answer) in answers.enumerated() {
            world.service.answer(next: Array(repeating: answer, count: 50))
            // Whatever the clock does meanwhile.
            if index == 1 { world.time.setWall(by: -31_536_000) }
            try world.time.run {
                let client = try world.client()
                try await world.live(client, for: .seconds(40_000))
                guard case .unregistering = await client.status.registration else {
                    Issue.record("the erasure was given up")
                    return
                }
                #expect(try await client.instanceBytes == instance)
            }
            world.service.answerTruly()
        }
        try world.time.run {
            let client = try world.client()
            try await world.live(client, for: .seconds(22_000))
            #expect(await client.status.registration == .none)
        }
        #expect(world.service.rows.isEmpty)
        for (path, bytes) in try world.scratch.contents() {
            let isLeft = (Self.forms(instance) + Self.forms(Self.token)).contains {
                bytes.holds($0)
            }
            #expect(!isLeft, "\(path)")
        }
    }
}
