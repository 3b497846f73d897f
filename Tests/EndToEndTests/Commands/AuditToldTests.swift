import Foundation
import TestSupport
import Testing

@Suite("reveille audit --tell, and what the public reads", .timeLimit(.minutes(5)))
struct AuditToldTests {
    private func page(_ service: ServiceUnderTest) throws -> String {
        let answer = try service.send("GET", "/")
        #expect(answer.status == 200)
        return answer.text
    }

    @Test("the page shows verdict and hash of the last audit that was told, until a restart")
    func told() async throws {
        let service = try await ServiceUnderTest()
        #expect(try page(service).contains("has made no audit"))
        let database = service.data + "/registrations.db"
        // Without the flag nobody is told.
        #expect(try await service.command("audit", database).status == 0)
        #expect(try page(service).contains("has made no audit"))

        let clean = try await service.command("audit", database, "--tell")
        #expect(clean.status == 0, "\(clean.output)")
        #expect(clean.output.contains("reported to the service"), "\(clean.output)")
        let sum = try await RunningProgram.run(path: "/usr/bin/sha256sum", [database])
        let shown = try page(service)
        #expect(shown.contains("<strong>nothing</strong>"))
        #expect(shown.contains(String(sum.output.prefix(64))))

        try Data([1]).write(to: URL(filePath: service.data + "/visitors.csv"))
        let found = try await service.command("audit", database, "--tell", "--json")
        #expect(found.status == 3, "\(found.output)")
        #expect(try page(service).contains("<strong>violations: 1</strong>"))
        #expect(try !page(service).contains("visitors"))

        #expect(await service.stop() == 0)
        try await service.restart()
        #expect(try page(service).contains("has made no audit"))
    }

    @Test("without a service the audit is made and printed, and it is said that nobody was told")
    func nobody() async throws {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        let database = service.data + "/registrations.db"
        let clean = try await service.command("audit", database, "--tell")
        #expect(clean.status == 75)
        #expect(clean.output.contains("\nclean\n"))
        #expect(
            clean.output.contains(
                "the audit is done, but could not be reported: the service does not answer"))
        try Data([1]).write(to: URL(filePath: service.data + "/visitors.csv"))
        let found = try await service.command("audit", database, "--tell")
        #expect(found.status == 3 && found.output.contains("could not be reported"))
    }

    @Test("an audit against another policy is not told, and a verdict of another form not taken")
    func refused() async throws {
        let service = try await ServiceUnderTest()
        let policy = service.directory.path + "/policy.json"
        try Data(service.send("GET", "/v1/policy").body).write(to: URL(filePath: policy))
        let other = try await service.command(
            "audit", service.data + "/registrations.db", "--tell", "--policy", policy)
        #expect(other.status == 2)
        let admin = service.directory.path + "/service/admin.sock"
        for body in [#"{"violations":0,"sha256":"<b>"}"#, "{}", "0"] {
            let client = try LoopbackClient(path: admin)
            let answer = try client.exchange("PUT", "/v1/audit", body: Array(body.utf8))
            #expect(answer.status == 400, "\(body)")
        }
        let outside = try service.send("PUT", "/v1/audit", body: Array("{}".utf8))
        #expect(outside.status == 404)
        #expect(try page(service).contains("has made no audit"))
    }

    @Test(
        "counters change when a broadcast has ended, and then say what the round has read",
        .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
    func counters() async throws {
        let place = try await PushingService(.init("--answer-token", "dead:410:Unregistered"))
        let devices =
            (0..<60).map { _ in TestDevice(pushPrefix: [0]) }
            + [TestDevice(pushPrefix: [0xDE, 0xAD])]
        try place.register(devices)
        let before = try place.service.send("GET", "/v1/counters")
        #expect(before.status == 200 && before["Content-Type"] == "application/json")
        #expect(before.text.contains(#""since_start":{}"#))
        for device in devices.prefix(30) {
            _ = try place.service.send("DELETE", "/v1/registration", token: device.token)
        }
        // What people do does not show while nobody is woken.
        #expect(try place.service.send("GET", "/v1/counters").body == before.body)

        #expect(try await place.broadcast().status == 0)
        let counts = try Counts(place.service)
        #expect([30, 40].contains(counts.last_broadcast["registrations_current"] ?? 0))
        #expect(counts.last_broadcast["registrations_previous"] == .some(nil))
        #expect([30, 40].contains(counts.since_start["deletes"] ?? 0))
        #expect([30].contains(counts.since_start["accepted"] ?? 0))
        #expect(counts.since_start["gone"] == .some(nil))
        #expect(counts.since_start["broadcasts"] == .some(nil))
        let page = try page(place.service)
        #expect(!page.contains("not counted yet") && page.contains("<td>fewer than 20</td>"))
    }

    private struct Counts: Decodable {
        let rounded_to: Int
        let last_broadcast: [String: Int?]
        let since_start: [String: Int?]

        init(_ service: ServiceUnderTest) throws {
            let answer = try service.send("GET", "/v1/counters")
            self = try JSONDecoder().decode(Counts.self, from: Data(answer.body))
        }
    }
}
