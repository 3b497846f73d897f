import Foundation
import TestSupport
import Testing
import WakeSystem
import WakeUnifiedPush

extension MessageBus {
    /// Connects to it as our programs do.
    func connect(serving objects: [BusObject] = []) async throws -> BusConnection {
        try await BusConnection.session(
            serving: objects,
            environment: BusEnvironment(
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
    .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing), .timeLimit(.minutes(5)))
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

    @Test("a method's error is told by its kind, and nothing of its text")
    func errors() async throws {
        let bus = try await MessageBus()
        let peer = try PythonBusPeer.start(BusPeerScript.serving, ["little"], bus: bus)
        _ = try await peer.line(containing: "ready")
        let connection = try await bus.connect()
        await #expect(throws: BusError.failed(.other)) {
            try await connection.call(Peer.call("Fail"))
        }
        await #expect(throws: BusError.failed(.unknownMethod)) {
            try await connection.call(Peer.call("Nothing"))
        }
        await #expect(throws: BusError.failed(.serviceUnknown)) {
            try await connection.call(
                .call("org.example.Nobody", path: "/", interface: "a.b", member: "M"))
        }
        // The peer lives, and so do we.
        #expect(try await connection.call(Peer.call("Echo", [.byte(1)])).body == [.byte(1)])
    }

    @Test("a call without answer times out, or ends with its task; others go on")
    func unanswered() async throws {
        let bus = try await MessageBus()
        let peer = try PythonBusPeer.start(BusPeerScript.serving, ["little"], bus: bus)
        _ = try await peer.line(containing: "ready")
        let connection = try await bus.connect()
        await #expect(throws: BusError.timedOut) {
            try await connection.call(Peer.call("Silent"), timeout: .milliseconds(50))
        }
        let asking = Task {
            do throws(BusError) {
                _ = try await connection.call(Peer.call("Silent"), timeout: .seconds(600))
                return BusError?.none
            } catch {
                return error
            }
        }
        _ = try await peer.line(containing: "silent")
        asking.cancel()
        #expect(await asking.value == .cancelled)
        #expect(try await connection.call(Peer.call("Echo", [.byte(1)])).body == [.byte(1)])
    }

    @Test("signals that were asked for come in their order")
    func signals() async throws {
        let bus = try await MessageBus()
        let peer = try PythonBusPeer.start(BusPeerScript.serving, ["big"], bus: bus)
        _ = try await peer.line(containing: "ready")
        let connection = try await bus.connect()
        try await connection.addMatch("type='signal',interface='org.example.Peer'")
        _ = try await connection.call(Peer.call("Repeat", [.uint32(200)]))
        var seen: [UInt32] = []
        for await message in connection.messages where message.is("org.example.Peer", "Tick") {
            guard case .uint32(let number)? = message.body.first else { break }
            seen.append(number)
            if seen.count == 200 { break }
        }
        #expect(seen == Array(0..<200))
    }

    @Test("who takes a name is told, and who loses it by dying")
    func nameOwner() async throws {
        let bus = try await MessageBus()
        let connection = try await bus.connect()
        try await connection.addMatch(
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',"
                + "arg0='org.example.Peer'")
        #expect(try await connection.nameOwner("org.example.Peer") == nil)
        let peer = try PythonBusPeer.start(BusPeerScript.serving, ["little"], bus: bus)
        _ = try await peer.line(containing: "ready")
        let owner = try await connection.nameOwner("org.example.Peer")
        #expect(owner.map(BusGrammar.isUniqueName) == true)
        #expect(try await connection.names().contains(Array("org.example.Peer".utf8)))
        peer.signal(9)
        var owners: [BusValue] = []
        for await message in connection.messages
        where message.is("org.freedesktop.DBus", "NameOwnerChanged") {
            owners.append(message.body[2])
            if owners.count == 2 { break }
        }
        #expect(owners == [.string(owner ?? []), .string("")])
    }

    @Test("a name is had by one connection, until it goes")
    func names() async throws {
        let bus = try await MessageBus()
        let first = try await bus.connect()
        let second = try await bus.connect()
        #expect(first.uniqueName != second.uniqueName)
        #expect(try await first.requestName("org.example.Name"))
        #expect(try await first.requestName("org.example.Name"))
        #expect(try await second.requestName("org.example.Name") == false)
        await #expect(throws: BusError.failed(.invalidArguments)) {
            try await second.requestName("nonsense")
        }
        try await second.addMatch("type='signal',member='NameOwnerChanged'")
        first.close()
        for await message in second.messages
        where message.body == [
            .string("org.example.Name"), .string(first.uniqueName), .string(""),
        ] { break }
        #expect(try await second.requestName("org.example.Name"))
    }

    @Test("a program that is not there is started for its name")
    func activation() async throws {
        let place = try TemporaryDirectory()
        let script = place.path + "/peer.py"
        try BusPeerScript.serving.write(toFile: script, atomically: true, encoding: .utf8)
        let bus = try await MessageBus(services: [
            "org.example.Peer": ["/usr/bin/env", "python3", script, "big"],
            "org.example.Broken": ["/usr/bin/env", "false"],
        ])
        let connection = try await bus.connect()
        #expect(try await connection.call(Peer.call("Echo", [.byte(3)])).body == [.byte(3)])
        await #expect(throws: BusError.failed(.notStarted)) {
            try await connection.call(
                .call("org.example.Broken", path: "/", interface: "a.b", member: "M"))
        }
    }
}
