import Foundation
import TestSupport
import Testing
import WakeSystem

/// Push services that have lost their mind, and what they cost.
@Suite(
    "A push service that refuses everyone", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundBrakeTests {
    private static let rows = 3000

    private func place(_ flags: String...) async throws -> PushingService {
        var choices = PushingService.Choices()
        choices.flags = flags
        let place = try await PushingService(choices)
        try await place.restart(broadcast: "fetches-per-second = 0", filled: Self.rows)
        return place
    }

    private func metric(_ name: String, _ place: PushingService) throws -> Int {
        let client = try LoopbackClient(path: place.path("admin.sock"))
        let text = String(decoding: try client.exchange("GET", "/metrics").body, as: UTF8.self)
        return try #require(Int(try ServiceUnderTest.word(after: "\nreveille_\(name) ", in: text)))
    }

    @Test("410 to everyone costs at most one row in a thousand, and raises the alarm")
    func gone() async throws {
        let place = try await place("--answer-all", "410:Unregistered")
        let (status, output) = try await place.broadcast()
        #expect(status == 1)
        #expect(output.contains("pushes to 3000 registrations: 0 accepted, 3000 gone"))
        #expect(output.contains("apns: the push service rejected an implausible number of"))
        #expect(output.contains("\nhint: see that its credentials are of the app"))
        _ = try await place.service.program.line(
            containing: "reveille error deletion-breaker-tripped service=apns")
        #expect(try metric("run_breakers_tripped", place) == 1)
        #expect(try metric("pushes_gone_total", place) == Self.rows)
        #expect(try metric("registrations_gone_total", place) <= Self.rows / 1000)
        #expect(try place.service.rows() >= Self.rows - Self.rows / 1000)
    }

    @Test("of more gone than can be believed a round deletes fifty, while others are accepted")
    func someGone() async throws {
        // Numbered push tokens: those from 2048 on are called gone, wherever in the round.
        let place = try await place(
            "--answer-token", String(repeating: "0", count: 60) + "08:410:Unregistered")
        let (status, output) = try await place.broadcast()
        // 256 of 3,000: more than 5 % of every window.
        #expect(status == 1, "\(output)")
        #expect(output.contains(" 2744 accepted, 256 gone"), "\(output)")
        #expect(try place.service.rows() == Self.rows - 50)
        #expect(try metric("run_breakers_tripped", place) == 1)
    }

    @Test(
        "an answer that means later costs nothing, not a byte, and is not given up at once",
        arguments: ["429:TooManyRequests", "500:InternalServerError", "503:Shutdown", "599"])
    func later(_ answer: String) async throws {
        let place = try await place("--answer-all", answer)
        let before = try place.tables()
        let program = try place.startBroadcast()
        let retried = try await place.progress { $0.run == 1 && $0.retried >= 200 }
        #expect(retried.running && retried.accepted + retried.gone + retried.deleted == 0)
        #expect(try place.tables() == before)
        // It asks less and less: nobody is hammered who says that it is too much.
        let report = try await place.mock.report()
        #expect(report.requests < 3 * Self.rows && report.delivered == 0)
        #expect(await place.service.stop() == 0)
        let (status, output) = await program.finished()
        #expect(status == 75, "\(output)")
        #expect(try place.service.rows() == Self.rows)
    }

    @Test("garbage instead of answers costs nothing, not a byte")
    func garbage() async throws {
        let place = try await place("--garbage-at", "1")
        let before = try place.tables()
        let program = try place.startBroadcast()
        try await place.progress { $0.run == 1 && ($0.retried > 0 || !$0.running) }
        #expect(try place.tables() == before)
        let (_, output) = await program.finished()
        // Only the first connection went wrong.
        #expect(output.contains("3000 accepted"), "\(output)")
        #expect(try place.tables() == before)
    }
}
