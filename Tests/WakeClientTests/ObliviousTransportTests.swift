import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakeSystem

@testable import Reveille

@Suite("A client that registers through a relay")
struct ObliviousTransportTests {
    /// A relay with a gateway behind it, and the host of the feed.
    private final class Relay: ClientTransport {
        enum Lie: Sendable {
            /// What a relay can say, and no gateway said.
            case status(Int, FetchContentType?, [UInt8])
            case altered
        }

        struct Sent: Sendable {
            let url: String
            let fields: [String]
            let count: Int
            let purpose: FetchPurpose
        }

        let ring: ObliviousKeyRing
        private let state: Mutex<(lie: Lie?, keys: [UInt8], sent: [Sent], inner: [String])>

        init(_ keys: ObliviousKey..., offering list: [UInt8]? = nil) {
            ring = ObliviousKeyRing(keys)
            state = Mutex((nil, list ?? ring.configurations, [], []))
        }

        var sent: [Sent] { state.withLock { $0.sent } }
        /// Method, path and authorization of what arrived.
        var inner: [String] { state.withLock { $0.inner } }
        func lie(_ lie: Lie?) { state.withLock { $0.lie = lie } }
        func offer(_ keys: [UInt8]) { state.withLock { $0.keys = keys } }

        func fetch(
            _ request: FetchRequest,
            onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
            sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
        ) async throws(FetchError) -> FetchResponse {
            let (response, body) = answer(request)
            guard onHead(response) == .proceed, body.isEmpty || sink(body.span) == .proceed else {
                throw .stopped
            }
            return response
        }

        func quiesce(_ purpose: FetchPurpose) async {}

        private func answer(_ request: FetchRequest) -> (FetchResponse, [UInt8]) {
            let body = request.body ?? []
            state.withLock { state in
                state.sent.append(
                    Sent(
                        url: String(decoding: request.url.bytes, as: UTF8.self),
                        fields: request.fields.map(\.name), count: body.count,
                        purpose: request.purpose))
            }
            if request.purpose == .feed {
                return (FetchResponse(status: 200), state.withLock { $0.keys })
            }
            let lie = state.withLock { $0.lie }
            if case .status(let status, let type, let content) = lie {
                return (FetchResponse(status: status, contentType: type), content)
            }
            guard case .success(let opened) = ring.open(body.span) else {
                return (FetchResponse(status: 400, contentType: .problem), [])
            }
            var sealed = serve(opened)
            if case .altered = lie { sealed[sealed.count - 1] ^= 1 }
            return (FetchResponse(status: 200, contentType: .obliviousResponse), sealed)
        }

        private func serve(_ opened: ObliviousKeyRing.Opened) -> [UInt8] {
            let bytes = opened.message.bytes
            guard let message = try? BinaryMessage(bytes),
                case .request(let method, _, _, let path) = message.control,
                let field = message.onlyValue(of: "authorization", in: bytes.span)
            else { return [] }
            let words = [method, path, field].map { String(decoding: bytes[$0], as: UTF8.self) }
            state.withLock { $0.inner.append(words.joined(separator: " ")) }
            var writer = BinaryMessageWriter(status: 429, capacity: 256)
            let wait = Array("60".utf8)
            writer.add("retry-after", wait.span)
            let content = Array("challenge".utf8)
            return writer.finish(content: content.span).flatMap { opened.response.seal($0) } ?? []
        }
    }

    private static func key() -> ObliviousKey {
        let line = ObliviousKey.newLine(ciphers: [.chaCha20Poly1305])
        guard let key = ObliviousKey(line: line.span) else { preconditionFailure("a new key") }
        return key
    }

    private static let feedKey: String = {
        let seed = [UInt8](repeating: 9, count: 32)
        return FeedKey(SigningKey(seed: seed.span).verifyingKey).text
    }()

    private static func hashes(_ keys: ObliviousKey...) throws -> GatewayKeyHashes {
        try #require(GatewayKeyHashes(keys.map(\.configuration.hash)))
    }

    private struct Client {
        let keys: GatewayKeys
        let carrier: any ClientTransport
        let url: FetchURL
        let token: InstanceToken

        func get() async throws(FetchError) -> (bytes: [UInt8], response: FetchResponse) {
            try await carrier.answer(to: RegistrationRequest.get(by: token, at: url))
        }
    }

