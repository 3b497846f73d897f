import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

/// The life of a registration through a relay: where its key comes from, and when.
@Suite("A registration through a relay")
struct ObliviousRegistrationTests {
    private static let token = Array("a-token-that-nobody-else-has-0123456789".utf8)

    /// A relay before the service of a world, and the gateway behind it.
    private final class Relay: Sendable {
        private struct State {
            var ring = ObliviousKeyRing([Relay.key()])
            var lie: SimulatedNetwork.Answer?
        }

        private let world: World
        private let state = Mutex(State())

        init(_ world: World) { self.world = world }

        var ring: ObliviousKeyRing { state.withLock { $0.ring } }
        /// What the relay answers by itself.
        func lie(_ answer: SimulatedNetwork.Answer?) { state.withLock { $0.lie = answer } }
        /// Gives the gateway a new key and no former one.
        func replaceKey() { state.withLock { $0.ring = ObliviousKeyRing([Self.key()]) } }

        private static func key() -> ObliviousKey {
            let line = ObliviousKey.newLine(ciphers: [.chaCha20Poly1305])
            guard let key = ObliviousKey(line: line.span) else { preconditionFailure("a new key") }
            return key
        }

        func route(_ request: FetchRequest) -> SimulatedNetwork.Answer? {
            guard request.purpose == .registration else { return world.feed.route(request) }
            let (ring, lie) = state.withLock { ($0.ring, $0.lie) }
            if let lie { return lie }
            let body = request.body ?? []
            guard case .success(let opened) = ring.open(body.span) else {
                return .init(status: 400, contentType: .problem)
            }
            guard let inner = Self.inner(opened.message.bytes),
                let answer = world.service.route(inner)
            else { return .init(status: 503, contentType: .problem) }
            var writer = BinaryMessageWriter(status: UInt16(answer.status), capacity: 8192)
            if let seconds = answer.retryAfter {
                let text = Array("\(seconds)".utf8)
                writer.add("retry-after", text.span)
            }
            let content = answer.body
            let sealed = writer.finish(content: content.span).flatMap { opened.response.seal($0) }
            return .init(body: sealed ?? [], contentType: .obliviousResponse)
        }

        private static func inner(_ bytes: [UInt8]) -> FetchRequest? {
            guard let message = try? BinaryMessage(bytes),
                case .request(let name, _, _, _) = message.control,
                let method = FetchRequest.Method(
                    rawValue: String(decoding: bytes[name], as: UTF8.self)),
                let field = message.onlyValue(of: "authorization", in: bytes.span),
                let url = try? FetchURL("https://wake.example/v1/registration")
            else { return nil }
            return FetchRequest(
                url, method: method, fields: [FetchField("Authorization", Array(bytes[field]))],
                body: method == .get ? nil : message.content(in: bytes.span), limit: 4096,
                purpose: .registration)
        }
    }

    /// A world whose service is reached through a relay alone.
    private struct RelayedWorld: Sendable {
        let world: World
        let relay: Relay
        let network: SimulatedNetwork

        init() throws {
            world = try World()
            let relay = Relay(world)
            self.relay = relay
            network = SimulatedNetwork(world.time) { relay.route($0) }
        }

        /// Has the next head name the gateway's key, and puts the key beside it.
        func nameKey(flags: FeedFlags = []) throws {
            let ring = relay.ring
            var settings = FeedSettings(pollSeconds: 3600, spreadSeconds: 0, flags: flags)
            settings.gatewayKeys = try #require(
                GatewayKeyHashes(ring.keys.map(\.configuration.hash)))
            try Files.replace(
                world.feed.directory + "/ohttp-keys", with: ring.configurations.span, mode: 0o644)
            try world.feed.resign(settings)
        }

        func client(witnesses: String? = nil) throws -> WakeClient {
            var configuration = world.configuration()
            configuration.oblivious = "https://relay.example/"
            configuration.witnesses = witnesses
            let network = network
            var environment = world.environment
            environment.transport = { (_) throws(FetchError) in network }
            return try WakeClient(
                configuration, secrets: world.secrets, handler: world.handler,
                environment: environment)
        }

