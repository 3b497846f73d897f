import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// A round of pushes walks both files; a rotation exchanges them. Neither may come into the other.
@Suite(
    "Rotations and rounds keep apart", .serialized, .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RotationRoundTests {
    private func rotate(_ pushing: PushingService) throws -> RunningProgram {
        try RunningProgram(
            "reveille", ["rotate", "--now", "--yes", "--config", pushing.service.configuration])
    }

    private func generation(_ pushing: PushingService) throws -> Int {
        let client = try LoopbackClient(path: pushing.path("admin.sock"))
        let body = String(decoding: try client.exchange("GET", "/v1/rotation").body, as: UTF8.self)
        return try #require(
            Int(try ServiceUnderTest.word(after: "\"generation\":", in: body).prefix { $0 != "," })
        )
    }

    /// A service that was stopped during a broadcast to 400 devices.
    private func interrupted() async throws -> PushingService {
        let held = try HeldAnswers(allowing: 100)
        let pushing = try await PushingService(.init(held, "--latency", "100", "--streams", "20"))
        try pushing.register((0..<400).map { _ in TestDevice() })
        try await pushing.startRound()
        _ = try await pushing.round { $0.accepted >= 50 }
        #expect(try await pushing.stop(releasing: held) == 0)
        return pushing
    }

    @Test("a rotation that is wanted during a round waits for its end, and nobody is missed")
    func waits() async throws {
        let held = try HeldAnswers(allowing: 100)
        let pushing = try await PushingService(.init(held))
        let devices = (0..<500).map { _ in TestDevice() }
        try pushing.register(devices)
        #expect(try await rotate(pushing).finished().status == 0)
        try pushing.register(Array(devices[..<250]))
        let broadcast = try pushing.startBroadcast()
        _ = try await pushing.round { $0.accepted >= 50 }
        let rotation = try rotate(pushing)
        _ = try await rotation.line(containing: "waits for the end of the broadcast")
        #expect(try generation(pushing) == 2)
        try held.allow(450)
        _ = try await pushing.round { $0.accepted >= 400 }
        #expect(try generation(pushing) == 2)
        try held.release()
        let (status, output) = await broadcast.finished()
        #expect(status == 0 && output.contains("500 accepted"), "\(output)")
        let (rotated, said) = await rotation.finished()
        #expect(rotated == 0 && said.contains("rotated: 250 registrations expired"), "\(said)")
        #expect(try generation(pushing) == 3)
        #expect(try pushing.registered(devices).filter { $0 }.count == 250)
        #expect(try await pushing.mock.report().delivered == 500)
    }

    @Test("a round that was cut short goes on first, although a rotation is due")
    func resumed() async throws {
        let pushing = try await interrupted()
        try resealState(pushing.path("data/rotation"), members: ["asked": "true"])
        try await pushing.service.restart()
        _ = try await pushing.service.program.line(containing: "rotated generation=2")
        let said = pushing.service.program.output
        let resumed = try #require(said.range(of: "broadcast-resumed"))
        let ended = try #require(said.range(of: "broadcast-ended run=1"))
        let rotated = try #require(said.range(of: "rotated generation=2"))
        #expect(resumed.lowerBound < ended.lowerBound && ended.lowerBound < rotated.lowerBound)
        #expect(try pushing.round().accepted == 400)
        #expect(try await pushing.mock.report().delivered == 400)
    }

    @Test("a checkpoint of another generation is not continued: a new round reaches everyone")
    func otherGeneration() async throws {
        let pushing = try await interrupted()
        let path = pushing.path("data/checkpoint")
        var bytes = try Files.read(path, limit: 1 << 22)
        // The number of the generation, and the hash of all before.
        bytes[32] += 1
        bytes.replaceSubrange(48..<80, with: Blake2b.hash(bytes.span.extracting(0..<48)))
        try Files.replace(path, with: bytes.span)
        try await pushing.service.restart()
        _ = try await pushing.service.program.line(containing: "broadcast-ended run=2")
        #expect(!pushing.service.program.output.contains("broadcast-resumed"))
        #expect(try pushing.round().accepted == 400)
    }
}