    private func client(_ relay: Relay, _ directory: TemporaryDirectory) throws -> Client {
        var configuration = ClientConfiguration(
            feed: "https://feed.example.org/feed", feedKey: "", service: nil,
            stateDirectory: directory.path, cacheDirectory: directory.path + "/cache")
        configuration.service = "https://wake.example.org"
        configuration.oblivious = "https://relay.example.net/"
        configuration.feedKey = Self.feedKey
        let service = try ServiceAddresses(configuration)
        let feed = try FetchURL("https://feed.example.org/feed")
        let keys = try #require(try GatewayKeys(of: service, feed, configuration.cacheDirectory))
        let token = try #require(InstanceToken(TestDevice().instance))
        return Client(
            keys: keys, carrier: try service.carrier(keys, over: relay),
            url: try #require(service.registration), token: token)
    }

    @Test("sends requests of one length to the relay alone, and gets what the service said")
    func lengths() async throws {
        let key = Self.key()
        let (relay, directory) = (Relay(key), try TemporaryDirectory())
        let client = try client(relay, directory)
        client.keys.name(try Self.hashes(key))
        let push = try PushToken(service: .apns, bytes: TestDevice().push)
        let requests = [
            RegistrationRequest.put(push, by: client.token, at: client.url),
            RegistrationRequest.get(by: client.token, at: client.url),
            RegistrationRequest.delete(by: client.token, at: client.url),
        ]
        for request in requests {
            let (bytes, response) = try await client.carrier.answer(to: request)
            #expect(response.status == 429 && response.retryAfter == 60)
            #expect(bytes == Array("challenge".utf8))
        }
        let sent = relay.sent.filter { $0.purpose == .registration }
        #expect(Set(sent.map(\.url)) == ["https://relay.example.net/"])
        #expect(
            Set(sent.map(\.count)) == [Limits.obliviousRequestBytes + ObliviousRequest.overhead])
        #expect(Set(sent.map(\.fields)) == [["Content-Type"]])
        let text = client.token.text().withSpan { String(decoding: $0.array, as: UTF8.self) }
        #expect(
            relay.inner == ["PUT", "GET", "DELETE"].map { "\($0) /v1/registration Bearer \(text)" })
    }

    @Test("fetches the keys once, beside the head, and keeps them for the next process")
    func kept() async throws {
        let key = Self.key()
        let (relay, directory) = (Relay(key), try TemporaryDirectory())
        for _ in 0..<2 {
            let client = try client(relay, directory)
            client.keys.name(try Self.hashes(key))
            try await client.keys.refresh(through: relay)
            _ = try await client.get()
            _ = try await client.get()
        }
        let fetched = relay.sent.filter { $0.purpose == .feed }
        #expect(fetched.map(\.url) == ["https://feed.example.org/feed/ohttp-keys"])
    }

    @Test("sends nothing under a key that the head does not name, and nothing without any")
    func otherKey() async throws {
        let (key, other) = (Self.key(), Self.key())
        let (relay, directory) = (Relay(other), try TemporaryDirectory())
        let client = try client(relay, directory)
        await #expect(throws: FetchError.keyRefused) { try await client.get() }
        client.keys.name(try Self.hashes(key))
        await #expect(throws: FetchError.keyRefused) { try await client.get() }
        #expect(relay.sent.allSatisfy { $0.purpose == .feed })
        // The former one, then the current one.
        client.keys.name(try Self.hashes(key, other))
        #expect(try await client.get().response.status == 429)
        client.keys.name(GatewayKeyHashes())
        await #expect(throws: FetchError.keyRefused) { try await client.get() }
        #expect(relay.inner.count == 1)
    }

    @Test("believes nothing that was not encapsulated, and asks for the keys again after a 400")
    func lies() async throws {
        let key = Self.key()
        let (relay, directory) = (Relay(key), try TemporaryDirectory())
        let client = try client(relay, directory)
        client.keys.name(try Self.hashes(key))
        for status in [204, 200, 404, 410, 401, 400, 500] {
            relay.lie(.status(status, .json, []))
            await #expect(throws: FetchError.notEncapsulated(status: status, retryAfter: nil)) {
                try await client.get()
            }
        }
        let none = FetchError.notEncapsulated(status: 200, retryAfter: nil)
        relay.lie(.status(200, .obliviousResponse, [UInt8](repeating: 0, count: 4608)))
        await #expect(throws: none) { try await client.get() }
        relay.lie(.altered)
        await #expect(throws: none) { try await client.get() }
        relay.lie(nil)
        #expect(relay.sent.count { $0.purpose == .feed } == 1)
        relay.lie(.status(400, .problem, []))
        await #expect(throws: FetchError.keyRefused) { try await client.get() }
        relay.lie(nil)
        #expect(try await client.get().response.status == 429)
        #expect(relay.sent.count { $0.purpose == .feed } == 2)
    }

    @Test("has no way past the relay: neither to another service nor for want of a key")
    func noOtherWay() async throws {
        let key = Self.key()
        let (relay, directory) = (Relay(key), try TemporaryDirectory())
        let client = try client(relay, directory)
        client.keys.name(try Self.hashes(key))
        let former = try FetchURL("https://former.example.org/v1/registration")
        await #expect(throws: FetchError.addressRefused) {
            try await client.carrier.answer(
                to: RegistrationRequest.delete(by: client.token, at: former))
        }
        #expect(relay.sent.isEmpty)
        var configuration = ClientConfiguration(
            feed: "https://feed.example.org/feed", feedKey: Self.feedKey,
            service: nil, stateDirectory: directory.path, cacheDirectory: directory.path)
        configuration.oblivious = "https://relay.example.net/"
        #expect(throws: ClientError.configuration(.obliviousURL)) { try configuration.check() }
        configuration.service = "https://wake.example.org"
        configuration.oblivious = "http://relay.example.net/"
        #expect(throws: ClientError.configuration(.obliviousURL)) { try configuration.check() }
    }
}
