import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Web Push, from registration to wake-up", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct WebPushServiceTests {
    private static let path = "/v1/registration"

    private func register(
        _ endpoint: String, _ service: ServiceUnderTest, _ token: String = TestDevice().token
    ) throws -> WireResponse {
        let body = #"{"service":"webpush","endpoint":"\#(endpoint)"}"#
        return try service.send("PUT", Self.path, token: token, body: Array(body.utf8))
    }

    private func broadcast(_ service: ServiceUnderTest) async throws -> String {
        let (status, output) = try await RunningProgram.run(
            "reveille", ["broadcast", "--force", "--config", service.configuration])
        #expect(status == 0, "\(output)")
        return output
    }

    @Test("endpoints are registered, woken once each, and deleted when they are gone")
    func whole() async throws {
        let mock = try await MockWebPush([
            "--topic", "wake", "--urgency", "normal", "--body", "empty", "--answer-to",
            "\(MockWebPush.endpoint(7, host: 0))=410", "--answer-to",
            "\(MockWebPush.endpoint(8, host: 1))=404", "--answer-to",
            "\(MockWebPush.endpoint(9, host: 2))=403",
        ])
        let service = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        for number in 0..<30 {
            let endpoint = MockWebPush.endpoint(number, host: number < 10 ? number % 7 : 0)
            let hosts = [7: 0, 8: 1, 9: 2]
            let put = try register(
                hosts[number].map { MockWebPush.endpoint(number, host: $0) } ?? endpoint, service)
            #expect(put.status == 204)
        }
        #expect(try service.rows() == 30)
        _ = try await broadcast(service)
        // 404 is believed of a host that accepts others; 403 deletes nothing.
        #expect(try service.rows() == 28)
        #expect(await service.stop() == 0)
        let report = try await mock.report()
        #expect(report.distinct == 27 && report.duplicates == 0 && report.refusals.isEmpty)
        #expect(!service.program.output.contains("push.example"))
    }

    @Test("an endpoint elsewhere is refused by status and code, and nothing of it is stored")
    func elsewhere() async throws {
        let mock = try await MockWebPush()
        let service = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        for endpoint in [
            "https://elsewhere.example.org/x", "https://push.example/x",
            "https://h1.push.example.org/x",
        ] {
            let put = try register(endpoint, service)
            let object = try JSONSerialization.jsonObject(with: Data(put.body)) as? [String: Any]
            #expect(put.status == 422, "\(endpoint)")
            #expect(object?["code"] as? String == "push_host_not_allowed")
        }
        for endpoint in [
            "https://h1.push.example:8443/x", "http://h1.push.example/x",
            "https://127.0.0.1/x", "https://[::1]/x", "https://localhost/x",
            "https://h1.push.example/../x",
        ] {
            #expect(try register(endpoint, service).status == 400, "\(endpoint)")
        }
        #expect(try service.rows() == 0)
        #expect(try register("https://H1.Push.Example/x", service).status == 204)
    }
}
