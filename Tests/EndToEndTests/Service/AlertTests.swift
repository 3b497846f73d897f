import Foundation
import TestSupport
import Testing

/// The alerts of `Deploy/monitoring`, each by its cause.
@Suite(
    "Alerts", .enabled(if: PrometheusUnderTest.isInstalled, "needs prometheus"),
    .timeLimit(.minutes(5)))
struct AlertTests {
    private static func metrics(_ port: UInt16) -> String {
        "\n[metrics]\nlisten = 127.0.0.1:\(port)\n"
    }

    @Test("promtool takes the rules, and a test here has each of them fire")
    func rules() async throws {
        let check = try await RunningProgram.run(
            path: "/usr/bin/promtool", ["check", "rules", PrometheusUnderTest.rules.path])
        #expect(check.status == 0, "\(check.output)")
        let tests = try Repository.text("Tests/EndToEndTests/Service/AlertTests.swift")
        let rules = try String(contentsOf: PrometheusUnderTest.rules, encoding: .utf8)
        let names = rules.matches(of: /alert: (\w+)/).map { String($0.1) }
        #expect(names.count == 10)
        for name in names {
            let isTested = ["\"", " "].contains { tests.contains("fires(\"\(name)\($0)") }
            #expect(isTested, "\(name)")
        }
    }

    @Test("of an absent shard, a headless feed, a key file that is gone, an audit, no service")
    func troubles() async throws {
        let reserved = try WireServer.reservedPort()
        let peers = "\n[cluster]\npeers = unix:nowhere.sock\n"
        let service = try await ServiceUnderTest(sections: Self.metrics(reserved.port) + peers)
        let deleted = try service.send("DELETE", "/v1/registration", token: TestDevice().token)
        #expect(deleted.status == 503)
        let prometheus = try PrometheusUnderTest(reserved.port)
        try FileManager.default.removeItem(
            atPath: service.directory.path + "/service/feed/head")
        try await prometheus.fires("ReveilleShardAway shard-away")
        try await prometheus.fires("ReveilleFeed feed-unreadable")
        try FileManager.default.removeItem(
            atPath: service.directory.path + "/service/keys/registration.key")
        try await prometheus.fires("ReveilleStore key-file-missing")
        let admin = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let body = "{\"violations\":1,\"sha256\":\"\(String(repeating: "0", count: 64))\"}"
        try admin.send(
            "PUT /v1/audit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(try admin.receiveResponse().status == 204)
        try await prometheus.fires("ReveilleAudit audit-violations")
        #expect(await service.stop() == 0)
        try await prometheus.fires("ReveilleDown")
    }

    @Test("of a push service that refuses the key")
    func pushes() async throws {
        let reserved = try WireServer.reservedPort()
        var choices = PushingService.Choices()
        choices.isKeyForeign = true
        choices.sections = Self.metrics(reserved.port)
        let pushing = try await PushingService(choices)
        try pushing.register((0..<5).map { _ in TestDevice() })
        let prometheus = try PrometheusUnderTest(reserved.port)
        #expect(try await pushing.broadcast().status == 1)
        try await prometheus.fires("ReveillePushes gateway-stopped")
    }

    @Test(
        "of a head that nobody has signed again for half of its life",
        .enabled(if: FakeTime.isInstalled, "needs faketime"))
    func feedOld() async throws {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(sections: Self.metrics(reserved.port))
        let feed = service.directory.path + "/service/feed"
        try FileManager.default.removeItem(atPath: feed)
        let made = try await FakeTime.service(
            "-4d", "feed", "init", feed, "--key",
            service.directory.path + "/service/keys/feed.key")
        #expect(made.status == 0, "\(made.output)")
        let prometheus = try PrometheusUnderTest(reserved.port)
        try await prometheus.fires("ReveilleFeedOld feed-not-refreshed")
        #expect(!prometheus.fired.contains("ReveilleFeed feed-expired"))
    }

    @Test("of a head that the witnesses of the policy have not cosigned")
    func unwitnessed() async throws {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(sections: Self.metrics(reserved.port))
        #expect(await service.stop() == 0)
        let made = try await RunningProgram.run(
            "reveille",
            ["witness", "init", "w.example/1", "--directory", service.directory.path + "/witness"])
        let key = try ServiceUnderTest.word(after: "witness key: ", in: made.output)
        let policy = "witness w \(key) http://127.0.0.1:9\nquorum w\n"
        try policy.write(
            toFile: service.directory.path + "/service/policy", atomically: true, encoding: .utf8)
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        try text.replacing("\nserve = on\n", with: "\nserve = on\nwitnesses = policy\n")
            .write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        let prometheus = try PrometheusUnderTest(reserved.port)
        try await prometheus.fires("ReveilleFeedUnwitnessed feed-unwitnessed")
    }

    @Test(
        "of broadcasts that cannot be written down for three hours",
        .enabled(if: FakeTime.isInstalled, "needs faketime"))
    func broadcastLate() async throws {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(
            sections: Self.metrics(reserved.port) + "\n[broadcast]\ninterval-seconds = 1200\n")
        #expect(await service.stop() == 0)
        let clock = try FakeTime.Clock(service.directory.path + "/clock")
        let program = try clock.serve(service.configuration)
        _ = try await program.line(containing: "started port=")
        let prometheus = try PrometheusUnderTest(reserved.port)
        // The control: in time, and everybody can be woken.
        let control = try await service.command("broadcast", "--force")
        #expect(control.status == 0, "\(control.output)")
        // No file can take the place of a directory that is not empty.
        let history = service.data + "/broadcast"
        try FileManager.default.removeItem(atPath: history)
        try FileManager.default.createDirectory(
            atPath: history + "/in-the-way", withIntermediateDirectories: true)
        let refused = try await service.command("broadcast", "--force")
        #expect(refused.output.contains("cannot write down the broadcast"), "\(refused.output)")
        #expect(!prometheus.fired.contains("ReveilleBroadcastLate broadcast-late"))
        try clock.set("+3h")
        try await prometheus.fires("ReveilleBroadcastLate broadcast-late")
        let status = try await service.command("status")
        #expect(status.output.contains("problem: broadcast-late: "), "\(status.output)")
    }

    @Test("of a rotation whose key cannot be written")
    func rotation() async throws {
        let reserved = try WireServer.reservedPort()
        let service = try await ServiceUnderTest(sections: Self.metrics(reserved.port))
        let prometheus = try PrometheusUnderTest(reserved.port)
        let control = try await service.command("rotate", "--now", "--yes")
        #expect(control.status == 0, "\(control.output)")
        // No file can take the place of a directory that is not empty.
        let key = service.directory.path + "/service/keys/registration.key"
        try FileManager.default.moveItem(atPath: key, toPath: key + ".kept")
        try FileManager.default.createDirectory(
            atPath: key + "/in-the-way", withIntermediateDirectories: true)
        let failed = try await service.command("rotate", "--now", "--yes")
        #expect(failed.status != 0, "\(failed.output)")
        try await prometheus.fires("ReveilleRotation rotation-failed")
    }
}
