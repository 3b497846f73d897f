import Testing
import WakeSystem

@testable import WakeUnifiedPush

struct CallTableTests {
    private static func reply(_ serial: UInt32, from sender: String?) -> BusMessage {
        var message = BusMessage(.reply)
        message.replySerial = serial
        message.sender = sender.map { Array($0.utf8) }
        return message
    }

    @Test("a reply counts from who was asked, or from the bus, and once")
    func senders() {
        let table: [(asked: String, answers: String?, counts: Bool)] = [
            (":1.7", ":1.7", true), (":1.7", ":1.8", false), (":1.7", nil, false),
            (":1.7", "org.freedesktop.DBus", true), ("org.example.A", ":1.8", true),
            ("org.example.A", "org.example.B", false),
            ("org.freedesktop.DBus", "org.freedesktop.DBus", true),
            ("org.freedesktop.DBus", ":1.7", false),
        ]
        for (asked, answers, counts) in table {
            var calls = BusCallTable<Int>(firstSerial: 1)
            let serial = calls.nextSerial()
            calls.add(serial, to: Array(asked.utf8), deadline: 10, 5)
            let waiter = calls.remove(for: Self.reply(serial, from: answers))
            #expect(waiter == (counts ? 5 : nil), "\(asked) \(answers ?? "nobody")")
            #expect(calls.isEmpty == counts)
            #expect(calls.remove(for: Self.reply(serial, from: answers)) == nil)
        }
    }

    @Test("a call is over at its deadline, and its late reply is nobody's")
    func deadlines() {
        var calls = BusCallTable<Int>(firstSerial: 1)
        for (deadline, waiter) in [(UInt64(20), 2), (10, 1), (30, 3)] {
            calls.add(calls.nextSerial(), to: nil, deadline: deadline, waiter)
        }
        #expect(calls.firstDeadline == 10)
        #expect(calls.expired(9) == [])
        #expect(calls.expired(20).sorted() == [1, 2])
        #expect(calls.firstDeadline == 30)
        #expect(calls.remove(for: Self.reply(1, from: "org.freedesktop.DBus")) == nil)
        #expect(calls.removeAll() == [3])
    }

    @Test("serials go round without 0 and without one that waits")
    func serials() {
        var calls = BusCallTable<Int>(firstSerial: .max - 1)
        #expect(calls.nextSerial() == UInt32.max - 1)
        #expect(calls.nextSerial() == UInt32.max)
        calls.add(1, to: nil, deadline: 1, 1)
        #expect(calls.nextSerial() == 2)
    }
}

struct DispatcherTests {
    private static let dispatcher = BusDispatcher(
        objects: [
            BusObject(
                path: "/org/example/Ours", interface: "org.example.Ours",
                methods: [.init("Take", "ay", results: "u"), .init("Options", "a{sv}")])
        ], machineID: Array("0123456789abcdef0123456789abcdef".utf8))

    private static func answer(
        _ path: String, _ interface: String?, _ member: String, _ body: [BusValue] = []
    ) -> String {
        var call = BusMessage.call(
            ":1.1", path: path, interface: interface ?? "a.b", member: member, body)
        if interface == nil { call.interface = nil }
        guard let answer = dispatcher.answer(to: call) else { return "pass" }
        if let name = answer.errorName {
            return String(decoding: name, as: UTF8.self)
                .split(separator: ".").last.map(String.init) ?? ""
        }
        guard case .string(let text)? = answer.body.first else { return "reply" }
        return String(decoding: text, as: UTF8.self)
    }

    @Test("only calls of what is served, with the right types, are passed on")
    func decisions() {
        let (path, name) = ("/org/example/Ours", "org.example.Ours")
        #expect(Self.answer(path, name, "Take", [.bytes([])]) == "pass")
        #expect(Self.answer(path, nil, "Take", [.bytes([1])]) == "pass")
        #expect(Self.answer(path, name, "Options", [.options([])]) == "pass")
        #expect(Self.answer(path, name, "Take", [.string("")]) == "InvalidArgs")
        #expect(Self.answer(path, name, "Take") == "InvalidArgs")
        #expect(Self.answer(path, name, "Give", [.bytes([])]) == "UnknownMethod")
        #expect(Self.answer(path, "org.example.Other", "Take") == "UnknownInterface")
        #expect(Self.answer("/org/example", name, "Take") == "UnknownObject")
        #expect(Self.answer("/", "org.freedesktop.DBus.Properties", "GetAll") == "UnknownObject")
    }

    @Test("what every connection answers is answered")
    func standardInterfaces() {
        #expect(Self.answer("/any", "org.freedesktop.DBus.Peer", "Ping") == "reply")
        #expect(
            Self.answer("/", "org.freedesktop.DBus.Peer", "GetMachineId")
                == "0123456789abcdef0123456789abcdef")
        let introspectable = "org.freedesktop.DBus.Introspectable"
        let text = Self.answer("/org/example/Ours", introspectable, "Introspect")
        #expect(text.contains("<interface name=\"org.example.Ours\">"))
        #expect(text.contains("<arg type=\"a{sv}\" direction=\"in\"/>"))
        #expect(text.contains("<arg type=\"u\" direction=\"out\"/>"))
        #expect(Self.answer("/", introspectable, "Introspect").contains("<node name=\"org\"/>"))
        #expect(Self.answer("/org/exam", introspectable, "Introspect") == "UnknownObject")
    }

    @Test("properties are read, and nothing else is done with them")
    func properties() throws {
        let path = "/org/example/Ours"
        let object = BusObject(
            path: path, interface: "org.example.Ours", methods: [.init("Take", "ay")],
            properties: [.init("Count", "u") { .uint32(7) }], signals: [("Given", "su")])
        let dispatcher = BusDispatcher(objects: [object], machineID: nil)
        func ask(_ member: String, _ body: [BusValue], _ path: String = path) -> BusMessage? {
            dispatcher.answer(
                to: .call(
                    ":1.1", path: path, interface: "org.freedesktop.DBus.Properties",
                    member: member, body))
        }
        let name = BusValue.string("org.example.Ours")
        #expect(ask("Get", [name, .string("Count")])?.body == [.variant(.uint32(7))])
        for interface in [name, .string("")] {
            #expect(ask("GetAll", [interface])?.body == [.options([("Count", .uint32(7))])])
        }
        func error(_ member: String, _ body: [BusValue], _ path: String = path) -> String? {
            ask(member, body, path)?.errorName.map { String(decoding: $0, as: UTF8.self) }
        }
        let prefix = "org.freedesktop.DBus.Error."
        #expect(error("Get", [name, .string("Other")]) == prefix + "UnknownProperty")
        let set: [BusValue] = [name, .string("Count"), .variant(.uint32(8))]
        #expect(error("Set", set) == prefix + "PropertyReadOnly")
        #expect(error("GetAll", [.string("org.example.Other")]) == prefix + "UnknownInterface")
        #expect(error("Get", [name]) == prefix + "InvalidArgs")
        #expect(error("Take", [name]) == prefix + "UnknownMethod")
        #expect(error("GetAll", [name], "/org/example") == prefix + "UnknownObject")
        #expect(
            object.propertiesChanged.body == [
                name, .options([("Count", .uint32(7))]), .strings([]),
            ])
    }
}
