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
        var outcomes: [String: Int] = [:]
        for round in 1...Self.rounds {
            let secrets = (0..<50).map { _ in TestDevice().pushText }
            let wasKilled = try await window.kill {
                try service.startPublishing(secrets, notes: ["round \(round)"])
            }
            let count = try await verifiedBatches(service)
            #expect(count == round - 1 || count == round)
            let retry = try await service.publish(secrets, notes: ["round \(round)"])
            #expect(retry.output.contains("as sequence \(round)"), "\(retry.output)")
            let isRepeat = retry.output.hasPrefix("already published")
            #expect(isRepeat || retry.output.hasPrefix("published 50 items"))
            #expect(isRepeat == (count == round))
            outcomes[wasKilled ? (isRepeat ? "late" : "early") : "not killed", default: 0] += 1
            #expect(try await verifiedBatches(service) == round)
        }
        #expect(window.kills > Self.rounds / 4, "\(outcomes)")
        // What crashes left behind can be cleared away, and nothing else is.
        #expect(try await service.command("feed", "prune").status == 0)
        #expect(try await verifiedBatches(service) == Self.rounds)
        try await expectClientReadsAll(service)
    }

    /// A client that was never there before reads the whole feed over HTTP.
    private func expectClientReadsAll(_ service: ServiceUnderTest) async throws {
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.status("sequence") == "\(Self.rounds)")
    }

    /// How many batches the feed has; fails when it does not verify.
    private func verifiedBatches(_ service: ServiceUnderTest) async throws -> Int? {
        let answer = try await service.command("feed", "verify")
        #expect(answer.status == 0, "\(answer.output)")
        return Int(try ServiceUnderTest.word(after: "the feed verifies: ", in: answer.output))
    }
}
