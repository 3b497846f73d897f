import Foundation
import TestSupport
import Testing

@Suite(
    "The whole way of a push, with the built programs",
    .enabled(if: PushedWorld.isPossible, PushedWorld.needs),
    .enabled(if: PushServerScript.isPossible, "Python's h2 or cryptography is not installed"),
    .timeLimit(.minutes(5)))
struct WholeWayTests {
    @Test(
        "registered over D-Bus, published, broadcast by Web Push, pushed over D-Bus, matched, told")
    func story() async throws {
        let authority = try TestAuthority()
        let shown = try authority.issue(for: "*.push.example")
        let bus = try await MessageBus()
        let server = try PythonBusPeer.start(
            PushServerScript.text, [shown.certificate, shown.key], bus: bus)
        let line = try await server.line(containing: "port ")
        let port = try #require(line.split(separator: " ").last)
        let keys = try TemporaryDirectory()
        let made = try await RunningProgram.run(
            "reveille", ["keygen", "--kind", "vapid", keys.path + "/vapid.key"])
        let key = try #require(
            made.output.split { $0.isWhitespace }.first { $0.utf8.count == 87 }, "\(made.output)")
        let service = try await ServiceUnderTest(
            sections: """
                [webpush]
                key = \(keys.path)/vapid.key
                hosts = *.push.example
                connect = 127.0.0.1:\(port)
                ca = \(authority.certificate)

                """, serving: .nothing)
        let client = try await ClientUnderTest(
            feed: service.url + "/feed/", key: service.feedKey, "--service", service.url,
            "--channel", "poll", "--vapid", String(key))
        let environment = [
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_DATA_HOME": keys.path,
        ]
        let used = try await RunningProgram.run(
            "reveille-client", ["push", "use", "whole", "--state", client.state],
            environment: environment)
        #expect(used.status == 0 && used.output.contains("registered"), "\(used.output)")
        #expect(try await server.line(containing: "vapid ") == "vapid \(key)")

        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("visit")
        let running = try client.start(
            "run", "--verbose", "--on-match", reports.program, environment: environment)
        _ = try await running.line(containing: "the distributor brings pushes")
        while try await client.status("lastVerified") == "null" { try Task.checkCancellation() }
        let publish = try RunningProgram(
            "reveille",
            [
                "feed", "publish", "-", "--secrets", "--config", service.configuration,
                "--then-broadcast",
            ], input: Array(secret.utf8))
        #expect(await publish.exit() == 0, "\(publish.output)")
        // No stream, and the next poll is hours away: nothing but the push can have told.
        #expect(try await reports.atLeast(1).map(\.secret) == ["visit"])
        _ = try await server.line(containing: "pushed 1")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(running.output.contains("reveille-client: push\n"))
        #expect(await service.stop() == 0)
    }
}
