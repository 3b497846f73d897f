import Foundation
import TestSupport
import Testing
import WakeSystem

/// Plans on paper, by the built program.
@Suite(
    "A broadcast on paper", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundPlanTests {
    private func simulate(
        _ rows: Int, _ service: ServiceUnderTest
    ) async throws -> (status: Int32, output: String) {
        try await service.command("broadcast", "--simulate", "\(rows)")
    }

    private func budget(_ fetches: Int, _ service: ServiceUnderTest) throws {
        var text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        text = text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("fetches-per-second =") }.joined(separator: "\n")
        text += "\n[broadcast]\nfetches-per-second = \(fetches)\n"
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
    }

    private func connections(_ count: Int, _ service: ServiceUnderTest) throws {
        var text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        text += "\n[apns]\nconnections = \(count)\n"
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
    }

    @Test("fifty million do not fit the default budget; what the hint says does")
    func simulate() async throws {
        let service = try await ServiceUnderTest()
        let few = try await simulate(50_000_000, service)
        #expect(few.status == 1)
        #expect(few.output.contains("\nhint: give apns 11 connections and allow "), "\(few.output)")
        try connections(11, service)
        let (status, output) = try await simulate(50_000_000, service)
        #expect(status == 1)
        #expect(output.hasPrefix("reveille: a broadcast to 50,000,000 registrations takes "))
        #expect(output.contains(", longer than the interval of 2:00:00\nhint: allow "), "\(output)")
        let words = try ServiceUnderTest.word(after: "hint: allow ", in: output)
        let enough = try #require(Int(words.replacing(",", with: "")))
        try budget(enough, service)
        let fits = try await simulate(50_000_000, service)
        #expect(fits.status == 0)
        #expect(fits.output.contains("warning: this is "), "\(fits.output.prefix(2000))")
        #expect(fits.output.contains("\nfullest "))
        try budget(enough * 9 / 10, service)
        #expect(try await simulate(50_000_000, service).status == 1)
    }

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
