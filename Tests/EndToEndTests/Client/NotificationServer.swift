import Foundation
import TestSupport

/// A desktop's notification server, written with jeepney, on a bus of its own.
final class NotificationServer: Sendable {
    struct Shown: Decodable, Equatable, Sendable {
        let app: String
        let replaces: UInt32
        let summary: String
        let body: String
        let actions: [String]
        let urgency: UInt8
        let timeout: Int32
    }

    let bus: MessageBus
    private let program: RunningProgram

    /// - Parameters:
    ///   - abilities: what it says it can do.
    ///   - answer: `id`, `zero`, `error` or `text`.
    init(abilities: [String] = ["body", "body-markup"], answer: String = "id") async throws {
        bus = try await MessageBus()
        program = try PythonBusPeer.start(
            Self.script, [answer, abilities.joined(separator: ",")], bus: bus)
        _ = try await program.line(containing: "ready")
    }

    /// Everything it was asked to show so far, once that is at least this much.
    /// - Parameter urgency: nil for any.
    func shown(atLeast count: Int, urgency: UInt8? = nil) async throws -> [Shown] {
        try await program.output { output in
            let shown = output.split(separator: "\n").compactMap {
                try? JSONDecoder().decode(Shown.self, from: Data($0.utf8))
            }.filter { urgency == nil || $0.urgency == urgency }
            return shown.count >= count ? shown : nil
        }
    }

    var environment: [String: String] { ["DBUS_SESSION_BUS_ADDRESS": bus.address] }

    private static let script = """
        import json, os, sys
        from jeepney import *
        from jeepney.io.blocking import open_dbus_connection

        mode, abilities = sys.argv[1], [word for word in sys.argv[2].split(",") if word]
        connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])
        bus = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        name = "org.freedesktop.Notifications"
        owned = connection.send_and_get_reply(new_method_call(bus, "RequestName", "su", (name, 4)))
        assert owned.body == (1,), owned.body
        print("ready", flush=True)
        last = 0
        while True:
            call = connection.receive()
            fields = call.header.fields
            if call.header.message_type != MessageType.method_call:
                continue
            assert fields[HeaderFields.path] == "/org/freedesktop/Notifications"
            assert fields[HeaderFields.interface] == name
            if fields[HeaderFields.member] == "GetCapabilities":
                connection.send(new_method_return(call, "as", (abilities,)))
                continue
            assert fields[HeaderFields.member] == "Notify"
            assert fields[HeaderFields.signature] == "susssasa{sv}i"
            app, replaces, icon, summary, body, actions, hints, timeout = call.body
            last += 1
            if mode == "error":
                connection.send(new_error(call, "org.freedesktop.Notifications.Error.Failed"))
            elif mode == "zero":
                connection.send(new_method_return(call, "u", (0,)))
            elif mode == "text":
                connection.send(new_method_return(call, "s", ("1",)))
            else:
                kind, urgency = hints["urgency"]
                assert kind == "y" and list(hints) == ["urgency"]
                print(json.dumps({
                    "app": app, "replaces": replaces, "summary": summary, "body": body,
                    "actions": actions, "urgency": urgency, "timeout": timeout}), flush=True)
                connection.send(new_method_return(call, "u", (last,)))
        """
}
