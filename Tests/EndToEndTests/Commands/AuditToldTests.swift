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
        let data = service.data
        // Without the flag nobody is told.
        #expect(try await service.command("audit", data).status == 0)
        #expect(try page(service).contains("has made no audit"))

        let clean = try await service.command("audit", data, "--tell")
        #expect(clean.status == 0, "\(clean.output)")
        #expect(clean.output.contains("reported to the service"), "\(clean.output)")
        let sum = try await RunningProgram.run(
            path: "/bin/sh",
            ["-c", "cat \"$1\"/generation-0.db \"$1\"/generation-1.db | sha256sum", "sh", data])
        let shown = try page(service)
        #expect(shown.contains("<strong>no violation</strong>"))
        #expect(shown.contains(String(sum.output.prefix(64))))

        try Data([1]).write(to: URL(filePath: service.data + "/visitors.csv"))
        let found = try await service.command("audit", data, "--tell", "--json")
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
        let data = service.data
        let clean = try await service.command("audit", data, "--tell")
        #expect(clean.status == 75)
        #expect(clean.output.contains("\nclean\n"))
        #expect(
            clean.output.contains(
                "the audit is done, but could not be reported: the service does not answer"))
        try Data([1]).write(to: URL(filePath: service.data + "/visitors.csv"))
        let found = try await service.command("audit", data, "--tell")
        #expect(found.status == 3 && found.output.contains("could not be reported"))
    }

    @Test("an audit against another policy is not told, and a verdict of another form not taken")
    func refused() async throws {
        let service = try await ServiceUnderTest()
        let policy = service.directory.path + "/policy.json"
        try Data(service.send("GET", "/v1/policy").body).write(to: URL(filePath: policy))
        let other = try await service.command(
            "audit", service.data, "--tell", "--policy", policy)
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
        "the public number stays through broadcasts and restarts, whatever people do",
        .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
    func counters() async throws {
        let place = try await PushingService(.init())
        let devices = (0..<500).map { _ in TestDevice(pushPrefix: [0]) }
        try place.register(devices)
        let service = place.service
        let before = try service.send("GET", "/v1/counters")
        #expect(before.status == 200 && before["Content-Type"] == "application/json")
        #expect(before.text == #"{"registrations":null,"broadcasts":0,"noise_scale":10}"# + "\n")
        #expect(try page(service).contains("not counted yet"))
        #expect(try await service.command("rotate", "--now", "--yes").status == 0)
        #expect(try await place.broadcast().status == 0)
        let first = try Counts(service)
        let told = try #require(first.registrations)
        // Noise beyond twenty times its scale comes once in 10⁸ draws.
        #expect(abs(told - 500) < 200 && first.broadcasts == 1)
        #expect(try page(service).contains("<td>\(told)</td>"))
        for device in devices.prefix(400) {
            _ = try service.send("DELETE", "/v1/registration", token: device.token)
        }
        #expect(try await place.broadcast().status == 0)
        let second = try Counts(service)
        #expect(second.registrations == told && second.broadcasts == 2)
        #expect(await service.stop() == 0)
        try await service.restart()
        let third = try Counts(service)
        #expect(third.registrations == told && third.broadcasts == 0)
        // Another generation, another draw.
        try place.register((0..<100).map { _ in TestDevice(pushPrefix: [0]) })
        #expect(try await service.command("rotate", "--now", "--yes").status == 0)
        #expect(try Counts(service).registrations == told)
        #expect(try await place.broadcast().status == 0)
        let fourth = try #require(try Counts(service).registrations)
        #expect(abs(fourth - 100) < 200)
    }

    private struct Counts: Decodable {
        let registrations: Int?
        let broadcasts: Int

        init(_ service: ServiceUnderTest) throws {
            let answer = try service.send("GET", "/v1/counters")
            self = try JSONDecoder().decode(Counts.self, from: Data(answer.body))
        }
    }
}
