import Foundation
import TestSupport
import Testing

@Suite(
    "The built client and a distributor of another make, over Debian's dbus-daemon",
    .enabled(if: PushedWorld.isPossible, PushedWorld.needs), .timeLimit(.minutes(5)))
struct DistributorTests {
    private static let first = "https://h0.push.example/p/1"

    @Test(
        "the endpoint is left with the service once, whatever the distributor's byte order",
        arguments: ["little", "big"])
    func registers(order: String) async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus, order: order)
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        _ = try await client.line(containing: "registered")
        #expect(world.puts == [Self.first])
        let stored = try await world.client.command("stored", "--json")
        #expect(stored.status == 0 && stored.output.contains("h0.push.example"))
        // The same endpoint again, a hundred times: each call is answered, nothing is asked.
        let again = "{'do': 'endpoint', 'endpoint': '\(Self.first)', 'count': 100}"
        #expect(try await distributor.tell(again).components(separatedBy: "{}").count == 101)
        let arguments = try await distributor.arguments()
        #expect(arguments.contains("'service': 'org.reveille.Client.state_"))
        #expect(arguments.contains("'description'") && !arguments.contains("'vapid'"))
        await world.stop(client)
        #expect(world.puts == [Self.first])
        let said = client.output
        #expect(!said.contains("push.example") && !said.contains("h0."))
    }

    @Test(
        "a distributor that vanishes and returns is registered with again, without a second PUT"
    )
    func returns() async throws {
        let world = try await PushedWorld()
        var distributor = try await DistributorUnderTest(on: world.bus)
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        let token = try await distributor.arguments()
        for _ in 0..<5 {
            await distributor.kill()
            distributor = try await DistributorUnderTest(on: world.bus)
            try await distributor.registrations(atLeast: 1)
        }
        // The same connection token, and so the same endpoint.
        #expect(try await distributor.arguments() == token)
        #expect(
            try await distributor.tell("{'do': 'message', 'size': 1, 'id': 'a'}") == "[{'id': 'a'}]"
        )
        // A changed endpoint is what a PUT is for.
        let new = "https://h1.push.example/p/9"
        try await distributor.tell("{'do': 'endpoint', 'endpoint': '\(new)'}")
        try await world.puts(atLeast: 2)
        try await world.acknowledged()
        await world.stop(client)
        #expect(world.puts == [Self.first, new])
        // And a restart of the client asks for nothing new.
        let second = try world.run()
        _ = try await second.line(containing: "the distributor brings pushes")
        await world.stop(second)
        #expect(world.puts == [Self.first, new])
    }

    @Test("foreign tokens and strangers are ignored: no PUT, no wake, and no answer that tells")
    func foreign() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        let stranger = try await DistributorUnderTest(on: world.bus, "other")
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        let arguments = try await distributor.arguments()
        let service = try Self.value("service", in: arguments)
        let token = try Self.value("token", in: arguments)
        #expect(token.utf8.count == 43)
        let new = "'endpoint': 'https://h3.push.example/p/3'"
        for order in [
            "'do': 'endpoint', \(new)", "'do': 'message', 'size': 1, 'id': 'x'",
            "'do': 'unregistered'",
        ] {
            // A token that is not ours, from the right one.
            #expect(try await distributor.tell("{\(order), 'token': 'foreign'}") == "[{}]")
            // Our token, from somebody else.
            let theft = "{\(order), 'token': '\(token)', 'service': '\(service)'}"
            #expect(try await stranger.tell(theft) == "[{}]")
        }
        #expect(
            try await distributor.tell("{'do': 'message', 'size': 1, 'id': 'y'}") == "[{'id': 'y'}]"
        )
        _ = try await client.line(containing: "reveille-client: push")
        await world.stop(client)
        #expect(client.output.components(separatedBy: "reveille-client: push\n").count == 2)
        let calls = try await distributor.calls()
        #expect(world.puts == [Self.first] && calls == 1)
    }

    @Test("messages of no byte to more than the bus takes wake, and none ends the client")
    func sizes() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        for size in [0, 1, 4096, 4097, 65_536, 1_000_000] {
            let told = try await distributor.tell("{'do': 'message', 'size': \(size), 'id': 'n'}")
            #expect(told == "[{'id': 'n'}]", "\(size) bytes")
        }
        // Beyond what the connection keeps: an error, or a connection that is begun anew.
        _ = try? await distributor.tell("{'do': 'message', 'size': 3000000, 'id': 'n'}")
        while try await distributor.tell("{'do': 'message', 'size': 1, 'id': 'n'}")
            != "[{'id': 'n'}]"
        {
            try Task.checkCancellation()
        }
        await world.stop(client)
        #expect(world.puts == [Self.first])
    }

    @Test("calls of other types and with missing or odd arguments are answered and change nothing")
    func oddCalls() async throws {
        let world = try await PushedWorld()
        let distributor = try await DistributorUnderTest(on: world.bus)
        try world.choose()
        let client = try world.run()
        try await world.puts(atLeast: 1)
        let token = try Self.value("token", in: try await distributor.arguments())
        let url = "https://h3.push.example/p/3"
        let wrongTypes = [
            "'s', 'body': ('x',)", "'', 'body': ()", "'a{ss}', 'body': ({'token': '\(token)'},)",
            "'a{sv}s', 'body': ({'token': ('s', '\(token)')}, 'x')", "'as', 'body': (['a'],)",
            "'(sss)', 'body': (('\(token)', '\(url)', ''),)", "'aav', 'body': ([[('s', 'x')]],)",
        ]
        for member in ["NewEndpoint", "Message", "Unregistered"] {
            for types in wrongTypes {
                let told = try await distributor.tell(
                    "{'do': 'raw', 'member': '\(member)', 'signature': \(types)}")
                #expect(told == "['org.freedesktop.DBus.Error.InvalidArgs']", "\(member) \(types)")
            }
        }
        let wrongArguments = [
            "{}", "{'token': ('s', '\(token)')}", "{'endpoint': ('s', '\(url)')}",
            "{'token': ('ay', b'\(token)'), 'endpoint': ('s', '\(url)')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('ay', b'\(url)')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('v', ('s', '\(url)'))}",
            "{'token': ('s', ''), 'endpoint': ('s', '\(url)')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('s', 'not_an_url')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('s', 'http://h3.push.example/p/3')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('s', 'https://127.0.0.1/x')}",
            "{'token': ('s', '\(token)'), 'endpoint': ('s', '\(url)' * 50)}",
        ]
        for body in wrongArguments.dropLast() {
            let told = try await distributor.tell(
                "{'do': 'raw', 'member': 'NewEndpoint', 'signature': 'a{sv}', 'body': (\(body),)}")
            #expect(told == "[{}]", "\(body)")
        }
        let unknown = "{'do': 'raw', 'member': 'Other', 'signature': 'a{sv}', 'body': ({},)}"
        #expect(
            try await distributor.tell(unknown)
                == "['org.freedesktop.DBus.Error.UnknownMethod']")
        #expect(
            try await distributor.tell("{'do': 'message', 'size': 1, 'id': 'n'}") == "[{'id': 'n'}]"
        )
        await world.stop(client)
        #expect(world.puts == [Self.first])
    }

    private static func value(_ name: String, in text: String) throws -> String {
        let mark = "'\(name)': '"
        guard let range = text.range(of: mark) else { throw TestFailure("no \(name)") }
        return String(text[range.upperBound...].prefix { $0 != "'" })
    }
}
