import Synchronization
import Testing

@testable import WakePush

/// Servers that go away, fall silent or come back, over real sockets.
struct EngineRecoveryTests {
    /// Tells of every attempt to connect, with its time, by the chance that is drawn for it.
    private static func attempts() -> (EngineClock, AsyncStream<UInt64>) {
        let (stream, continuation) = AsyncStream.makeStream(of: UInt64.self)
        let system = EngineClock.system
        let clock = EngineClock(
            milliseconds: system.milliseconds,
            chance: {
                continuation.yield(system.milliseconds())
                return 0
            })
        return (clock, stream)
    }

    @Test(
        "a refused connection is attempted ever more rarely until the server is back",
        .timeLimit(.minutes(1)))
    func refused() async throws {
        let before = try EngineServer()
        let port = before.port
        before.stop()
        var configuration = EngineTests.configuration(port)
        let (clock, attempts) = Self.attempts()
        configuration.clock = clock
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
        let server = try EngineServer(port: port)
        defer { server.stop() }
        #expect(try await result.answered.count == 3000)
        #expect(server.paths.values.allSatisfy { $0 == 1 } && server.paths.count == 3000)
    }

    @Test(
        "a server that hangs up right after the handshake loses nothing", .timeLimit(.minutes(1)),
        .enabled(if: EngineCertificates.isInstalled, "needs the openssl command"),
        arguments: [false, true])
    func hangUp(isSecure: Bool) async throws {
        let certificates = try EngineCertificates()
        let own = try certificates.issue("own")
        let server = try EngineServer(tls: isSecure ? own : nil, dropped: 3)
        defer { server.stop() }
        var configuration = EngineTests.configuration(
            server.port, transport: isSecure ? .tls(authorityFile: own.chain) : .plain,
            host: "localhost")
        let (clock, attempts) = Self.attempts()
        configuration.clock = clock
        let run = try await EngineTests.push(500, configuration)
        #expect(run.answered.count == 500 && run.unsafeRetries + run.safeRetries == 0)
        #expect(server.connections == 4)
        var iterator = attempts.makeAsyncIterator()
        var last = try #require(await iterator.next())
        for wait in [40, 80, 160] as [UInt64] {
            let next = try #require(await iterator.next())
            // The engine's clock is read a little before the chance is drawn.
            #expect(next - last + 5 >= wait)
            last = next
        }
    }

    @Test("a connection that falls silent altogether is given up", .timeLimit(.minutes(1)))
    func stall() async throws {
        let server = try EngineServer { $0 == 1000 ? .stall : .status(200) }
        defer { server.stop() }
        var configuration = EngineTests.configuration(server.port)
        configuration.limits.answerMilliseconds = 400
        let run = try await EngineTests.push(3000, configuration)
        #expect(run.answered.count == 3000)
        #expect(run.unsafeRetries > 0)
        #expect(server.connections == 2)
    }

    @Test(
        "a new credential is sent from the next push on, on the connection that is open",
        .timeLimit(.minutes(1)), arguments: [false, true])
    func credential(isIndexed: Bool) async throws {
        let server = try EngineServer()
        defer { server.stop() }
        var configuration = EngineTests.configuration(server.port)
        configuration.shape.indexesAuthorization = isIndexed
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        var iterator = stream.makeAsyncIterator()
        for name in ["abc", "second", "third"] {
            if name != "abc" { engine.updateAuthorization(Array("bearer \(name)".utf8)) }
            var batch = PushBatch(id: 0)
            for number in 0..<UInt32(400) { batch.append(EngineTests.token(number)) }
            #expect(engine.submit(batch))
            var count = 0
            while count < 400 { count += try #require(await iterator.next()).results.count }
        }
        engine.close()
        let expected = ["abc", "second", "third"].flatMap {
            Array(repeating: Array("bearer \($0)".utf8), count: 400)
        }
        #expect(server.credentials == expected)
        #expect(server.connections == 1)
    }

    @Test("an open connection with nothing in flight wakes nobody up", .timeLimit(.minutes(1)))
    func idle() async throws {
        let server = try EngineServer()
        defer { server.stop() }
        let turns = Observed()
        let system = EngineClock.system
        var configuration = EngineTests.configuration(server.port)
        configuration.clock = EngineClock(
            milliseconds: {
                turns.count.add(1, ordering: .relaxed)
                return system.milliseconds()
            }, chance: { 0 })
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        var batch = PushBatch(id: 0)
        batch.append(EngineTests.token(1))
        #expect(engine.submit(batch))
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next()
        let before = turns.count.load(ordering: .relaxed)
        // Time passes: another engine runs out of patience.
        let gone = try EngineServer()
        gone.stop()
        var hopeless = EngineTests.configuration(gone.port)
        hopeless.patienceMilliseconds = 1500
        _ = try await EngineTests.push(1, hopeless)
        // The last turn, and one for what the server said after its answer.
        #expect(turns.count.load(ordering: .relaxed) - before <= 2)
        engine.close()
    }

    private final class Observed: Sendable {
        let count = Atomic(0)
    }
}
