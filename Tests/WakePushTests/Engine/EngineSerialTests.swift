import Testing

@testable import WakePush

/// Which connection a push was on, and that its end is told.
struct EngineSerialTests {
    @Test(
        "results name their connection, and each end follows its last result",
        .timeLimit(.minutes(1)))
    func serials() async throws {
        let server = try EngineServer { $0 == 300 ? .goAway : .status(200) }
        defer { server.stop() }
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(EngineTests.configuration(server.port)) {
            continuation.yield($0)
        }
        #expect(engine.submit(EngineTests.batch(0..<3000)))
        var seen: [UInt32: Int] = [:]
        var ended: [UInt32] = []
        var done = 0
        for await outcomes in stream {
            for result in outcomes.results {
                #expect(result.connection > 0 && !ended.contains(result.connection))
                seen[result.connection, default: 0] += 1
            }
            ended += outcomes.ended
            done += outcomes.results.count
            if done == 3000, ended == [1] { engine.cancel() }
            if ended.count == 2 { break }
        }
        #expect(ended == [1, 2])
        #expect(seen.keys.sorted() == [1, 2] && seen.values.reduce(0, +) == 3000)
    }

    @Test("the end of an idle connection is told although nothing else is", .timeLimit(.minutes(1)))
    func idleEnd() async throws {
        let server = try EngineServer()
        defer { server.stop() }
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(EngineTests.configuration(server.port)) {
            continuation.yield($0)
        }
        #expect(engine.submit(EngineTests.batch([1])))
        for await outcomes in stream {
            if outcomes.results.map(\.connection) == [1] { server.hangUp() }
            if outcomes.ended.isEmpty { continue }
            #expect(outcomes.results.isEmpty && outcomes.ended == [1])
            break
        }
        engine.cancel()
    }

    @Test("a push that was on no connection says so", .timeLimit(.minutes(1)))
    func onNone() async throws {
        let server = try EngineServer()
        let port = server.port
        server.stop()
        var configuration = EngineTests.configuration(port)
        configuration.patienceMilliseconds = 50
        let (stream, continuation) = AsyncStream.makeStream(of: PushOutcomes.self)
        let engine = try PushEngine(configuration) { continuation.yield($0) }
        #expect(engine.submit(EngineTests.batch([1])))
        for await outcomes in stream {
            #expect(outcomes.ended.isEmpty)
            #expect(
                outcomes.results == [PushResult(reference: 1, outcome: .failed(.unreachable))])
            break
        }
        engine.cancel()
    }

    @Test("a result is 32 bytes: there are a million of them a second")
    func size() { #expect(MemoryLayout<PushResult>.stride == 32) }
}
