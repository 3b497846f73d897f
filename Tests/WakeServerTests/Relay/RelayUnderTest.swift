import Synchronization
import TestSupport
import WakeHTTP
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

/// A relay on a socket whose push services and clocks the test plays.
final class RelayUnderTest {
    /// Time that moves when a test says so.
    final class Clock: Sendable {
        let wall = Mutex(1_700_000_000)
        let milliseconds = Mutex<UInt64>(1_000_000)

        var timeSource: TimeSource {
            TimeSource(
                milliseconds: { self.milliseconds.withLock { $0 } }, random: { 0.5 },
                wallSeconds: { Int64(self.wall.withLock { $0 }) })
        }

        func advance(seconds: Int) {
            wall.withLock { $0 += seconds }
            milliseconds.withLock { $0 += UInt64(seconds) * 1000 }
        }
    }

    /// The time of a server, which moves only once it stops: no client is late because a machine is
    /// busy.
    private final class Standstill: Sendable {
        private static let start: UInt64 = 1_000_000_000_000
        private let stop = Mutex<UInt64?>(nil)

        var clock: LoopClock {
            LoopClock(
                monotonic: {
                    guard let stop = self.stop.withLock({ $0 }) else { return Self.start }
                    return Self.start + (SystemClock.monotonicNanoseconds - stop)
                },
                wall: { 1_700_000_000 })
        }

        func end() { stop.withLock { $0 = SystemClock.monotonicNanoseconds } }
    }

    static let authority = "wake.example.org"
    static let path = "/v1/relay/wakes"
    let clock: Clock
    let key = SigningKey(seed: [UInt8](repeating: 1, count: 32).span)
    let stranger = SigningKey(seed: [UInt8](repeating: 2, count: 32).span)
    let installations: String
    private let directory: TemporaryDirectory
    private var settings: RelaySettings
    private(set) var port: UInt16 = 0
    private(set) var counters = RelayCounters()

    private init(perMinute: Int) throws {
        clock = Clock()
        directory = try TemporaryDirectory()
        installations = directory.path + "/installations"
        settings = RelaySettings(
            authority: Self.authority, installations: installations, wakesPerMinute: perMinute)
        try allow("one", key)
    }

    func allow(_ name: String, _ key: SigningKey) throws {
        try StateFile.installations(installations).change {
            list throws(InstallationChangeError) in
            guard let name = InstallationName(name) else { return }
            try list.allow(name, key.verifyingKey)
        }
    }

    func revoke(_ name: String) throws {
        try StateFile.installations(installations).change {
            list throws(InstallationChangeError) in
            guard let name = InstallationName(name) else { return }
            try list.revoke(name)
        }
    }

    /// Runs a relay for the length of `body`, which may block; ten seconds after its start by its
    /// own clock.
    static func run(
        _ gateways: [any Gateway], perMinute: Int = 60_000,
        _ body: (RelayUnderTest) async throws -> Void
    ) async throws {
        let relay = try RelayUnderTest(perMinute: perMinute)
        try await BlockingExecutor.run { try await relay.serve(gateways, body) }
    }

    private func serve(
        _ gateways: [any Gateway], _ body: (RelayUnderTest) async throws -> Void
    ) async throws {
        try await restarted(gateways) {
            clock.advance(seconds: 10)
            try await body(self)
        }
    }

    /// Runs another relay on the same file and clock.
    func restarted(
        _ gateways: [any Gateway], _ body: () async throws -> Void
    ) async throws {
        let route = RelayRoute(
            settings, file: InstallationFile(path: installations), gateways: gateways,
            clock: clock.timeSource
        ) { _ in }
        let listener = ListenerConfiguration(
            .tcp(host: "127.0.0.1", port: 0), largeBodies: route.largeBodies
        ) { route.handle($0, $1) }
        let time = Standstill()
        let server = try HTTPServer(listeners: [listener], clock: time.clock)
        (port, counters) = (server.ports[0], route.service.counters)
        let running = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await route.service.run() }
                await server.run()
                group.cancelAll()
            }
        }
        while await !server.isServing { await Task.yield() }
        let result = await Result { try await body() }
        time.end()
        running.cancel()
        server.checkDeadlines()
        await running.value
        try result.get()
    }

    // MARK: Requests

    func tokens(_ count: Int, _ service: PushService = .apns) throws -> [PushToken] {
        try (0..<count).map { index in
            var bytes = [UInt8](repeating: 0x5A, count: 32)
            (bytes[0], bytes[1]) = (UInt8(index & 255), UInt8(index >> 8))
            return try PushToken(
                service: service, bytes: service == .fcm ? Hex.encode(bytes.span) : bytes)
        }
    }

    /// A signed request as it goes over the wire.
    func wire(
        _ body: [UInt8], by key: SigningKey? = nil, created: Int? = nil,
        nonce: SignatureNonce = .random(), host: String = authority
    ) -> [UInt8] {
        let request = RelayRequest(
            body: body.span, authority: Array(Self.authority.utf8), key: key ?? self.key,
            created: created ?? clock.wall.withLock { $0 }, nonce: nonce)
        var head = "POST \(Self.path) HTTP/1.1\r\nHost: \(host)\r\n"
        for field in request.fields {
            head += "\(field.name): \(String(decoding: field.value, as: UTF8.self))\r\n"
        }
        head += "Content-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }

    func wire(
        _ tokens: [PushToken], lifetime: Int = 7_200, by key: SigningKey? = nil
    ) -> [UInt8] {
        wire(RelayBatch(lifetime: lifetime, tokens: tokens).body(), by: key)
    }

    /// Sends bytes on a connection of their own and reads what comes back.
    func send(_ bytes: [UInt8]) throws -> Answer {
        let client = try LoopbackClient(port: port)
        try client.send(bytes)
        return try Answer(from: client)
    }

    /// What the relay said.
    struct Answer: Equatable {
        var status = 200
        var lines: [String] = []
        var code: String?
        var retryAfter: Int?

        init(from client: LoopbackClient) throws {
            let text = try client.receive(through: "\r\n\r\n")
            guard let head = WireResponse(head: text) else { throw TestFailure(text) }
            status = head.status
            if status == 200 {
                guard head["Content-Type"] == "application/jsonl" else { throw TestFailure(text) }
                let body = String(decoding: try client.receiveChunks(), as: UTF8.self)
                lines = body.split(separator: "\n").map(String.init)
            } else {
                let count = head["Content-Length"].flatMap { Int($0) } ?? 0
                let body = String(decoding: try client.receive(exactly: count), as: UTF8.self)
                code = body.split(separator: "\"").dropLast().last.map(String.init)
                retryAfter = head["Retry-After"].flatMap { Int($0) }
            }
        }
    }
}
