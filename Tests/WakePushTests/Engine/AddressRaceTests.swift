import CLinux
import Testing
import WakeSystem

@testable import WakePush

/// Several addresses of a host at once (RFC 8305), with streams that open when a test says so.
@Suite("Addresses of a host, raced")
struct AddressRaceTests {
    private final class FakeStream: ByteStream {
        let descriptor: Int32 = -1
        var opening = StreamOpening.waits
        private(set) var isClosed = false

        func open() -> StreamOpening { opening }
        func read(into bytes: inout [UInt8]) -> StreamTransfer { .waits }
        func write(_ bytes: [UInt8], from offset: Int) -> StreamTransfer { .waits }
        func flush() -> StreamTransfer? { nil }
        func close() { isClosed = true }
    }

    /// A race with the streams that it made so far.
    private struct World {
        var race: AddressRace
        var streams: [FakeStream] = []

        init(addresses: Int) throws {
            let one = try SocketAddress.resolve("127.0.0.1", port: 1).get()
            race = AddressRace(
                (0..<addresses).flatMap { _ in one.prefix(1) }, now: 1000, deadline: 11_000)
        }

        mutating func advance(to now: UInt64) -> AddressRace.Progress {
            var made = streams
            defer { streams = made }
            return race.advance(now: now) { _, number in
                #expect(number == made.count)
                made.append(FakeStream())
                return made.last
            }
        }

        /// An event of a stream, and what it says to it.
        mutating func event(_ number: Int, _ opening: StreamOpening) {
            streams[number].opening = opening
            race.record(number)
        }
    }

    private func isPending(_ progress: AddressRace.Progress) -> Bool {
        if case .pending = progress { true } else { false }
    }

    @Test("the next address is tried after 250 ms, and the first that opens wins")
    func winner() throws {
        var world = try World(addresses: 6)
        #expect(isPending(world.advance(to: 1000)))
        #expect(world.streams.count == 1 && world.race.nextStart == 1250)
        #expect(isPending(world.advance(to: 1249)))
        #expect(world.streams.count == 1)
        for step in 1...5 { #expect(isPending(world.advance(to: 1000 + UInt64(step) * 250))) }
        #expect(world.streams.count == 6 && world.race.nextStart == nil)
        world.event(5, .open)
        guard case .won(let stream) = world.advance(to: 2300) else {
            Issue.record("no winner")
            return
        }
        #expect(stream === world.streams[5])
        #expect(world.streams.map(\.isClosed) == [true, true, true, true, true, false])
    }

    @Test("a refused address makes room for the next at once; without an event nobody has won")
    func refused() throws {
        var world = try World(addresses: 2)
        #expect(isPending(world.advance(to: 1000)))
        world.streams[0].opening = .open
        #expect(isPending(world.advance(to: 1001)))
        world.event(0, .failed(nil))
        #expect(isPending(world.advance(to: 1002)))
        #expect(world.streams.count == 2 && world.streams[0].isClosed)
        world.event(1, .failed(.connection(.handshake)))
        guard case .lost(.connection(.handshake)) = world.advance(to: 1003) else {
            Issue.record("the race goes on")
            return
        }
    }

    @Test("at the deadline all are closed")
    func deadline() throws {
        var world = try World(addresses: 2)
        #expect(isPending(world.advance(to: 1000)))
        #expect(isPending(world.advance(to: 10_999)))
        guard case .lost(nil) = world.advance(to: 11_000) else {
            Issue.record("the race goes on")
            return
        }
        #expect(world.streams.map(\.isClosed) == [true, true])
    }
}
