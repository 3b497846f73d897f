import Foundation
import TestSupport
import Testing

/// What a broadcast says of itself after the service was stopped in the middle of it.
@Suite(.serialized)
struct RestartedBroadcastTests {
    @Test(
        "a broadcast that went on after a stop counts every registration once",
        .timeLimit(.minutes(5)))
    func counts() async throws {
        let held = try HeldAnswers(allowing: 200)
        let pushing = try await PushingService(.init(held, "--latency", "100", "--streams", "20"))
        let count = 600
        try pushing.register((0..<count).map { _ in TestDevice() })
        let command = try pushing.startBroadcast()
        _ = try await pushing.round { $0.accepted >= 100 }
        #expect(try await pushing.stop(releasing: held) == 0)
        _ = await command.finished()
        try await pushing.service.restart()
        let round = try await pushing.round { $0.complete }
        // In order: nothing was in flight when it stopped, nothing was sent twice.
        #expect(round.rows == count)
        #expect(round.accepted == count)
    }
}
