import Foundation
import TestSupport
import Testing

/// Broadcasts by the built program to topics of a mock of FCM.
@Suite(
    "A broadcast to a topic of FCM", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMTopicBroadcastTests {
    private static func place(_ flags: [String] = [], _ lines: String) async throws -> FCMService {
        try await FCMService(flags, lines: lines)
    }

    @Test("beside push tokens, while apps change over, one message wakes those that subscribed")
    func both() async throws {
        let place = try await Self.place(["--lifetime", "7200"], "topic = wake\ntokens = on")
        try place.register(FCMService.tokens(30))
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(output.contains("registrations: 30 accepted, 1 message to a topic"), "\(output)")
        let report = try await place.mock.report()
        #expect(report.topics == 1 && report.distinct == 31 && report.duplicates == 0)
        #expect(report.exchanges == 1 && report.refusals == [:] && report.violations == [:])
    }

    @Test(
        "a topic that cannot be sent to is said with the cause and status 1, and nothing is lost",
        arguments: [
            ("400:INVALID_ARGUMENT", "topic-refused", "the topic was refused\nhint: "),
            ("403:PERMISSION_DENIED", "forbidden", "is not allowed to push\nhint: enable"),
        ])
    func refused(_ answer: String, _ reason: String, _ words: String) async throws {
        let place = try await Self.place(["--answer-all", answer], "topic = wake")
        let (status, output) = try await place.broadcast()
        #expect(status == 1 && output.contains(words), "\(output)")
        _ = try await place.service.program.line(
            containing: "gateway-stopped service=fcm reason=\(reason)")
    }

    @Test("a round that is cut short goes on with the shard that is next")
    func resumed() async throws {
        let place = try await Self.place(
            [], "topic = wake\ntopic-shards = 8\ntopic-seconds = 16")
        let running = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", place.service.configuration])
        while try place.topics() < 3 { try Task.checkCancellation() }
        #expect(await place.service.stop() == 0)
        _ = await running.exit()
        try await place.service.restart()
        while try place.topics() < 8 { try Task.checkCancellation() }
        let report = try await place.mock.report()
        // One may have been in flight when it stopped.
        #expect(report.distinct == 8 && report.topics <= 9)
    }

    @Test("what was registered before is left alone, and a relay does not offer push tokens")
    func before() async throws {
        let place = try await Self.place([], "topic = wake\ntokens = on")
        let instances = try place.register(FCMService.tokens(5))
        #expect(await place.service.stop() == 0)
        let path = place.service.configuration
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try (text.replacing("tokens = on\n", with: "") + "[relay]\nauthority = wake.example.org\n")
            .write(toFile: path, atomically: true, encoding: .utf8)
        try await place.service.restart()
        let (status, output) = try await place.broadcast()
        let words = "0 accepted, 5 of a push service without a gateway, 1 message to a topic"
        #expect(status == 0 && output.contains(words), "\(output)")
        #expect(try place.registered(instances).allSatisfy { $0 })
        let check = try await place.service.command("check")
        #expect(check.output.contains("fcm             on, topic wake, no push tokens, "))
        #expect(check.output.contains("each, for no push service"), "\(check.output)")
    }
}

extension FCMService {
    /// Messages to topics of the round that runs, or the last one.
    fileprivate func topics() throws -> Int {
        struct Status: Decodable { let topics: Int }
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let answer = try client.exchange("GET", "/v1/broadcast")
        return try JSONDecoder().decode(Status.self, from: Data(answer.body)).topics
    }
}
