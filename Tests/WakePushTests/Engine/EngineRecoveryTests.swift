import Synchronization
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

/// Servers that go away, fall silent or come back, over real sockets.
struct EngineRecoveryTests {
    /// Reports every attempt to connect, with the engine's own time of it: the clock's last reading
    /// before the random number that is drawn for it.
    private static func attempts() -> (TimeSource, AsyncStream<UInt64>) {
        let (stream, continuation) = AsyncStream.makeStream(of: UInt64.self)
        let reading = TestSupport.Observed(UInt64(0))
        let clock = TimeSource(
            milliseconds: {
                let now = TimeSource.system.milliseconds()
                reading.update { $0 = now }
                return now
            },
            random: {
                continuation.yield(reading.value)
                return 0
            })
        return (clock, stream)
    }

    @Test(
        "a refused connection is attempted ever more rarely until the server is back",
        .timeLimit(.minutes(5)))
    func refused() async throws {
        let place = try WireServer.reservedPort()
        var configuration = EngineTests.configuration(place.port)
        let (clock, attempts) = Self.attempts()
        configuration.time = clock
        let run = configuration
        async let result = EngineTests.push(3000, run)
        var times: [UInt64] = []
        for await time in attempts {
            times.append(time)
            if times.count == 4 { break }
        }
        // 20 ms, doubled by each failure.
        let waits = zip(times.dropFirst(), times).map { $0.0 - $0.1 }
        #expect(zip(waits, [40, 80, 160]).allSatisfy { $0.0 + 5 >= $0.1 })
        let server = try EngineServer(port: place.port)
        defer { server.stop() }
        #expect(try await result.answered.count == 3000)
        #expect(server.paths.values.allSatisfy { $0 == 1 } && server.paths.count == 3000)
        withExtendedLifetime(place) {}
    }

    @Test(
        "a server that hangs up right after the handshake loses nothing", .timeLimit(.minutes(5)),
        .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
        arguments: [false, true])
    func hangUp(isSecure: Bool) async throws {
        let own = try EngineServer.TLS()
        let server = try EngineServer(tls: isSecure ? own : nil, dropped: 3)
        defer { server.stop() }
        var configuration = EngineTests.configuration(
            server.port, transport: isSecure ? .tls(authorityFile: own.trusted) : .plain,
            host: "localhost")
        let (clock, attempts) = Self.attempts()
        configuration.time = clock
        let run = try await EngineTests.push(500, configuration)
        #expect(run.answered.count == 500 && run.unsafeRetries + run.safeRetries == 0)
        #expect(server.connections == 4)
        var iterator = attempts.makeAsyncIterator()
        var last = try #require(await iterator.next())
        for wait in [40, 80, 160] as [UInt64] {
            let next = try #require(await iterator.next())
            // The engine counts from a reading a little earlier.
            #expect(next - last + 5 >= wait)
            last = next
        }
    }

    @Test("a connection that falls silent altogether is given up", .timeLimit(.minutes(5)))
    func stall() async throws {
        let server = try EngineServer { $0 == 1000 ? .stall : .status(200) }
        defer { server.stop() }
        var configuration = EngineTests.configuration(server.port)
        configuration.limits.silenceMilliseconds = 2000
        let run = try await EngineTests.push(3000, configuration)
        #expect(run.answered.count == 3000)
        #expect(run.unsafeRetries > 0)
        // On a loaded machine other connections seem silent, too.
        #expect(server.connections >= 2)
    }

    @Test(
        "a planned end costs no pause, and the next connection is made beside the old one",
        .timeLimit(.minutes(5)))
    func goAway() async throws {
        let server = try EngineServer { $0 % 500 == 0 ? .goAway() : .status(200) }
        defer { server.stop() }
        var configuration = EngineTests.configuration(server.port)
        // With any back-off the test would not end in time.
        configuration.reconnectMilliseconds = 3_600_000
        configuration.longestReconnectMilliseconds = 3_600_000
        let run = try await EngineTests.push(5000, configuration)
        #expect(run.answered.count == 5000)
        #expect(server.connections >= 5)
    }

