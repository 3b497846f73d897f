import Foundation
import TestSupport
import Testing

/// A gateway that cannot work says what to fix, and the store stays as it is, byte by byte.
@Suite(
    "A broadcast with a gateway that cannot work", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastMisconfiguredTests {
    /// What is wrong, and what must be said about it.
    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let choices: PushingService.Choices
        /// In the log.
        let reason: String
        /// On the operator's terminal, each.
        let words: [String]

        init(
            _ name: String, reason: String, words: [String],
            _ change: (inout PushingService.Choices) -> Void
        ) {
            testDescription = name
            self.reason = reason
            self.words = words
            var choices = PushingService.Choices()
            change(&choices)
            self.choices = choices
        }
    }

    static let wrongCredentials: [Mistake] = [
        Mistake(
            "wrong key", reason: "key-refused",
            words: ["apns: the provider token was refused\nhint: ", "key, key-id and team-id"]
        ) { $0.isKeyForeign = true },
        Mistake(
            "wrong key id", reason: "key-refused",
            words: ["apns: the provider token was refused\nhint: ", "key, key-id and team-id"]
        ) { $0.keyID = "OTHER12345" },
        Mistake(
            "wrong team", reason: "key-refused",
            words: ["apns: the provider token was refused\nhint: ", "key, key-id and team-id"]
        ) { $0.teamID = "OTHER12345" },
        Mistake(
            "wrong topic", reason: "topic-of-others",
            words: ["apns: the topic is not one of this team or key\nhint: ", "[apns] topic"]
        ) { $0.topic = "org.example.other" },
        Mistake(
            "wrong clock", reason: "clock-wrong",
            words: ["refused as expired right after it was made\nhint: ", "timedatectl status"]
        ) { $0.flags = ["--token-age", "0"] },
        Mistake(
            "not allowed to push", reason: "forbidden",
            words: ["apns: the key is not allowed to push\nhint: ", "[apns] key-id"]
        ) { $0.flags = ["--answer-all", "403:Forbidden"] },
        Mistake(
            "key of the other environment", reason: "key-of-other-environment",
            words: ["the key is for the other environment", "[apns] key"]
        ) { $0.flags = ["--answer-all", "403:BadEnvironmentKeyIdInToken"] },
        Mistake(
            "not APNs at all", reason: "request-refused",
            words: ["the request itself was refused with status 404", "host and port"]
        ) { $0.flags = ["--answer-all", "404"] },
    ]

    static let wrongConnections: [Mistake] = [
        Mistake(
            "wrong authority", reason: "certificate",
            words: ["its authority is not trusted", "nothing was sent\nhint: check host and ca"]
        ) { $0.isAuthorityForeign = true },
        Mistake(
            "wrong host name", reason: "certificate",
            words: ["it is for another host name", "nothing was sent\nhint: check host and ca"]
        ) { $0.certificateName = "elsewhere.example" },
        Mistake(
            "expired certificate", reason: "certificate",
            words: ["it has expired", "nothing was sent\nhint: check host and ca"]
        ) { $0.certificateDays = 0 },
        Mistake(
            "no ALPN", reason: "no-http2",
            words: ["does not speak HTTP/2; nothing was sent\nhint: check host and port"]
        ) { $0.flags = ["--without-h2", "yes"] },
    ]

    @Test("wrong credentials: nothing is accepted or deleted", arguments: wrongCredentials)
    func credentials(_ mistake: Mistake) async throws {
        let report = try await refused(mistake)
        #expect(report.distinct == 0 && report.connections == 1)
        // A gateway that is refused does not try anything twice.
        #expect((1...100).contains(report.requests))
    }

    @Test(
        "a connection that cannot be trusted: nothing is sent at all", arguments: wrongConnections)
    func connections(_ mistake: Mistake) async throws {
        let report = try await refused(mistake)
        #expect(report.requests == 0 && report.fields.isEmpty)
    }

    private func refused(_ mistake: Mistake) async throws -> MockPush.Report {
        let place = try await PushingService(mistake.choices)
        try place.register((0..<100).map { _ in TestDevice() })
        let before = try place.tables()
        let (status, output) = try await place.broadcast()
        #expect(status == 1)
        #expect(
            output.contains(
                "pushes to 100 registrations: 0 accepted, 100 not sent\n"))
        for words in mistake.words { #expect(output.contains(words), "\(output)") }
        // No second program tells it differently, and no status asks to be repeated.
        #expect(output.components(separatedBy: "hint: ").count == 2)
        #expect(try place.tables() == before)
        #expect(before.keys.contains("data/generation-1.db"))
        _ = try await place.service.program.line(containing: "broadcast-ended ")
        let stops = place.service.program.output.split(separator: "\n").map(String.init)
            .filter { $0.contains("gateway-stopped") }
        let stop =
            "reveille error gateway-stopped service=apns reason=\(mistake.reason) goaway=none"
        #expect(stops == [stop])
        // It is for the next broadcast to try again: the service itself goes on.
        #expect(try place.service.send("GET", "/health").status == 200)
        return try await place.mock.report()
    }
}
