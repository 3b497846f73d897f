import Foundation
import TestSupport
import Testing

@Suite(
    "reveille-client push", .enabled(if: PushedWorld.isPossible, PushedWorld.needs),
    .timeLimit(.minutes(5)))
struct PushCommandTests {
    @Test("none, one and several distributors: clear words, taken, and the person's choice")
    func choice() async throws {
        let world = try await PushedWorld()
        let none = try await world.command("push", "use")
        #expect(none.status == 1 && none.output.contains("no UnifiedPush distributor is installed"))
        #expect(try await world.list().output == "no UnifiedPush distributor is installed\n")
        let one = try await DistributorUnderTest(on: world.bus)
        #expect(try await world.list().output == "org.unifiedpush.Distributor.python\n")
        let other = try await DistributorUnderTest(on: world.bus, "other")
        let several = try await world.command("push", "use")
        #expect(
            several.status == 2 && several.output.contains("Distributor.other, org.unifiedpush"))
        let wrong = try await world.command("push", "use", "kde")
        #expect(wrong.status == 1 && wrong.output.contains("there is no distributor of this name"))
        #expect(world.puts.isEmpty)
        await other.kill()
        let used = try await world.command("push", "use")
        #expect(used.status == 0 && used.output.contains("python: registered"), "\(used.output)")
        #expect(used.output.contains("only while `run` runs"))
        let calls = try await one.calls()
        #expect(world.puts.count == 1 && calls == 1)
    }

    @Test("a distributor that runs only when it is called is listed and started")
    func startable() async throws {
        let mock = try await MockWebPush()
        let service = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        let client = try await ClientUnderTest(of: service)
        let folder = try TemporaryDirectory()
        let script = folder.path + "/distributor.py"
        try DistributorScript.text.write(toFile: script, atomically: true, encoding: .utf8)
        let bus = try await MessageBus(
            services: [
                "org.unifiedpush.Distributor.python": [
                    "/usr/bin/env", "python3", "-u", script, "python", "little",
                    folder.path + "/known",
                ]
            ], environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"])
        let environment = [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_DATA_HOME": folder.path,
        ]
        let list = try await RunningProgram.run(
            "reveille-client", ["push", "list", "--json"], environment: environment)
        #expect(
            list.output == #"[{"name":"org.unifiedpush.Distributor.python","running":false}]"#
                + "\n")
        let used = try await RunningProgram.run(
            "reveille-client", ["push", "use", "--state", client.state], environment: environment)
        #expect(used.status == 0 && used.output.contains("python: registered"), "\(used.output)")
    }

    @Test("the service's key is handed on when the profile knows it, and only a key is taken")
    func vapid() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        let bad = try await world.command("push", "use", "--vapid", "BAAA")
        #expect(bad.status == 2 && bad.output.contains("87 characters"))
        let used = try await world.command("push", "use", "--vapid", world.mock.publicKey)
        #expect(used.status == 0, "\(used.output)")
        #expect(try await distributor.arguments().contains("'vapid': '\(world.mock.publicKey)'"))
        // Chosen anew, the key stays.
        #expect(try await world.command("push", "use").status == 0)
        #expect(
            try await distributor.arguments().components(separatedBy: "'vapid'").count == 3)
        let status = try await world.command("push", "status")
        #expect(status.output.contains("VAPID key       known"))
    }

    @Test(
        "a distributor that wants a person is told of with what it wants",
        arguments: [
            ("ACTION_REQUIRED", "wants something done"), ("VAPID_REQUIRED", "push use --vapid"),
        ])
    func wants(reason: String, words: String) async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        try await distributor.tell("{'do': 'mode', 'register': '\(reason)'}")
        let used = try await world.command("push", "use")
        #expect(used.status == 75 && used.output.contains(words), "\(used.output)")
        #expect(world.puts.isEmpty)
    }

    @Test("a distributor that another takes the place of is told to forget the client")
    func replaced() async throws {
        let world = try await PushedWorld()
        let former = try await DistributorUnderTest(on: world.bus)
        #expect(try await world.command("push", "use").status == 0)
        let other = try await DistributorUnderTest(on: world.bus, "other")
        let used = try await world.command("push", "use", "other")
        #expect(used.status == 0 && used.output.contains("other: registered"), "\(used.output)")
        try await former.said("unregistered")
        #expect(try await former.calls() == 1)
        #expect(try await other.calls() == 1)
    }

    @Test("unregister gives the distributor up as well, and a second registration shares nothing")
    func unregister() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        #expect(try await world.command("push", "use").status == 0)
        let first = try await distributor.arguments()
        #expect(try await world.command("unregister").status == 0)
        try await distributor.said("unregistered")
        let conf = try String(contentsOfFile: world.client.state + "/client.conf", encoding: .utf8)
        #expect(!conf.contains("distributor"))
        #expect(try await world.command("push", "use").status == 0)
        let tokens = try await distributor.arguments().components(separatedBy: "'token': '")
            .dropFirst().map { $0.prefix(43) }
        #expect(first.contains(tokens[0]) && Set(tokens).count == 2)
        // No file of the client holds the token that was given up.
        #expect(try world.client.files(containing: [Array(tokens[0].utf8)]) == [])
        #expect(try world.client.files(containing: [Array(tokens[1].utf8)]) != [])
    }

    @Test("a client that runs takes up what push use chooses, and gives up what push off does")
    func beside() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        let client = try world.run()
        _ = try await client.line(containing: "started")
        let used = try await world.command("push", "use")
        #expect(used.status == 0 && used.output.contains("python: registered"), "\(used.output)")
        try await world.puts(atLeast: 1)
        let other = try await DistributorUnderTest(on: world.bus, "other")
        let changed = try await world.command("push", "use", "other")
        #expect(changed.status == 0, "\(changed.output)")
        try await world.puts(atLeast: 2)
        try await distributor.said("unregistered")
        #expect(try await other.calls() == 1)
        #expect(try await world.command("push", "off").status == 0)
        try await other.said("unregistered")
        #expect(try await world.command("push", "use", "python").status == 0)
        #expect(try await world.command("push", "off").status == 0)
        await world.stop(client)
        #expect(world.puts.count == 3)
    }
}