    @Test(
        "a new credential is sent from the next push on, on the connection that is open",
        .timeLimit(.minutes(5)), arguments: [false, true])
    func credential(isIndexed: Bool) async throws {
        let server = try EngineServer()
        defer { server.stop() }
        var configuration = EngineTests.configuration(server.port)
        configuration.template.indexesAuthorization = isIndexed
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        var iterator = stream.makeAsyncIterator()
        for name in ["abc", "second", "third"] {
            configuration.template.authorization = Array("bearer \(name)".utf8)
            if name != "abc" { engine.update(configuration.template) }
            #expect(engine.submit(EngineTests.batch(0..<400)))
            var count = 0
            while count < 400 { count += try #require(await iterator.next()).results.count }
        }
        engine.cancel()
        let expected = ["abc", "second", "third"].flatMap {
            Array(repeating: Array("bearer \($0)".utf8), count: 400)
        }
        #expect(server.credentials == expected)
        #expect(server.connections == 1)
    }

    @Test("an open connection with nothing in flight wakes nobody up", .timeLimit(.minutes(5)))
    func idle() async throws {
        let server = try EngineServer()
        defer { server.stop() }
        let turns = Observed()
        let system = TimeSource.system
        var configuration = EngineTests.configuration(server.port)
        configuration.time = TimeSource(
            milliseconds: {
                turns.count.add(1, ordering: .relaxed)
                return system.milliseconds()
            }, random: { 0 })
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        #expect(engine.submit(EngineTests.batch([1])))
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next()
        let before = turns.count.load(ordering: .relaxed)
        // Time passes: another engine runs out of patience.
        let nobody = try WireServer.reservedPort()
        var hopeless = EngineTests.configuration(nobody.port)
        hopeless.patienceMilliseconds = 1500
        _ = try await EngineTests.push(1, hopeless)
        // The last turn, and some for what the server said after its answer, in any pieces. One
        // every tenth of a second were fifteen.
        #expect(turns.count.load(ordering: .relaxed) - before <= 6)
        withExtendedLifetime(nobody) {}
        engine.cancel()
    }

    private final class Observed: Sendable {
        let count = Atomic(0)
    }
}

/// Servers, or balancers before them, that hang up before TLS is there.
@Suite(.enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct EngineHangUpTests {
    private func run(_ server: EngineServer, _ own: EngineServer.TLS) async throws
        -> EngineTests.Run
    {
        try await EngineTests.push(
            500,
            EngineTests.configuration(
                server.port, transport: .tls(authorityFile: own.trusted), host: "localhost"))
    }

    @Test(
        "a server that hangs up in the handshake is attempted again", .timeLimit(.minutes(5)),
        arguments: [EngineServer.HangUp.reset, .end])
    func atFirst(how: EngineServer.HangUp) async throws {
        let own = try EngineServer.TLS()
        let server = try EngineServer(tls: own, hangUps: (1...2, how))
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.answered.count == 500 && run.failures.isEmpty)
        #expect(server.connections == 3)
    }

    @Test("a server that refuses the handshake at first is not waited for", .timeLimit(.minutes(5)))
    func refused() async throws {
        let own = try EngineServer.TLS()
        let server = try EngineServer(tls: own, hangUps: (1...1, .alert))
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.failures == Array(repeating: .connection(.handshake), count: 500))
    }

    @Test(
        "a server that has worked and then fails handshakes for a while loses nothing",
        .timeLimit(.minutes(5)), arguments: EngineServer.HangUp.allCases)
    func later(how: EngineServer.HangUp) async throws {
        let own = try EngineServer.TLS()
        let server = try EngineServer(tls: own, hangUps: (2...3, how)) {
            $0 == 100 ? .goAway() : .status(200)
        }
        defer { server.stop() }
        let run = try await run(server, own)
        #expect(run.answered.count == 500 && run.failures.isEmpty)
        #expect(server.connections == 4)
    }
}
