import Foundation
import TestSupport
import Testing
import WakeUnifiedPush

@Suite(
    "Whatever listens where the bus should",
    .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing), .timeLimit(.minutes(5)))
struct HostileBusTests {
    private static func failure(_ bus: FakeBus) async -> BusError? {
        do throws(BusError) {
            _ = try await BusConnection.session(address: bus.address)
            return nil
        } catch {
            return error
        }
    }

    private static let question = BusMessage.call(
        ":1.7", path: "/", interface: "org.example.A", member: "M")

    @Test(
        "a handshake that is none is told as such, and the connection closed",
        arguments: [
            ("REJECTED EXTERNAL\r\n", BusError.refused), ("ERROR\r\n", .refused),
            ("DATA\r\n", .refused), ("HTTP/1.1 400 Bad Request\r\n", .noBus), ("\r\n", .noBus),
            (String(repeating: "A", count: 5000), .noBus),
            ("OK 0123456789abcdef0123456789abcdef\r\nl", .noBus),
        ])
    func handshake(text: String, error: BusError) async throws {
        let bus = try await FakeBus("handshake", Array(text.utf8))
        #expect(await Self.failure(bus) == error)
        _ = try await bus.line(containing: "gone")
    }

    @Test("a bus that hangs up, or greets wrongly, is told as such")
    func greeting() async throws {
        let table: [(String, BusError)] = [
            ("hang-up", .closed), ("hello-odd", .noBus),
            ("hello-error", .failed(.limitsExceeded)),
        ]
        for (mode, error) in table {
            #expect(await Self.failure(try FakeBus(mode)) == error, "\(mode)")
        }
    }

    @Test("opening ends with the task that waits for it", arguments: ["handshake", "hello-silent"])
    func cancelled(mode: String) async throws {
        let bus = try await FakeBus(mode)
        let opening = Task { await Self.failure(bus) }
        opening.cancel()
        #expect(await opening.value == .cancelled)
    }

    @Test("a reply in single bytes is a reply; half of one is none")
    func pieces() async throws {
        let split = try await FakeBus("split")
        let whole = try await BusConnection.session(address: split.address)
        #expect(try await whole.call(Self.question).body == [.string("right")])
        for mode in ["half", "hang-up-late"] {
            let bus = try await FakeBus(mode)
            let connection = try await BusConnection.session(address: bus.address)
            await #expect(throws: BusError.closed) { try await connection.call(Self.question) }
            #expect(connection.ending == .closed)
        }
    }

    @Test("a reply from somebody else, or from nobody, is dropped")
    func spoofed() async throws {
        let bus = try await FakeBus("spoof")
        let connection = try await BusConnection.session(address: bus.address)
        #expect(try await connection.call(Self.question).body == [.string("right")])
        #expect(connection.ending == nil)
    }

    @Test("a reply that comes too late is dropped, and the next call gets its own")
    func late() async throws {
        let bus = try await FakeBus("late")
        let connection = try await BusConnection.session(address: bus.address)
        await #expect(throws: BusError.timedOut) {
            try await connection.call(Self.question, timeout: .milliseconds(20))
        }
        #expect(try await connection.call(Self.question).body == [.string("second")])
    }

    /// A message after whose first bytes something is changed.
    private static func signal(_ change: (inout [UInt8]) -> Void) throws -> [UInt8] {
        var signal = BusMessage.signal(
            path: "/a", interface: "b.c", member: "D", [.string("x"), .boolean(true)])
        signal.sender = Array(":1.7".utf8)
        var bytes = try signal.encoded(serial: 5)
        change(&bytes)
        return bytes
    }

    @Test("malformed messages end the connection with their reason, and nothing traps")
    func malformed() async throws {
        let table: [(BusProblem, (inout [UInt8]) -> Void)] = [
            (.byteOrder, { $0[0] = 0x20 }), (.header, { $0[1] = 0 }), (.version, { $0[3] = 9 }),
            (.serial, { $0.replaceSubrange(8..<12, with: [0, 0, 0, 0]) }),
            (.messageLength, { $0.replaceSubrange(4..<8, with: [255, 255, 255, 255]) }),
            (.arrayLength, { $0.replaceSubrange(12..<16, with: [255, 255, 255, 255]) }),
            (.boolean, { $0[$0.count - 4] = 2 }), (.text, { $0[$0.count - 8] = 0xFF }),
            (.padding, { $0[$0.count - 5] = 1 }),
            (.signature, { $0[$0.firstRange(of: [2, 0x73, 0x62])!.lowerBound + 1] = 0x7A }),
        ]
        for (problem, change) in table {
            let bus = try await FakeBus("say", Self.signal(change))
            let connection = try await BusConnection.session(address: bus.address)
            for await _ in connection.messages {}
            #expect(connection.ending == .malformed(problem))
            _ = try await bus.line(containing: "gone")
        }
    }

    @Test("unknown kinds, replies to nothing and messages too large are passed over")
    func passedOver() async throws {
        var large = try Self.signal { _ in }
        let body = 3 << 20
        let length = (0..<4).map { UInt8(truncatingIfNeeded: body >> (8 * $0)) }
        large.replaceSubrange(4..<8, with: length)
        large.removeLast(12)
        large += [UInt8](repeating: 9, count: body)
        var stray = BusMessage(.reply)
        stray.replySerial = 4_000_000
        stray.sender = Array(":1.7".utf8)
        let bytes = try Self.signal { $0[1] = 77 } + large + stray.encoded(serial: 6)
        let bus = try await FakeBus("first-say", bytes)
        let connection = try await BusConnection.session(address: bus.address)
        #expect(try await connection.call(Self.question).body == [.string("right")])
    }

    @Test("descriptors that are sent are closed, and one that a message tells of ends it")
    func descriptors() async throws {
        let bus = try await FakeBus("descriptors")
        let connection = try await BusConnection.session(address: bus.address)
        let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        #expect(try await connection.call(Self.question).body == [.string("right")])
        let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        #expect(after <= before)
        // Field 9, one descriptor, in place of the destination's absence.
        var told: [UInt8] = [0x6C, 2, 1, 1, 0, 0, 0, 0, 9, 0, 0, 0, 16, 0, 0, 0]
        told += [5, 1, 0x75, 0, 7, 0, 0, 0, 9, 1, 0x75, 0, 1, 0, 0, 0]
        let other = try await FakeBus("say", told)
        let ended = try await BusConnection.session(address: other.address)
        for await _ in ended.messages {}
        #expect(ended.ending == .malformed(.descriptors))
    }
}
