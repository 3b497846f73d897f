import Foundation
import TestSupport
import Testing

/// Broadcasts by the built program to a mock of FCM that checks every request and every exchange.
@Suite(
    "A broadcast reaches FCM", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMBroadcastTests {
    @Test("every distinct push token gets one message in the documented form, by one access token")
    func everyone() async throws {
        let place = try await FCMService([
            "--lifetime", "7200", "--data-key", "wake", "--collapse-key", "wake",
        ])
        let tokens = FCMService.tokens(300)
        let instances = try place.register(tokens + tokens.prefix(20))
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(
            output.contains(
                "registrations: 300 accepted, 20 sharing a push token with another\n"),
            "\(output)")
        let report = try await place.mock.report()
        #expect(report.distinct == 300 && report.delivered == 300)
        #expect(report.connections == 2 && report.requests == 301)
        #expect(report.exchanges == 1 && report.issued == 1 && report.assertions == 1)
        #expect(report.refusals == [:] && report.violations == [:])
        // The mock has compared their values with what must be: nothing else may travel. What came
        // once is of the exchange.
        #expect(
            report.fields.filter { $0.value > 1 } == ["authorization": 300, "content-type": 301])
        #expect(try place.registered(instances).allSatisfy { $0 })
        // Nothing of the push tokens, and nothing of the account, is said or written anywhere.
        let account = try Data(contentsOf: URL(filePath: place.mock.account.file))
        let key = String(decoding: account, as: UTF8.self).split(separator: "\\n")[1]
        for secret in tokens.prefix(5) + [String(key)] {
            #expect(!place.service.program.output.contains(secret) && !output.contains(secret))
            #expect(try place.service.files(containing: [Array(secret.utf8)]) == [])
        }
    }

    /// A row of the table that is about one push token.
    struct Row: CustomTestStringConvertible, Sendable {
        let answer: String
        let isDeleted: Bool
        var testDescription: String { answer }
    }

    static let rows: [Row] = [
        Row(answer: "404:UNREGISTERED", isDeleted: true),
        Row(answer: "400:INVALID_ARGUMENT", isDeleted: true),
        Row(answer: "400:BAD_TOKEN", isDeleted: true),
        Row(answer: "400", isDeleted: false),
        Row(answer: "404", isDeleted: false),
        Row(answer: "404:NOT_FOUND", isDeleted: false),
        Row(answer: "403:SENDER_ID_MISMATCH", isDeleted: false),
        Row(answer: "401:THIRD_PARTY_AUTH_ERROR", isDeleted: false),
        Row(answer: "409:ABORTED", isDeleted: false),
        Row(answer: "410:UNREGISTERED", isDeleted: false),
        Row(answer: "302", isDeleted: false),
    ]

    @Test("only the documented answers delete a row, and only that row", arguments: rows)
    func one(_ row: Row) async throws {
        let place = try await FCMService(["--answer-to", "stranger=\(row.answer)"])
        let stranger = FCMService.tokens(1, prefix: "stranger")
        let instances = try place.register(FCMService.tokens(60) + stranger)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        let progress = try place.progress()
        #expect(progress.complete && progress.accepted == 60, "\(output)")
        #expect(progress.deleted == (row.isDeleted ? 1 : 0), "\(output)")
        #expect(progress.abandoned == (row.isDeleted ? 0 : 1), "\(output)")
        let left = try place.registered(instances)
        #expect(left.dropLast().allSatisfy { $0 } && left.last == !row.isDeleted)
        #expect(try await place.mock.report().violations == [:])
    }

    @Test(
        "what is broken for a moment is sent again in the same round",
        arguments: ["503:UNAVAILABLE", "500:INTERNAL", "502", "503:UNAVAILABLE:1"])
    func again(_ answer: String) async throws {
        let place = try await FCMService(["--answer-first", "5:\(answer)"])
        let instances = try place.register(FCMService.tokens(30))
        let (status, output) = try await place.broadcast()
        #expect(status == 0 && output.contains("registrations: 30 accepted"), "\(output)")
        let report = try await place.mock.report()
        // One of them is the exchange.
        #expect(report.distinct == 30 && report.duplicates == 0 && report.requests == 35 + 1)
        #expect(try place.registered(instances).allSatisfy { $0 })
    }

    @Test("an access token that ceases to be good within a round is replaced once")
    func revoked() async throws {
        let place = try await FCMService(["--revoke-every", "40"])
        try place.register(FCMService.tokens(60))
        let started = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", place.service.configuration])
        // The first token has worked: another is asked for, but not before it is a minute old.
        while case let progress = try place.progress(),
            progress.retried == 0 || progress.accepted < 39
        { try Task.checkCancellation() }
        #expect(!place.service.program.output.contains("gateway-stopped"))
        #expect(await place.service.stop() == 0)
        _ = await started.exit()
        #expect(try await place.mock.report().exchanges == 1)
    }

    @Test("UNREGISTERED to everyone trips the brake: nothing more is deleted, and it says so")
    func brake() async throws {
        let place = try await FCMService(["--answer-all", "404:UNREGISTERED"])
        let instances = try place.register(FCMService.tokens(190))
        let (status, output) = try await place.broadcast()
        #expect(status == 1)
        #expect(output.contains("fcm: the push service rejected an implausible number of"))
        _ = try await place.service.program.line(
            containing: "reveille error deletion-breaker-tripped service=fcm")
        #expect(try place.registered(instances).count { !$0 } <= 1)
    }
}
