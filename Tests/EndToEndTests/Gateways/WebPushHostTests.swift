import Foundation
import TestSupport
import Testing
import WakeModel

/// Hosts of each maker with their real habits, by the built programs.
@Suite(
    "Web Push at hosts of every kind", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct WebPushHostTests {
    private static let hosts = [
        "apple": "web.push.apple.com", "mozilla": "updates.push.services.mozilla.com",
        "google": "fcm.googleapis.com", "microsoft": "wns2-par02p.notify.windows.com",
        "other": MockWebPush.host(0),
    ]
    private static let subject = "subject = mailto:push@example.org\n"
    /// Of RFC 8291 §5.
    private static let keys =
        #"{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZ"#
        + #"GH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#

    private func mock(_ flags: [String] = []) async throws -> MockWebPush {
        try await MockWebPush(flags, others: Self.hosts.values.filter { $0 != Self.hosts["other"] })
    }

    private func register(
        _ endpoint: String, keys: String? = nil, _ service: ServiceUnderTest,
        _ token: String = TestDevice().token
    ) throws -> WireResponse {
        let members = keys.map { #","keys":\#($0)"# } ?? ""
        let body = #"{"service":"webpush","endpoint":"\#(endpoint)"\#(members)}"#
        return try service.send("PUT", "/v1/registration", token: token, body: Array(body.utf8))
    }

    private func code(_ response: WireResponse) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return object?["code"] as? String
    }

    /// By kind and outcome.
    private func counts(_ service: ServiceUnderTest) throws -> [String: [String: Int]] {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let body = try client.exchange("GET", "/v1/broadcast").body
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        return try #require(object?["hosts"] as? [String: [String: Int]])
    }

    @Test("with keys the body is encrypted; what is stored shows them, and is told by kind")
    func encrypted() async throws {
        let apple = "https://web.push.apple.com/gone"
        let mock = try await mock(["--answer-to", "\(apple)=410"])
        let service = try await ServiceUnderTest(
            sections: mock.section + Self.subject, serving: .nothing)
        for host in Self.hosts.values {
            #expect(try register("https://\(host)/a", keys: Self.keys, service).status == 204)
        }
        // The same device, though with another key: it is woken once.
        let other = MockWebPush.endpoint(1, host: 0)
        let device = TestDevice()
        #expect(try register(other, service).status == 204)
        #expect(try register(other, keys: Self.keys, service, device.token).status == 204)
        #expect(try register(apple, service).status == 204)
        let held = try service.send("GET", "/v1/registration", token: device.token)
        let keys = try RegistrationResponse.decode(held.body).stored?.token.keys
        #expect(keys != nil && String(decoding: held.body, as: UTF8.self).contains("p256dh"))

        let (status, output) = try await RunningProgram.run(
            "reveille", ["broadcast", "--force", "--config", service.configuration])
        #expect(status == 0 && output.contains("webpush at apple: 1 accepted, 1 gone"), "\(output)")
        let report = try await mock.report()
        #expect(report.refusals.isEmpty && report.distinct == 6 && report.duplicates == 0)
        let encodings = report.fields["content-encoding"] ?? 0
        #expect(encodings == 5 || encodings == 6)
        let counts = try counts(service)
        #expect(counts["microsoft"] == ["accepted": 1, "gone": 0, "abandoned": 0, "skipped": 0])
        #expect(counts["other"]?["accepted"] == 2 && counts.count == 5)
        let shown = try await service.command("status")
        #expect(shown.output.contains("webpush at mozilla: 1 accepted"), "\(shown.output)")
    }

    @Test(
        "a heartbeat is for browsers only where it is on",
        arguments: [("", 1), ("heartbeat = on\n", 5)])
    func heartbeat(_ line: String, _ woken: Int) async throws {
        let mock = try await mock()
        // So long that it is hardly ever due by chance before it is made so.
        let broadcast = "[broadcast]\nheartbeat = on\ninterval-seconds = 604800\n"
        let service = try await ServiceUnderTest(
            sections: mock.section + Self.subject + line + broadcast, serving: .nothing)
        for host in Self.hosts.values {
            #expect(try register("https://\(host)/a", service).status == 204)
        }
        #expect(await service.stop() == 0)
        let path = service.data + "/broadcast"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let uptime = try #require(text.firstMatch(of: /"uptime":(\d+)/).flatMap { Int($0.1) })
        try resealState(path, members: ["due": "\(uptime)", "end": "\(uptime + 600)"])
        try await service.restart()
        let ended = try await service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" accepted=\(woken) ") && ended.contains("unserved=\(5 - woken)"))
        #expect(try counts(service).values.reduce(0) { $0 + ($1["skipped"] ?? 0) } == 5 - woken)
        // What is published or asked for is for all.
        let (status, output) = try await RunningProgram.run(
            "reveille", ["broadcast", "--force", "--config", service.configuration])
        #expect(status == 0 && output.contains("5 accepted"), "\(output)")
        #expect(try await mock.report().delivered == 5 + woken)
    }
}
