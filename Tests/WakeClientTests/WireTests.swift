import Dispatch
import Glibc
import ReveilleTesting
import TestSupport
import Testing
import WakeFeed
import WakeSystem

@testable import Reveille

/// A real feed on disk, a real server on loopback, and clients with the real transport.
private final class Wire: Sendable {
    let scratch: Scratch
    let time = SimulatedTime()
    let feed: SimulatedFeed
    let server: LoopbackServer
    let secrets = DeviceSecrets()
    let handler: RecordingHandler

    init(
        _ reply: @escaping @Sendable (_ line: String, _ feed: String) -> LoopbackServer.Reply? = {
            _, _ in nil
        }
    ) throws {
        scratch = try Scratch()
        feed = try SimulatedFeed(scratch.path + "/feed", time)
        handler = RecordingHandler(time)
        let directory = feed.directory
        server = try LoopbackServer { line in
            if let reply = reply(line, directory) { return reply }
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let feed = words[1].firstRange(of: "/feed/") else {
                return .noContent
            }
            let path = directory + "/" + String(words[1][feed.upperBound...])
            guard let bytes = try? Files.read(path, limit: 1 << 24) else {
                return .init("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            }
            return .ok(bytes)
        }
    }

    func client(_ name: String) throws -> WakeClient { try client(name, secrets, handler) }

    func client(_ name: String, handler: some MatchHandler) throws -> WakeClient {
        try client(name, secrets, handler)
    }

    func client(_ name: String, secrets: some LocalSecrets) throws -> WakeClient {
        try client(name, secrets, handler)
    }

    private func client(
        _ name: String, _ secrets: some LocalSecrets, _ handler: some MatchHandler
    ) throws -> WakeClient {
        let origin = "http://127.0.0.1:\(server.port)"
        return try WakeClient(
            ClientConfiguration(
                feed: origin + "/feed/", feedKey: feed.feedKey.text, service: origin,
                channel: .poll, stateDirectory: scratch.path + "/" + name,
                cacheDirectory: scratch.path + "/" + name + "-cache"),
            secrets: secrets, handler: handler)
    }
}

/// A handler as many apps write it: it blocks its thread, here until it is released.
private final class BlockingHandler: MatchHandler {
    let matches = Observed(0)
    private let gate = DispatchSemaphore(value: 0)

    func didFind(_ match: Match) async throws {
        matches.update { $0 += 1 }
        block()
    }

    func didWarn(_ warning: Warning) async {}

    private func block() { gate.wait() }

    func release() { gate.signal() }
}

/// Secrets that block as long.
private final class BlockingSecrets: LocalSecrets {
    let readings = Observed(0)
    private let gate = DispatchSemaphore(value: 0)
    /// Of a new client: before its first cycle, and in it.
    private static let usual = 2

    func generation() async throws -> UInt64 { 0 }

    func lend(to body: (String, Span<UInt8>) -> Void) async throws {
        readings.update { $0 += 1 }
        block()
    }

    private func block() { gate.wait() }

    func release() { for _ in 0..<Self.usual { gate.signal() } }
}

@Suite("On the wire", .timeLimit(.minutes(5)))
struct WireTests {
    private static let secret = Array("only this device knows this".utf8)
    private static let endpoint = Array("https://push.example.net/some/endpoint".utf8)

    @Test("a match is found over real HTTP, and any two clients ask with the same bytes")
    func sameBytes() async throws {
        let wire = try Wire()
        wire.secrets.add("visit", Self.secret)
        try wire.feed.publish([Self.secret], note: "note")
        var asked: [[[UInt8]]] = []
        for name in ["one", "two"] {
            let before = wire.server.received.count
            let outcome = try await wire.client(name).synchronize()
            #expect(outcome == .checked(batches: 1, matches: 1))
            asked.append(Array(wire.server.received[before...]))
        }
        #expect(asked[0] == asked[1])
        #expect(asked[0].count == 3, "head, keys, batch")
        #expect(wire.handler.matches.count == 2)
    }

    @Test("a handler that blocks delays neither the status nor the next wake's fetch")
    func blocked() async throws {
        let wire = try Wire()
        wire.secrets.add("visit", Self.secret)
        try wire.feed.publish([Self.secret])
        let handler = BlockingHandler()
        let client = try wire.client("blocked", handler: handler)
        let running = Task { try await client.run() }
        _ = try await handler.matches.first { $0 == 1 ? () : nil }
        // All of this while the handler blocks, but for a test whose time is over.
        try await withTaskCancellationHandler {
            let sequence = try wire.feed.publish([Array("a secret of nobody here".utf8)])
            #expect(try await client.synchronize(.manual) == .checked(batches: 1, matches: 0))
            let status = await client.status
            #expect(status.sequence == sequence && status.matchesToDeliver == 1)
        } onCancel: {
            handler.release()
        }
        handler.release()
        running.cancel()
        try await running.value
        #expect(handler.matches.value == 1)
    }

    @Test("secrets that are slow to read do not delay the status")
    func slowSecrets() async throws {
        let wire = try Wire()
        try wire.feed.publish([Self.secret])
        let secrets = BlockingSecrets()
        let client = try wire.client("slow", secrets: secrets)
        async let outcome = client.synchronize()
        _ = try await secrets.readings.first { $0 == 1 ? () : nil }
        await withTaskCancellationHandler {
            #expect(await client.status.sequence == 0)
        } onCancel: {
            secrets.release()
        }
        secrets.release()
        #expect(try await outcome == .checked(batches: 1, matches: 0))
    }

    @Test("PUT, GET and DELETE of a registration have one size, for every token")
    func oneSize() async throws {
        let wire = try Wire()
        for (name, service, text) in [
            ("one", AppPushToken.Service.webPush, Self.endpoint),
            ("two", .fcm, [UInt8](repeating: 0x61, count: 588)),
        ] {
            let client = try wire.client(name)
            let token = try AppPushToken(service, text: text)
            #expect(try await client.register(token) == .registered)
            await #expect(throws: ClientError.httpStatus(204, retryAfter: nil)) {
                try await client.storedRegistration()
            }
            #expect(try await client.unregister() == .none)
        }
        let requests = wire.server.received
        let methods = requests.map { String(decoding: $0.prefix(3), as: UTF8.self) }
        #expect(methods == ["PUT", "GET", "DEL", "PUT", "GET", "DEL"])
        #expect(Set(requests.map(\.count)).count == 1, "\(requests.map(\.count))")
    }

    @Test("endless and lying bodies stop at their bounds, with peak memory under 64 MiB more")
    func endless() async throws {
        let chunk = [UInt8](repeating: 0x41, count: 65_536)
        let forms: [@Sendable () -> LoopbackServer.Reply] = [
            { .init("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", endless: chunk) },
            { .init("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", endless: chunk) },
            { .init("HTTP/1.1 200 OK\r\nX: ", endless: chunk) },
            {
                .init(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                    endless: Array("10000\r\n".utf8) + chunk + Array("\r\n".utf8))
            },
        ]
        let before = try #require(ProcessMemory.peakBytes(of: getpid()))
        for (index, form) in forms.enumerated() {
            // Once instead of the head, once instead of a batch.
            for path in ["/feed/head", "/feed/b/"] {
                let wire = try Wire { line, _ in
                    line.firstRange(of: path) == nil ? nil : form()
                }
                try wire.feed.publish([Self.secret])
                let client = try wire.client("client")
                await #expect(throws: ClientError.self, "form \(index) \(path)") {
                    try await client.synchronize()
                }
                #expect(await client.status.sequence == 0)
            }
        }
        let peak = try #require(ProcessMemory.peakBytes(of: getpid()))
        #expect(peak - before < 64 << 20)
    }
}
