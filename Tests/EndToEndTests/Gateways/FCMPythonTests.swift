import Foundation
import TestSupport
import Testing
import WakeModel

/// Installation IDs, topics and credentials without keys, against a mock that is not ours.
@Suite(
    "FCM as of 2026, by a peer that is not ours", .timeLimit(.minutes(5)),
    .enabled(if: PythonScript.has("http.server"), "needs python3"))
struct FCMPythonTests {
    private static func register(
        _ tokens: [String], _ service: ServiceUnderTest
    ) throws -> [String] {
        try tokens.map { token in
            let body = Array(#"{"service":"fcm","token":"\#(token)"}"#.utf8)
            let instance = TestDevice().token
            let put = try service.send("PUT", "/v1/registration", token: instance, body: body)
            guard put.status == 204 else { throw TestFailure(put.text) }
            return instance
        }
    }

    private static func isStored(_ instance: String, _ service: ServiceUnderTest) throws -> Bool {
        let get = try service.send("GET", "/v1/registration", token: instance)
        return try RegistrationResponse.decode(get.body).stored != nil
    }

    @Test(
        "installation IDs and tokens are woken by one federated account; the gone ones go",
        arguments: ["", "token", "fid"])
    func installationIDs(_ field: String) async throws {
        let peer = try await FCMPythonPeer(field: field)
        let directory = try TemporaryDirectory()
        try peer.writeAccount(directory.path + "/federation.json")
        let service = try await ServiceUnderTest(
            sections: peer.section("key = \(directory.path)/federation.json"), serving: .nothing)
        let ids = (100..<140).map { "cInstallationID-\($0)__x" }
        let tokens = (0..<40).map { "cInstallationID-\($0)__x:APA91b-and-so-on" }
        let invalid = ["bad_Installation-ID_00", "bad:APA91b", "goneInstallation-ID_00", "gone:AP"]
        let good = try Self.register(ids + tokens, service)
        let bad = try Self.register(invalid, service)
        let (status, output) = try await service.command("broadcast", "--force")
        #expect(status == 0 && output.contains("registrations: 80 accepted, 4 gone"), "\(output)")
        let report = try peer.report()
        let byID = field.isEmpty ? ids : field == "fid" ? ids + tokens : []
        #expect(report.fid.sorted() == byID.sorted())
        #expect(report.fid.count + report.token.count == 80 && report.topic.isEmpty)
        #expect(report.steps == ["subject", "sts", "impersonate"])
        for instance in good { #expect(try Self.isStored(instance, service)) }
        for instance in bad { #expect(try !Self.isStored(instance, service)) }
    }

    @Test("a topic wakes everybody by one message, shards by one each in their order")
    func topics() async throws {
        let peer = try await FCMPythonPeer()
        let lines = "credentials = metadata\ntopic = wake\ntopic-shards = 64\ntopic-seconds = 3"
        let service = try await ServiceUnderTest(
            sections: peer.section(lines), serving: .nothing,
            environment: ["GCE_METADATA_HOST": "127.0.0.1:\(peer.credentialPort)"])
        let body = Array(#"{"service":"fcm","token":"abc:APA91b"}"#.utf8)
        let put = try service.send(
            "PUT", "/v1/registration", token: TestDevice().token, body: body)
        #expect(put.status == 422 && put.text.contains(#""code":"not_needed""#), "\(put.text)")
        let start = ContinuousClock.now
        let (status, output) = try await service.command("broadcast", "--force")
        #expect(status == 0 && output.contains("64 messages to topics"), "\(output)")
        #expect(ContinuousClock.now - start > .seconds(2.9))
        let report = try peer.report()
        #expect(report.topic == (0..<64).map { "wake-\($0)" } && report.atOnce == 1)
        #expect(report.steps == ["metadata"] && report.token.isEmpty && report.fid.isEmpty)
    }
}
