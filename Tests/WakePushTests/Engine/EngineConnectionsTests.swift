import Synchronization
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite("The connections that an engine makes", .timeLimit(.minutes(1)))
struct EngineConnectionsTests {
    /// A server that tells the number of each request, and an engine of up to ten connections.
    private struct World {
        let server: EngineServer
        let requests: AsyncStream<Int>
        let configuration: EngineConfiguration

        init(time: TimeSource = .system, _ answer: @escaping @Sendable (Int) -> EngineServer.Reply)
            throws
        {
            let (requests, continuation) = AsyncStream.makeStream(of: Int.self)
            server = try EngineServer(settings: [(3, 100)]) { number in
                continuation.yield(number)
                return answer(number)
            }
            self.requests = requests
            var configuration = EngineTests.configuration(server.port)
            configuration.connections = 10
            configuration.time = time
            self.configuration = configuration
        }
    }

    /// A clock that stands still: pushes have never waited for long.
    private static let still = TimeSource(milliseconds: { 1_000_000 }, random: { 0 })

    @Test("a few pushes make one connection", arguments: [1, 5, 50])
    func few(count: Int) async throws {
        let world = try World(time: Self.still) { _ in .status(200) }
        defer { world.server.stop() }
        let run = try await EngineTests.push(count, world.configuration)
        #expect(run.answered.count == count)
        #expect(world.server.connections == 1)
    }

    @Test("1,000 pushes make all of them at once, 250 five")
    func many() async throws {
        for (count, connections) in [(1000, 10), (250, 5)] {
            // A connection sends its second push once the first is answered.
            let world = try World(time: Self.still) { _ in .silence }
            defer { world.server.stop() }
            let engine = try PushEngine(world.configuration) { _ in }
            #expect(engine.submit(EngineTests.batch(0..<UInt32(count))))
            for await number in world.requests where number == connections { break }
            engine.cancel()
            #expect(world.server.connections == connections)
        }
    }

    @Test("pushes that go on waiting make another, though they are few")
    func slow() async throws {
        let world = try World { $0 == 1 ? .silence : .status(200) }
        defer { world.server.stop() }
        let engine = try PushEngine(world.configuration) { _ in }
        #expect(engine.submit(EngineTests.batch(0..<5)))
        for await number in world.requests where number == 5 { break }
        engine.cancel()
        #expect(world.server.connections > 1)
    }
}
