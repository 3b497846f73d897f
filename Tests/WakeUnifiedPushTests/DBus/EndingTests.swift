import Foundation
import TestSupport
import Testing
import WakeSystem
import WakeUnifiedPush

@Suite(
    "How a connection ends, over Debian's dbus-daemon",
    .enabled(if: MessageBus.isInstalled, MessageBus.missing),
    .timeLimit(.minutes(5)))
struct EndingTests {
    /// A call that nobody answers.
    private static func asking(
        _ connection: BusConnection, _ name: [UInt8]
    ) -> Task<BusError?, Never> {
        Task {
            do throws(BusError) {
                _ = try await connection.call(Ours.take(name, []), timeout: .seconds(600))
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("when the bus dies everybody who waits is told at once")
    func busDies() async throws {
        let bus = try await MessageBus()
        let theirs = try await bus.connect(serving: [Ours.object])
        let ours = try await bus.connect()
        let asking = Self.asking(ours, theirs.uniqueName)
        // It has arrived.
        for await message in theirs.messages where message.kind == .call { break }
        // The call itself would wait ten minutes: longer than this test may last.
        bus.kill()
        #expect(await asking.value == .closed)
        for await _ in ours.messages {}
        for await _ in theirs.messages {}
        #expect(ours.ending == .closed && theirs.ending == .closed)
        #expect(throws: BusError.closed) {
            try ours.send(.signal(path: "/a", interface: "b.c", member: "D"))
        }
        await #expect(throws: BusError.closed) { try await ours.requestName("org.example.N") }
        await #expect(throws: (any Error).self) { try await bus.connect() }
    }

    @Test("closing ends calls and messages at once, and the bus knows")
    func closing() async throws {
        let bus = try await MessageBus()
        let theirs = try await bus.connect(serving: [Ours.object])
        let ours = try await bus.connect()
        let asking = Self.asking(ours, theirs.uniqueName)
        for await message in theirs.messages where message.kind == .call { break }
        ours.close()
        ours.close()
        #expect(await asking.value == .closed)
        for await _ in ours.messages {}
        let name = String(decoding: ours.uniqueName, as: UTF8.self)
        while try await theirs.nameOwner(name) != nil { try Task.checkCancellation() }
    }

    @Test("what was sent before closing is sent")
    func lastWords() async throws {
        let bus = try await MessageBus()
        let theirs = try await bus.connect(serving: [Ours.object])
        for round in 0..<20 {
            let ours = try await bus.connect()
            try ours.send(Ours.take(theirs.uniqueName, [UInt8(round)]))
            ours.close()
        }
        var rounds: Set<UInt8> = []
        for await message in theirs.messages {
            if case .bytes(let bytes)? = message.body.first { rounds.formUnion(bytes) }
            if rounds.count == 20 { break }
        }
        #expect(rounds.count == 20)
    }

    private static func entries(_ path: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: path).count
    }

    @Test("a hundred connections leave no descriptor and no thread behind")
    func nothingLeft() async throws {
        let bus = try await MessageBus()
        let last = try await bus.connect()
        var (descriptors, threads) = (0, 0)
        for round in 0..<100 {
            let connection = try await bus.connect()
            _ = try await connection.names()
            // Half of them are closed, half released.
            if round % 2 == 0 { connection.close() }
            guard round == 0 else { continue }
            descriptors = try Self.entries("/proc/self/fd")
            threads = try Self.entries("/proc/self/task")
        }
        // Their threads end by themselves; on the bus nobody is left but us and it.
        while try await last.names().count(where: { $0.first == UInt8(ascii: ":") }) > 1 {
            try Task.checkCancellation()
        }
        // What else a thread had open is closed a moment later. The pools of the runtime may have
        // grown by a thread for each core meanwhile; of ours there were a hundred.
        let pools = threads + 2 * ProcessInfo.processInfo.activeProcessorCount
        while try Self.entries("/proc/self/fd") > descriptors
            || Self.entries("/proc/self/task") >= pools + 40
        {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test("where nobody listens, nobody is reached")
    func nobody() async throws {
        let place = try TemporaryDirectory()
        let address = try BusAddress("unix:path=\(place.path)/bus")
        await #expect(throws: BusError.unreachable(ENOENT)) {
            try await BusConnection.session(address: address)
        }
        await #expect(throws: BusError.noAddress) {
            try await BusConnection.session(
                environment: BusEnvironment(sessionAddress: nil, runtimeDirectory: nil))
        }
    }

    @Test("of several addresses the first where somebody listens is taken")
    func several() async throws {
        let bus = try await MessageBus()
        let list = "tcp:host=127.0.0.1,port=1;unix:path=/nonexistent/bus;\(bus.address)"
        let connection = try await BusConnection.session(
            environment: BusEnvironment(
                sessionAddress: Array(list.utf8), runtimeDirectory: nil))
        #expect(try await connection.names().count >= 2)
        // The runtime directory's bus, when no address is given.
        let other = try await BusConnection.session(
            environment: BusEnvironment(
                sessionAddress: nil, runtimeDirectory: Array(bus.directory.path.utf8)))
        #expect(other.uniqueName != connection.uniqueName)
    }
}
