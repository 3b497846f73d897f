import Foundation
import TestSupport
import Testing
import WakeSystem

@Suite("kill -9 of the publisher", .timeLimit(.minutes(10)))
struct PublisherCrashTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 12 : 400

    @Test("the feed always verifies, a retry publishes exactly once, sequences have no gap")
    func kills() async throws {
        let service = try await ServiceUnderTest()
        var window = KillWindow()
        var rounds = 0
        while window.isOpen(rounds, rounds: Self.rounds, kills: Self.rounds / 4 + 1) {
            try Task.checkCancellation()
            rounds += 1
            let round = rounds
            let secrets = (0..<50).map { _ in TestDevice().pushText }
            _ = try await window.kill {
                try service.startPublishing(secrets, notes: ["round \(round)"])
            }
            let count = try await verifiedBatches(service)
            #expect(count == round - 1 || count == round)
            let retry = try await service.publish(secrets, notes: ["round \(round)"])
            #expect(retry.output.contains("as sequence \(round)"), "\(retry.output)")
            let isRepeat = retry.output.hasPrefix("already published")
            #expect(isRepeat || retry.output.hasPrefix("published 50 items"))
            // One that is logged and not served yet is served by the retry, which repeats it.
            #expect(isRepeat || count == round - 1)
            #expect(try await verifiedBatches(service) == round)
        }
        // What crashes left behind can be cleared away, and nothing else is.
        #expect(try await service.command("feed", "prune").status == 0)
        #expect(try await verifiedBatches(service) == rounds)
        try await expectClientReads(rounds, service)
    }

    /// A client that was never there before reads the whole feed over HTTP.
    private func expectClientReads(_ batches: Int, _ service: ServiceUnderTest) async throws {
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.status("sequence") == "\(batches)")
    }

    /// How many batches the feed has; fails when it does not verify.
    private func verifiedBatches(_ service: ServiceUnderTest) async throws -> Int? {
        let answer = try await service.command("feed", "verify")
        #expect(answer.status == 0, "\(answer.output)")
        return Int(try ServiceUnderTest.word(after: "the feed verifies: ", in: answer.output))
    }
}
