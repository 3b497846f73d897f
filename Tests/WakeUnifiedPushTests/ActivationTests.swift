import Foundation
import TestSupport
import Testing

@testable import WakeUnifiedPush

@Suite(
    "A push starts a client that does not run",
    .enabled(if: PushedWorld.isPossible, PushedWorld.needs), .timeLimit(.minutes(5)))
struct ActivationTests {
    /// The bus looks where `push use` writes, as a desktop's does.
    private func link(_ world: PushedWorld) throws {
        let folder = world.bus.directory.path + "/data/dbus-1"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/services", withDestinationPath: world.bus.services)
    }

    /// The client that the bus started, which is no child of ours: by its profile.
    private static func started(_ world: PushedWorld) -> [Int32] {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return folders.compactMap(Int32.init).filter { identifier in
            let file = FileManager.default.contents(atPath: "/proc/\(identifier)/cmdline")
            return (file ?? Data()).split(separator: 0).contains(Data(world.client.state.utf8))
        }
    }

    @Test("the message that started it is answered, and what was published is told")
    func starts() async throws {
        let world = try await PushedWorld()
        defer { for identifier in Self.started(world) { kill(identifier, SIGKILL) } }
        try link(world)
        let distributor = try await DistributorUnderTest(on: world.bus)
        let reports = try MatchReports(in: world.client.directory)
        let used = try await world.command("push", "use", "python", "--on-match", reports.program)
        #expect(used.status == 0 && used.output.contains("registered"), "\(used.output)")
        #expect(world.puts.count == 1)
        let file = try #require(
            try FileManager.default.contentsOfDirectory(atPath: world.bus.services).first)
        #expect(file.hasPrefix("org.reveille.Client.state_") && file.hasSuffix(".service"))
        let before = try await world.command("push", "status", "--json")
        #expect(before.output.contains(#""presence":"running","connected":false,"started":true"#))

        let secret = try await world.client.addSecret("visit")
        let publish = try RunningProgram(
            "reveille",
            ["feed", "publish", "-", "--secrets", "--config", world.service.configuration],
            input: Array(secret.utf8))
        #expect(await publish.exit() == 0)
        let told = try await distributor.tell("{'do': 'message', 'size': 1, 'id': 'first'}")
        #expect(told == "[{'id': 'first'}]")
        #expect(try await reports.atLeast(1).map(\.secret) == ["visit"])
        // It runs on, and has registered again with the same token: nothing new for the service.
        try await distributor.registrations(atLeast: 2)
        let after = try await world.command("push", "status", "--json")
        #expect(after.output.contains(#""connected":true"#))
        #expect(world.puts.count == 1)

        let off = try await world.command("push", "off")
        #expect(off.status == 0 && off.output.contains("unregistered"), "\(off.output)")
        try await distributor.said("unregistered")
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.bus.services).isEmpty)
        #expect(world.front.requests.contains { $0.method == "DELETE" })
        // The client that the bus started goes with the bus; it does not register again.
        #expect(Self.started(world).count == 1)
        world.bus.kill()
        while !Self.started(world).isEmpty { try Task.checkCancellation() }
        let count = try await world.command("push", "status", "--json")
        #expect(count.output.contains(#""distributor":null"#) && world.puts.count == 1)
    }

    @Test(
        "words with spaces, quotes and backslashes reach the program that the bus starts unchanged")
    func quoting() async throws {
        let directory = try TemporaryDirectory()
        let words = ["a b", "it's", "\"two\"", "back\\slash", "$HOME", "ü", "", "\\n", "#;=%u"]
        let seen = directory.path + "/seen"
        let script = "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:])); sys.exit(1)"
        let bus = try await MessageBus()
        let file = ActivationFile(
            name: "org.example.Started",
            command: ["/usr/bin/env", "python3", "-c", script, seen] + words)
        try file.write(to: bus.services + "/org.example.Started.service")
        let starter = """
            import os
            from jeepney import *
            from jeepney.io.blocking import open_dbus_connection
            connection = open_dbus_connection(bus=os.environ["DBUS_SESSION_BUS_ADDRESS"])
            name = "org.freedesktop.DBus"
            bus = DBusAddress("/org/freedesktop/DBus", name, name)
            connection.send_and_get_reply(new_method_call(bus, "ReloadConfig"))
            reply = connection.send_and_get_reply(
                new_method_call(bus, "StartServiceByName", "su", ("org.example.Started", 0)))
            print("started", flush=True)
            """
        // It takes no name and fails: the bus says so at once.
        let program = try PythonBusPeer.start(starter, bus: bus)
        _ = try await program.line(containing: "started")
        let told = try String(contentsOfFile: seen, encoding: .utf8)
        let expected = try await RunningProgram.run(
            path: "/usr/bin/env",
            ["python3", "-c", "import sys; print(repr(sys.argv[1:]), end='')"] + words)
        #expect(told == expected.output)
    }
}

@Suite("The file by which the bus starts a client")
struct ActivationFileTests {
    @Test("a file of somebody else is neither replaced nor removed")
    func others() throws {
        let directory = try TemporaryDirectory()
        let path = ActivationFile.path(for: "org.example.App", data: directory.path)
        let file = ActivationFile(
            name: "org.example.App", command: ["/bin/true"], unit: "app.service")
        #expect(ActivationFile.isOwn(path) == nil)
        try file.write(to: path)
        try file.write(to: path)
        #expect(ActivationFile.isOwn(path) == true)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.hasSuffix(
                "Name=org.example.App\nExec='/bin/true'\nSystemdService=app.service\n"
            ))
        try ActivationFile.remove(path)
        #expect(ActivationFile.isOwn(path) == nil)
        try "[D-BUS Service]\nName=org.example.App\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: (any Error).self) { try file.write(to: path) }
        try ActivationFile.remove(path)
        #expect(ActivationFile.isOwn(path) == false)
    }

    @Test("a word with a control character is refused")
    func controls() {
        for word in ["a\nb", "a\u{0}", "\u{7F}"] {
            #expect(ActivationFile(name: "a.b", command: ["/bin/true", word]).text == nil)
        }
        #expect(ActivationFile(name: "a.b", command: ["/bin/true"], unit: "a\nExec=b").text == nil)
        #expect(ActivationFile(name: "a.b", command: []).text == nil)
    }
}
