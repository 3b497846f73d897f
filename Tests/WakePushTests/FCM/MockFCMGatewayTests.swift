import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite(
    "The gateway to FCM and the mock of it", .enabled(if: OpenSSLCommand.isInstalled),
    .timeLimit(.minutes(5)))
struct MockFCMGatewayTests {
    /// Sends to numbered push tokens; the deliveries of those that were settled.
    private static func round(
        _ mock: MockFCM, count: Int, _ token: (Int) -> String = { "push-token-\($0)" }
    ) async throws -> [Int: Delivery] {
        let section = [
            "key": mock.account.file, "host": "localhost", "port": "\(mock.port)",
            "ca": mock.authority,
        ]
        let configuration = try #require(try FCMConfiguration(section: section))
        let tokens = try FCMTokenProvider(try configuration.credentials())
        let test = SessionUnderTest(FCMGateway(configuration, tokens: tokens))
        test.round.send(
            try (0..<count).map { number in
                let token = Array(token(number).utf8)
                return WakeUp(
                    reference: number, token: try PushToken(service: .fcm, bytes: token))
            })
        test.round.flush(isFinal: true)
        return try await test.settled(count)
    }

    @Test("every request is what is documented: none is refused, by TLS, with a real exchange")
    func proper() async throws {
        let mock = try await MockFCM([
            "--answer-to", "push-token-77=404:UNREGISTERED", "--lifetime", "7200",
            "--data-key", "wake", "--collapse-key", "wake",
        ])
        let settled = try await Self.round(mock, count: 500)
        #expect(settled.filter { $0.value == .gone }.map(\.key) == [77])
        #expect(settled.count { $0.value == .accepted } == 499)
        let report = try await mock.report()
        #expect(report.distinct == 499 && report.duplicates == 0)
        #expect(report.refusals.isEmpty && report.violations.isEmpty)
        #expect(report.issued == 1 && report.mostExchanges == 1)
        #expect(report.fields["authorization"] == 500)
        // The exchange carries a host, a length and the program's name, and nothing says who asks.
        #expect(
            Set(report.fields.keys).isSubset(of: [
                "authorization", "content-type", "content-length", "host", "accept",
                "user-agent",
            ]))
    }

    @Test("installation IDs are woken, whichever field FCM takes", arguments: ["", "token", "fid"])
    func fields(_ field: String) async throws {
        let mock = try await MockFCM(field.isEmpty ? [] : ["--field", field])
        let results = try await Self.round(mock, count: 100) { number in
            number < 50 ? "installation-id-of-\(100 + number)" : "push-token-\(number)"
        }
        #expect(results.count == 100 && results.values.allSatisfy { $0 == .accepted })
        let report = try await mock.report()
        #expect(report.distinct == 100 && report.duplicates == 0 && report.refusals.isEmpty)
        #expect(report.fids == (field == "fid" ? 100 : 50) && report.topics == 0)
    }

    @Test("streams that are reset, refused and left behind are sent again, and none is lost")
    func faults() async throws {
        let mock = try await MockFCM([
            "--refuse-every", "41", "--reset-every", "53", "--goaway-every", "97", "--latency", "2",
            "--streams", "20",
        ])
        let settled = try await Self.round(mock, count: 300)
        #expect(settled.count { $0.value == .accepted } == 300)
        let report = try await mock.report()
        #expect(report.distinct == 300)
        #expect(report.mostStreams <= 20)
        #expect(report.faults.keys.contains("goaway") && report.faults.keys.contains("reset"))
        #expect(report.violations.isEmpty)
    }
}
