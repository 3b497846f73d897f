import Foundation
import TestSupport
import Testing

/// A gateway of FCM that cannot work says what to fix, and the store stays as it is, byte by byte.
@Suite(
    "A broadcast with a gateway of FCM that cannot work", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMMisconfiguredTests {
    typealias Change = @Sendable (MockFCM, String) throws -> String

    /// What is wrong, and what must be said about it.
    struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let flags: [String]
        /// In the log.
        let reason: String
        /// On the operator's terminal.
        let words: String
        var isKeyForeign = false
        var change: Change = { $1 }
    }

    private static func answered(
        _ answer: String, _ reason: String, _ words: String
    ) -> Mistake {
        Mistake(
            testDescription: "all \(answer)", flags: ["--answer-all", answer], reason: reason,
            words: words)
    }

    /// Rows of the table that are about every wake-up, or that nothing else is known of.
    static let badAnswers: [Mistake] = [
        answered("403:PERMISSION_DENIED", "forbidden", "is not allowed to push\nhint: enable"),
        answered("400:BAD_REQUEST", "request-refused", "refused with status 400\nhint: "),
        answered("400", "request-refused", "refused with status 400\nhint: "),
        answered("405", "request-refused", "refused with status 405\nhint: "),
        answered("413", "request-refused", "refused with status 413\nhint: "),
        answered("418", "request-refused", "refused with status 418\nhint: "),
        answered("404", "project-unknown", "the project is not known\nhint: check project_id"),
        answered("401:UNAUTHENTICATED", "access-token-refused", "a fresh access token was"),
        answered("403:SENDER_ID_MISMATCH", "tokens-of-other-project", "of another project\nhint"),
        answered("401:THIRD_PARTY_AUTH_ERROR", "tokens-of-other-platform", "of a platform"),
        answered("400:INVALID_ARGUMENT", "tokens-refused", "as no token of FCM\nhint: "),
    ]

    static let badAccounts: [Mistake] = [
        Mistake(
            testDescription: "a key that was deleted", flags: [], reason: "grant-refused",
            words: "was refused when asking for an access token\nhint: check this machine's clock",
            isKeyForeign: true),
        Mistake(
            testDescription: "an account that is switched off",
            flags: ["--token-answer-all", "403:access_denied"], reason: "exchange-refused",
            words: "was refused with status 403\nhint: check token_uri"),
        Mistake(
            testDescription: "nothing that gives out tokens",
            flags: ["--token-answer-all", "404:not_found"], reason: "exchange-refused",
            words: "was refused with status 404\nhint: check token_uri"),
    ]

    static let badConnections: [Mistake] = [
        Mistake(
            testDescription: "an authority that is not the exchange's", flags: [],
            reason: "exchange-untrusted", words: "where access tokens are given out\nhint: check ca"
        ) { mock, section in
            try mock.account.write(tokenURI: "https://localhost:\(mock.port)/token")
            let other = try TestAuthority()
            return try foreign(section, mock, other)
        },
        Mistake(
            testDescription: "a name that is not the exchange's", flags: [],
            reason: "exchange-untrusted", words: "where access tokens are given out\nhint: check ca"
        ) { mock, section in
            try mock.account.write(tokenURI: "https://127.0.0.1:\(mock.port)/token")
            return section
        },
        Mistake(
            testDescription: "an authority that is not the gateway's", flags: [],
            reason: "certificate", words: "its authority is not trusted"
        ) { mock, section in
            try foreign(section, mock, try TestAuthority())
        },
        Mistake(
            testDescription: "a name that is not the gateway's", flags: [],
            reason: "certificate", words: "it is for another address"
        ) { _, section in
            section.replacing("host = localhost", with: "host = 127.0.0.1")
        },
        Mistake(
            testDescription: "no HTTP/2", flags: ["--without-h2", "yes"], reason: "no-http2",
            words: "does not speak HTTP/2; nothing was sent"),
    ]

    /// With an authority that has vouched for nobody; its file outlives the test's directory.
    private static func foreign(
        _ section: String, _ mock: MockFCM, _ other: TestAuthority
    ) throws -> String {
        let copy = mock.account.file + ".ca.pem"
        try FileManager.default.copyItem(atPath: other.certificate, toPath: copy)
        return section.replacing("ca = \(mock.authority)", with: "ca = \(copy)")
    }

    @Test("answers that blame the gateway stop it", arguments: badAnswers)
    func answers(_ mistake: Mistake) async throws {
        let report = try await refused(mistake)
        #expect(report.distinct == 0 && report.exchanges == 1)
        // What blames the push token is asked twice.
        #expect((1...170).contains(report.requests))
    }

    @Test("an account that is refused stops it before anything is sent", arguments: badAccounts)
    func accounts(_ mistake: Mistake) async throws {
        let report = try await refused(mistake)
        // Three exchanges, on the one connection.
        #expect(report.delivered == 0 && report.requests == 3 && report.connections == 1)
    }

    @Test("a connection that cannot be trusted: nothing is sent at all", arguments: badConnections)
    func connections(_ mistake: Mistake) async throws {
        let report = try await refused(mistake)
        #expect(report.delivered == 0)
    }

    @Test("the exchange by TLS, with the authority of the section, works")
    func exchangeByTLS() async throws {
        let place = try await FCMService { mock, section in
            try mock.account.write(tokenURI: "https://localhost:\(mock.port)/token")
            return section
        }
        try place.register(FCMService.tokens(5))
        let (status, output) = try await place.broadcast()
        #expect(status == 0 && output.contains("registrations: 5 accepted"), "\(output)")
    }

    private func refused(_ mistake: Mistake) async throws -> MockFCM.Report {
        let place = try await FCMService(
            mistake.flags, isKeyForeign: mistake.isKeyForeign, mistake.change)
        let instances = try place.register(FCMService.tokens(80))
        let (status, output) = try await place.broadcast()
        #expect(status == 1)
        #expect(output.contains("pushes to 80 registrations: 0 accepted"), "\(output)")
        #expect(output.contains("reveille: fcm: ") && output.contains(mistake.words), "\(output)")
        #expect(output.components(separatedBy: "hint: ").count == 2)
        #expect(try place.registered(instances).allSatisfy { $0 })
        _ = try await place.service.program.line(containing: "broadcast-ended ")
        let stops = place.service.program.output.split(separator: "\n").map(String.init)
            .filter { $0.contains("gateway-stopped") }
        let stop =
            "reveille error gateway-stopped service=fcm reason=\(mistake.reason) goaway=none"
        #expect(stops == [stop])
        return try await place.mock.report()
    }
}
