import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite(
    "A service account and its access token", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMAccountTests {
    /// Uptime that a test sets.
    private final class Clock: Sendable {
        private let uptime = Mutex(1000)

        var reading: ClockReading {
            ClockReading(
                wall: 1_700_000_000 + uptime.withLock { $0 }, uptime: uptime.withLock { $0 },
                boot: [UInt8](repeating: 1, count: 16))
        }

        func advance(_ seconds: Int) { uptime.withLock { $0 += seconds } }
    }

    private let clock = Clock()

    private func account(tokenURI: String) throws -> FCMTokenProvider {
        let file = try ServiceAccountFile(tokenURI: tokenURI)
        return try FCMTokenProvider(
            try file.credentials(), clock: { [clock] in clock.reading }, jitter: { 0 })
    }

    /// Asks until there is a value other than `old`.
    private func value(_ account: FCMTokenProvider, after old: Int = 0) async throws -> (
        [UInt8], Int
    ) {
        while true {
            try Task.checkCancellation()
            if case .value(let bytes, let serial) = try account.credential(at: clock.reading),
                serial != old
            {
                return (bytes, serial)
            }
            await Task.yield()
        }
    }

    @Test("an access token that worked is replaced once it is refused, and by one exchange")
    func replaced() async throws {
        let tokens = try FCMTokenServer()
        let account = try account(tokenURI: tokens.uri)
        let (first, serial) = try await value(account)
        #expect(first == Array("Bearer token-1".utf8) && serial == 1)
        clock.advance(600)
        try account.learn(.worked, at: clock.reading)
        for _ in 0..<5 { try account.learn(CredentialFeedback(expired: 1), at: clock.reading) }
        try account.learn(CredentialFeedback(expired: 5), at: clock.reading)
        let (second, next) = try await value(account, after: 1)
        #expect(second == Array("Bearer token-2".utf8) && next == 2)
        // Answers to the token before come late and say nothing of this one.
        try account.learn(CredentialFeedback(expired: 5), at: clock.reading)
        #expect(try await value(account).1 == 2)
        clock.advance(600)
        #expect(throws: GatewayFailure.misconfigured(.fcm(.tokenRefused))) {
            try account.learn(CredentialFeedback(expired: 5), at: clock.reading)
        }
        #expect(tokens.requests.count == 2)
        tokens.stop()
    }

    @Test("a token is replaced before its end while the one before is still given out")
    func refreshed() async throws {
        let tokens = try FCMTokenServer()
        let account = try account(tokenURI: tokens.uri)
        #expect(try await value(account).1 == 1)
        clock.advance(3599 - 301)
        guard case .value(_, serial: 1) = try account.credential(at: clock.reading) else {
            Issue.record("the token has five minutes and a second left")
            return
        }
        #expect(tokens.requests.count == 1)
        clock.advance(1)
        // This question begins the exchange, and is answered with the old token.
        guard case .value(_, serial: 1) = try account.credential(at: clock.reading) else {
            Issue.record("the token has five minutes left")
            return
        }
        #expect(try await value(account, after: 1).1 == 2)
        #expect(tokens.requests.count == 2)
        tokens.stop()
    }

    @Test("each exchange brings an assertion of its own time, and nothing else tells it apart")
    func assertions() async throws {
        let tokens = try FCMTokenServer()
        let account = try account(tokenURI: tokens.uri)
        _ = try await value(account)
        clock.advance(3400)
        _ = try await value(account, after: 1)
        let requests = tokens.requests
        #expect(requests.count == 2 && requests[0].body != requests[1].body)
        let heads = requests.map { request in
            request.head.split(separator: "\r\n").filter { !$0.hasPrefix("Content-Length") }
        }
        #expect(heads[0] == heads[1])
        tokens.stop()
    }

    @Test("no assertion goes where the certificate is not trusted, and the fault says so")
    func untrusted() async throws {
        let server = try EngineServer(tls: try EngineServer.TLS())
        defer { server.stop() }
        let account = try account(tokenURI: "https://localhost:\(server.port)/token")
        await #expect(throws: GatewayFailure.misconfigured(.fcm(.exchangeUntrusted))) {
            while true {
                try Task.checkCancellation()
                let ended = AsyncEvent()
                _ = try account.credential(at: clock.reading) { ended.signal() }
                await ended.wait()
                // Longer than both pauses.
                clock.advance(3)
            }
        }
        #expect(server.requests == 0 && server.bytes == 0)
    }

    @Test("a server that is not there is waited for, five minutes at most")
    func unreachable() async throws {
        let place = try WireServer.reservedPort()
        let account = try account(tokenURI: "\(place.url)/token")
        let ended = await #expect(throws: GatewayFailure.self) {
            while true {
                try Task.checkCancellation()
                if case .wait(let seconds, _) = try account.credential(at: clock.reading),
                    seconds > 1
                {
                    clock.advance(seconds)
                }
                // One second: an exchange under way, or the first pause.
                try await tick(account)
            }
        }
        #expect(ended == .unavailable(.noAccessToken, .fcm))
        withExtendedLifetime(place) {}
    }

    /// Lets the exchange under way end, and its pause of a second pass.
    private func tick(_ account: FCMTokenProvider) async throws {
        for _ in 0..<50 { await Task.yield() }
        clock.advance(1)
    }
}
