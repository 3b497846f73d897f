import TestSupport
import Testing
import WakeBus

extension MessageBus {
    /// Connects to it as our programs do.
    func connect(serving objects: [BusObject] = []) async throws -> BusConnection {
        try await BusConnection.session(
            serving: objects,
            surroundings: BusSurroundings(
                sessionAddress: Array(address.utf8), runtimeDirectory: nil,
                machineID: Array("0123456789abcdef0123456789abcdef".utf8)))
    }
}

/// What the peer of `BusPeerScript` is called.
enum Peer {
    static func call(_ member: String, _ body: [BusValue] = []) -> BusMessage {
        .call(
            "org.example.Peer", path: "/org/example", interface: "org.example.Peer",
            member: member, body)
    }

    /// What `Types` answers with.
    static let values: [BusValue] = [
        .byte(7), .boolean(true), .int16(-300), .uint16(60000), .int32(-100_000),
        .uint32(4_000_000_000), .int64(-(1 << 60)), .uint64((1 << 63) + 5), .double(-1.5),
        .string("héllo"), .objectPath(Array("/org/example".utf8)),
        .signature(Array("a{sv}".utf8)), .bytes([0, 1, 255]), .strings(["", "b"]),
        .options([("one", .uint32(1)), ("two", .strings(["x"]))]),
        .structure([.int32(5), .structure([.string("in"), .double(2.5)])]),
        .array(
            of: "av",
            [.array(of: "v", [.variant(.string("deep"))]), .array(of: "v", [])]),
        .array(of: "ay", [.bytes([]), .bytes([5])]),
        .dictionary(
            key: "y", value: "ad",
            [
                BusEntry(key: .byte(1), value: .array(of: "d", [.double(0.5)])),
                BusEntry(key: .byte(2), value: .array(of: "d", [])),
            ]),
        .variant(.variant(.structure([.byte(9), .uint64(.max)]))),
    ]
}

@Suite(
    "A connection and a program of another make, over Debian's dbus-daemon",
    .enabled(if: MessageBus.isInstalled, MessageBus.missing),
    .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing), .timeLimit(.minutes(2)))
struct ConnectionTests {
    @Test(
        "values of every type come and go unchanged, whatever the peer's byte order",
        arguments: ["little", "big"])
    func everyType(order: String) async throws {
        let bus = try await MessageBus()
        let peer = try PythonBusPeer.start(BusPeerScript.serving, [order], bus: bus)
        _ = try await peer.line(containing: "ready")
        let connection = try await bus.connect()
        let told = try await connection.call(Peer.call("Types"))
        #expect(told.body == Peer.values)
        let echoed = try await connection.call(Peer.call("Echo", Peer.values))
        #expect(echoed.body == Peer.values)
        #expect(echoed.sender != nil)
    }
}
