import Foundation
import TestSupport
import Testing

/// `run --dbus` as a desktop app uses it: Debian's Python with GLib's main loop and libdbus, which
/// share nothing with ours.
@Suite(
    "The object on the session bus", .enabled(if: MessageBus.isInstalled, MessageBus.missing),
    .timeLimit(.minutes(5)))
struct BusInterfaceTests {
    private static let python = "/usr/bin/python3"

    /// A service, its bus, and the default profile of a home of its own.
    private final class Desktop: Sendable {
        let directory: TemporaryDirectory
        let bus: MessageBus
        let environment: [String: String]

        init(_ service: ServiceUnderTest) async throws {
            directory = try TemporaryDirectory()
            bus = try await MessageBus()
            environment = [
                "HOME": directory.path, "XDG_STATE_HOME": directory.path + "/state",
                "XDG_CACHE_HOME": directory.path + "/cache",
                "DBUS_SESSION_BUS_ADDRESS": bus.address,
            ]
            for words in [[], ["--profile", "a-b"]] {
                let made = try await command(
                    [
                        "init", "--feed", service.url + "/feed/", "--key", service.feedKey,
                        "--service", service.url,
                    ] + words)
                #expect(made.status == 0, "\(made.output)")
            }
        }

        func command(
            _ words: [String], input: String = ""
        ) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                "reveille-client", words, input: Array(input.utf8), environment: environment)
        }

        func start(_ words: String...) throws -> RunningProgram {
            try RunningProgram("reveille-client", words, environment: environment)
        }

        func program(_ words: [String]) throws -> RunningProgram {
            let variables = environment.map { "\($0)=\($1)" }
            return try RunningProgram(path: "/usr/bin/env", variables + words)
        }
    }

    @Test(
        "a GLib program syncs, is sent the match, acknowledges it and sees the status change",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: python)
                && (try? PythonScript.run(
                    "import subprocess as s; s.run(['\(python)','-c','import gi,dbus'],check=True)"
                )) == 0, "python3-gi or python3-dbus is not installed"))
    func mainLoop() async throws {
        let service = try await ServiceUnderTest()
        let desktop = try await Desktop(service)
        let secret = TestDevice().pushText
        _ = try await desktop.command(["secrets", "add", "visit"], input: secret)
        let running = try desktop.start("run", "--dbus", "--verbose")
        _ = try await running.line(containing: "stream connected")
        _ = try await service.publish([secret], notes: ["PLANTEDNOTE"])
        let app = try desktop.program([Self.python, "-u", "-c", Self.script])
        #expect(await app.exit() == 0, "\(app.output)")
        #expect(app.output.contains("match visit PLANTEDNOTE"))
        #expect(app.output.hasSuffix("acknowledged\n0 matches wait\n"), "\(app.output)")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        let left = try FileSnapshot.files(below: desktop.directory.path).filter {
            $1.range(of: Data("PLANTEDNOTE".utf8)) != nil
        }
        #expect(left.isEmpty)
    }

    @Test(
        "each profile has a name and a path of its own, and gdbus can read what is there",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gdbus"),
            "gdbus is not installed"))
    func introspection() async throws {
        let service = try await ServiceUnderTest()
        let desktop = try await Desktop(service)
        let programs = [
            try desktop.start("run", "--dbus", "--verbose"),
            try desktop.start("run", "--dbus", "--verbose", "--profile", "a-b"),
        ]
        for program in programs { _ = try await program.line(containing: "stream connected") }
        for (name, word) in [
            ("org.reveille.Client1", "profile_default"),
            ("org.reveille.Client1.profile_default", "profile_default"),
            ("org.reveille.Client1.profile_a-b", "profile_a_2db"),
        ] {
            let wait = try desktop.program(["gdbus", "wait", "--session", name])
            #expect(await wait.exit() == 0)
            let gdbus = try desktop.program([
                "gdbus", "introspect", "--session", "--recurse", "--dest", name,
                "--object-path", "/",
            ])
            #expect(await gdbus.exit() == 0)
            for part in [
                "node /org/reveille/Client1/\(word) {", "Acknowledge(in  s ", "Sync();",
                "interface org.freedesktop.DBus.Peer", "PropertiesChanged(s ",
                "readonly a{sv} Status = {'registration': <'none'>",
            ] {
                #expect(gdbus.output.contains(part), "\(gdbus.output)")
            }
        }
    }

    private static let script = """
        import dbus, dbus.mainloop.glib, sys
        from gi.repository import GLib
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SessionBus()
        name, path = "org.reveille.Client1", "/org/reveille/Client1/profile_default"
        properties = "org.freedesktop.DBus.Properties"
        loop = GLib.MainLoop()

        def begin():
            bus.add_signal_receiver(match, "Match", name, path=path)
            bus.add_signal_receiver(changed, "PropertiesChanged", properties, path=path)
            client().Sync()

        def client():
            return dbus.Interface(bus.get_object(name, path), name)

        def match(id, secret, note):
            print("match", secret, bytes(note).decode())
            try:
                client().Acknowledge("00" * 16)
                sys.exit("an unknown match was acknowledged")
            except dbus.DBusException as error:
                assert error.get_dbus_name() == "org.freedesktop.DBus.Error.InvalidArgs"
            client().Acknowledge(
                id, reply_handler=lambda: print("acknowledged"), error_handler=fail)

        def changed(interface, values, gone):
            status = values["Status"]
            assert interface == name and status["running"] and status["stream"] == "connected"
            if status["sequence"] == 1 and status["matchesToDeliver"] == 0:
                asked = dbus.Interface(bus.get_object(name, path), properties).Get(name, "Status")
                assert asked["sequence"] == 1
                print(asked["matchesToDeliver"], "matches wait")
                loop.quit()

        def fail(error):
            print(error)
            loop.quit()

        bus.watch_name_owner(name, lambda owner: owner and GLib.idle_add(begin))
        loop.run()
        """
}
