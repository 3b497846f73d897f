import Foundation
import TestSupport
import Testing
import WakeSystem

/// Plans on paper, by the built program.
@Suite(
    "A broadcast on paper", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundPlanTests {
    @Test("a plan that does not fit is stretched, says so, and can be ended")
    func stretched() async throws {
        let place = try await PushingService()
        // Half a fetch a second, nobody spreads: 5,000 pushes take 10,000 seconds.
        try await place.restart(
            broadcast: "fetches-per-second = 1", filled: 5000, isPacedByBudget: true)
        let dry = try await place.service.command("broadcast", "--dry-run")
        #expect(dry.status == 1)
        #expect(dry.output.contains(" registrations takes 2:4"), "\(dry.output)")
        #expect(dry.output.contains("\nhint: allow 2 fetches a second, or make the interval "))
        #expect(try await place.service.command("broadcast", "--stop").status == 1)

        try await place.startRound()
        try await place.progress { $0.run > 0 && $0.accepted > 0 }
        let ended = try await place.service.command("broadcast", "--stop")
        #expect(ended.output.contains("ended on request; pushes to "), "\(ended.output)")
        #expect(ended.status == 0)
        #expect(try await place.service.command("broadcast", "--stop").status == 1)

        try await place.restart(broadcast: "fetches-per-second = 2")
        let (status, output) = try await place.service.command("broadcast", "--dry-run")
        #expect(status == 0 && !output.contains("warning"), "\(output)")
    }

    @Test("from 80 % of the interval on the plan warns")
    func warned() async throws {
        let place = try await PushingService()
        try await place.restart(
            broadcast: "fetches-per-second = 1", filled: 3000, isPacedByBudget: true)
        let (status, output) = try await place.service.command("broadcast", "--dry-run")
        #expect(status == 0)
        #expect(output.contains("of the interval: there is little room to grow\n"))
        #expect(output.contains("bound by the budget of fetches"))
        #expect(try await place.mock.report().requests == 0)
    }
}
