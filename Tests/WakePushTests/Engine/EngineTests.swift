import Synchronization
import TestSupport
import Testing

@testable import WakePush

/// The engine over real sockets.
struct EngineTests {
    /// Pushes every token until it has an answer below 400, as a gateway would.
    struct Run {
        var answered: [UInt32: UInt16] = [:]
        var unsafeRetries = 0
        var safeRetries = 0
        var failures: [PushFailure] = []
    }

    static func configuration(
        _ port: UInt16, transport: EngineConfiguration.Transport = .plain,
        host: String = "127.0.0.1"
    ) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            host: host, port: port, transport: transport, template: HTTP2Peer.shape)
        configuration.reconnectMilliseconds = 20
        // No connection is silent, and no answer late, because a machine is busy.
        configuration.limits.answerMilliseconds = 600_000
        configuration.limits.silenceMilliseconds = 600_000
        return configuration
    }

    static func token(_ number: UInt32) -> [UInt8] { Array(String(number, radix: 16).utf8) }

    static func batch(_ numbers: some Sequence<UInt32>) -> PushBatch {
        var batch = PushBatch(tokenBytes: 8)
        for number in numbers { batch.append(token(number), reference: UInt64(number)) }
        return batch
    }

    /// Sends pushes 0 to `count`; whatever comes back for another attempt is sent again.
    static func push(_ count: Int, _ configuration: EngineConfiguration) async throws -> Run {
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        #expect(engine.submit(batch(0..<UInt32(count))))
        var run = Run()
        for await outcomes in stream {
            var again: [UInt32] = []
            for result in outcomes.results {
                let number = UInt32(result.reference)
                switch result.outcome {
                case .answered(let status, _, _):
                    if status < 429 { run.answered[number] = status } else { again.append(number) }
                case .retry(let failure):
                    if failure == .unknown { run.unsafeRetries += 1 } else { run.safeRetries += 1 }
                    again.append(number)
                case .failed(let failure): run.failures.append(failure)
                }
            }
            if run.answered.count + run.failures.count == count { break }
            if !again.isEmpty { #expect(engine.submit(batch(again))) }
        }
        #expect(engine.waiting == 0)
        engine.cancel()
        return run
    }

    /// Only what hangs takes that long.
    static let patience = TimeLimitTrait.Duration.minutes(5)

    @Test(
        "every push arrives exactly once, over one connection and over several",
        .timeLimit(patience),
        arguments: [1, 4])
    func once(connections: Int) async throws {
        let server = try EngineServer()
        defer { server.stop() }
        var configuration = Self.configuration(server.port)
        configuration.connections = connections
        let run = try await Self.push(20_000, configuration)
        #expect(run.answered.count == 20_000)
        #expect(run.answered.values.allSatisfy { $0 == 200 })
        #expect(server.paths.count == 20_000)
        #expect(server.paths.values.allSatisfy { $0 == 1 })
    }

    @Test("goodbyes, refusals, resets, 429 and 503 lose nothing", .timeLimit(patience))
    func faults() async throws {
        let server = try EngineServer(settings: [(3, 100), (1, 0), (4, 7)]) { number in
            switch number {
            case _ where number % 3000 == 0: .goAway()
            case _ where number % 500 == 1: .reset(ErrorCode.refusedStream)
            case _ where number % 500 == 2: .reset(ErrorCode.internalError)
            case _ where number % 10 == 3: .status(429)
            case _ where number % 10 == 4: .status(503)
            default: .status(200)
            }
        }
        defer { server.stop() }
        let run = try await Self.push(10_000, Self.configuration(server.port))
        #expect(run.answered.count == 10_000)
        #expect(run.failures.isEmpty)
        #expect(run.safeRetries > 0 && run.unsafeRetries > 0)
        #expect(server.paths.count == 10_000)
        #expect(server.connections > 2)
    }

    @Test("streams that stay silent are given back, and arrive at last", .timeLimit(patience))
    func silence() async throws {
        let server = try EngineServer { $0 % 400 == 0 ? .silence : .status(200) }
        defer { server.stop() }
        var configuration = Self.configuration(server.port)
        // Well above what a busy machine needs for all that is in flight: what is given back late
        // and sent again would keep the server busy without end.
        configuration.limits.answerMilliseconds = 5000
        let run = try await Self.push(2000, configuration)
        #expect(run.answered.count == 2000)
        #expect(run.unsafeRetries >= 5)
    }

    @Test("a port where nobody listens makes pushes fail once patience ends", .timeLimit(patience))
    func unreachable() async throws {
        let nobody = try WireServer.reservedPort()
        var configuration = Self.configuration(nobody.port)
        configuration.patienceMilliseconds = 100
        let run = try await Self.push(10, configuration)
        #expect(run.failures == Array(repeating: .unreachable, count: 10))
        withExtendedLifetime(nobody) {}
    }

    @Test(
        "a service that ends every connection is told by the reason it gave", .timeLimit(patience),
        arguments: [
            (0, #"{"reason":"BadCertificate"}"#, PushFailure.closed(.badCertificate)),
            (11, "", .closed(.enhanceYourCalm)), (0, #"{"reason":"Planted"}"#, .closed(.other)),
        ] as [(UInt32, String, PushFailure)])
    func closed(_ code: UInt32, _ debug: String, _ failure: PushFailure) async throws {
        let server = try EngineServer { _ in .goAway(code: code, debug: debug) }
        defer { server.stop() }
        var configuration = Self.configuration(server.port)
        configuration.answerPatienceMilliseconds = 300
        let run = try await Self.push(10, configuration)
        #expect(run.failures == Array(repeating: failure, count: 10))
        #expect(run.answered.isEmpty)
    }

    @Test(
        "a connection that breaks has no reason, whatever an earlier one had",
        .timeLimit(patience))
    func brokenAfterwards() async throws {
        let server = try EngineServer { number in
            number == 1 ? .goAway(debug: #"{"reason":"Shutdown"}"#) : .hangUp
        }
        defer { server.stop() }
        var configuration = Self.configuration(server.port)
        configuration.answerPatienceMilliseconds = 3000
        let run = try await Self.push(10, configuration)
        #expect(run.failures == Array(repeating: .unreachable, count: 10))
    }

    @Test("cancelling gives every push its outcome, and takes no more", .timeLimit(patience))
    func cancelling() async throws {
        let server = try EngineServer { $0 == 1 ? .status(200) : .silence }
        defer { server.stop() }
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(Self.configuration(server.port)) { continuation.yield($0) }
        let batch = Self.batch(0..<3000)
        #expect(engine.submit(batch))
        var references: Set<UInt64> = []
        for await outcomes in stream {
            if references.isEmpty { engine.cancel() }
            references.formUnion(outcomes.results.map(\.reference))
            if references.count == 3000 { break }
        }
        #expect(engine.submit(batch) == false)
    }
}