        func urls(_ purpose: FetchPurpose) -> [String] {
            network.requests.filter { $0.purpose == purpose }.map {
                String(decoding: $0.url.bytes, as: UTF8.self)
            }
        }
    }

    @Test("the first one fetches the head that names the key, and then goes to the relay alone")
    func first() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey()
        try relayed.world.time.run {
            let client = try relayed.client()
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .registered)
            #expect(
                relayed.urls(.feed)
                    == ["head", "keys", "ohttp-keys"].map {
                        "https://feed.example/feed/" + $0
                    })
            #expect(relayed.urls(.registration) == ["https://relay.example/"])
            // The batches are the next cycle's, as ever.
            relayed.world.secrets.add("visit", Array("a secret of sixteen bytes".utf8))
            try relayed.world.feed.publish([Array("a secret of sixteen bytes".utf8)])
            guard case .checked(_, matches: 1) = try await client.synchronize() else {
                Issue.record("the head that was fetched for the key hid a batch")
                return
            }
            #expect(try await client.unregister() == .none)
            #expect(Files.exists(relayed.world.cacheDirectory + "/ohttp-keys"))
            try await client.erase()
            #expect(!Files.exists(relayed.world.cacheDirectory + "/ohttp-keys"))
        }
        #expect(Set(relayed.urls(.registration)) == ["https://relay.example/"])
        #expect(relayed.world.service.mostRows == 1 && relayed.world.service.rows.isEmpty)
    }

    @Test("no key, no head, or a head that is not believed: nothing is sent, and the cause is said")
    func refused() throws {
        let relayed = try RelayedWorld()
        try relayed.world.time.run {
            let client = try relayed.client()
            let app = try AppPushToken(.fcm, text: Self.token)
            #expect(try await client.register(app) == .registering(failure: .gatewayKey))
            try relayed.nameKey()
            relayed.world.feed.serve(with: .unsigned)
            #expect(try await client.register(app) == .registering(failure: .badSignature))
            relayed.world.feed.serve(with: .outOfOrder)
            #expect(
                try await client.register(app)
                    == .registering(failure: .httpStatus(503, retryAfter: nil)))
            relayed.network.fail(.feed, with: .network(code: 7))
            #expect(try await client.register(app) == .registering(failure: .network))
            #expect(relayed.urls(.registration).isEmpty)
            relayed.network.fail(.feed, with: nil)
            relayed.world.feed.serve(with: nil)
            #expect(try await client.register(app) == .registered)
        }
    }

    @Test("a head without the cosignatures that the policy asks for vouches for no key")
    func unwitnessed() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey()
        let seed = [UInt8](repeating: 200, count: 32)
        let witness = NoteSigner(
            name: try #require(NoteKeyName("w.example")), key: SigningKey(seed: seed.span))
        let policy = "witness w \(witness.verifier(.cosignature).text)\nquorum w\n"
        try relayed.world.time.run {
            let client = try relayed.client(witnesses: policy)
            let state = try await client.register(.init(.fcm, text: Self.token))
            guard case .registering(failure: .unwitnessed?) = state else {
                Issue.record("\(state)")
                return
            }
            #expect(relayed.urls(.registration).isEmpty)
        }
    }

    @Test("a key that was replaced behind the client's back is followed, with one more head")
    func replaced() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey()
        try relayed.world.time.run {
            let client = try relayed.client()
            _ = try await client.synchronize()
            relayed.relay.replaceKey()
            try relayed.nameKey()
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .registered)
            #expect(relayed.urls(.registration).count == 2)
            relayed.relay.replaceKey()
            try relayed.nameKey()
            #expect(try await client.storedRegistration().row != nil)
            // One that no head names: the gateway does not know what the head names.
            relayed.relay.replaceKey()
            #expect(try await client.unregister() == .unregistering(failure: .gatewayKey))
            #expect(relayed.world.service.rows.count == 1)
            try relayed.nameKey()
            #expect(try await client.unregister() == .none)
        }
    }

    @Test("a head that switches registrations off is obeyed before the first is sent")
    func suspended() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey(flags: .noRegistration)
        try relayed.world.time.run {
            let client = try relayed.client()
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .suspended)
            #expect(relayed.urls(.registration).isEmpty)
            try relayed.nameKey()
            try await relayed.world.live(client, for: .seconds(2 * 3600))
            #expect(await client.status.registration == .registered)
        }
    }

    @Test("a renewal under an outdated key waits once more, apart from the head it made fetch")
    func renewal() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey()
        try relayed.world.time.run {
            let client = try relayed.client()
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .registered)
            relayed.relay.replaceKey()
            try relayed.nameKey()
            await relayed.world.time.sleep(.seconds(3 * 86_400))
            _ = try await client.reconcileApart()
            let wait = try #require(try await client.registrationWait())
            await relayed.world.time.sleep(wait)
            let heads = relayed.urls(.feed).count
            try await client.reconcileApart()
            // The gateway did not know the key: a head was fetched, and nothing sent after it.
            #expect(relayed.urls(.feed).count > heads)
            #expect(relayed.world.service.puts == 1)
            #expect(await client.status.registration == .registered)
            try await relayed.world.live(client, for: .seconds(3600))
            #expect(relayed.world.service.puts == 2)
        }
    }

    @Test("what a relay says by itself is told as the relay's, and nothing of the registration's")
    func lies() throws {
        let relayed = try RelayedWorld()
        try relayed.nameKey()
        let page = Array("<html>".utf8)
        let lies: [(SimulatedNetwork.Answer, ClientError)] = [
            (.init(body: page, contentType: .html), .relay(200, retryAfter: nil)),
            (.init(body: page, contentType: .obliviousResponse), .relay(200, retryAfter: nil)),
            (
                .init(body: [UInt8](repeating: 7, count: 100_000), contentType: .html),
                .relay(200, retryAfter: nil)
            ),
            (.init(status: 204), .relay(204, retryAfter: nil)),
            (.init(status: 302), .relay(302, retryAfter: nil)),
            (.init(status: 400, contentType: .html), .relay(400, retryAfter: nil)),
            (.init(status: 404, contentType: .problem), .relay(404, retryAfter: nil)),
            (.init(status: 429, retryAfter: 60), .relay(429, retryAfter: .seconds(60))),
            (.init(status: 503, contentType: .problem), .relay(503, retryAfter: nil)),
        ]
        try relayed.world.time.run {
            let client = try relayed.client()
            for (lie, error) in lies {
                relayed.relay.lie(lie)
                let state = try await client.register(.init(.fcm, text: Self.token))
                #expect(state == .registering(failure: error))
                #expect(error.isTransient == [429, 503].contains(lie.status))
            }
            relayed.relay.lie(.init(status: 400, contentType: .problem))
            let state = try await client.register(.init(.fcm, text: Self.token))
            #expect(state == .registering(failure: .gatewayKey))
            relayed.relay.lie(nil)
            #expect(try await client.register(.init(.fcm, text: Self.token)) == .registered)
        }
        #expect(relayed.world.handler.warnings.isEmpty)
    }
}
