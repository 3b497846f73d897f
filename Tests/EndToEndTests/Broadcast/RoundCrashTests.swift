import Foundation
import TestSupport
import Testing
import WakeSystem

/// A round that is cut short again and again, by the built programs.
@Suite(
    "A round that is cut short goes on", .timeLimit(.minutes(15)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RoundCrashTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil

    /// Sent again by a kill at most: what was with the push service just then. The window begins
    /// with so many and grows for a service far away only.
    private static let inFlight = 128

    @Test("killed eight times, it reaches everyone, and almost nobody twice")
    func killed() async throws {
        let count = 20_000
        let held = try HeldAnswers()
        let place = try await PushingService(.init(held))
        try await place.restart(
            broadcast: "fetches-per-second = 6000", filled: count, isPacedByBudget: true)
        try await place.startRound()
        var kills = 0
        for permille in stride(from: 110, through: 880, by: 110) {
            // The round gets little further than it is waited for: 25 permille, for rows are not
            // spread quite evenly over what is progress, and what the kills before have cost.
            try held.allow(count * (permille + 25) / 1000 + kills * Self.inFlight)
            try await place.progress { $0.permille >= permille }
            await place.service.kill()
            kills += 1
            try await place.service.restart()
            let resumed = try await place.service.program.line(containing: "broadcast-resumed ")
            let from = try ServiceUnderTest.word(after: "permille=", in: resumed)
            // What was with the push service has no outcome.
            let least = permille - 2 * Self.inFlight * 1000 / count
            #expect((least...permille + 100).contains(Int(from) ?? -1))
        }
        try held.release()
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" complete=1 "))
        let report = try await place.mock.report()
        #expect(report.distinct == count && report.violations == [:])
        #expect(report.duplicates <= count / 1000 + kills * Self.inFlight)
        #expect(report.mostEach <= 2)
        #expect(kills == 8)
        print("\(kills) kills, \(report.duplicates) of \(count) twice")
    }

    @Test("stopped five times, it reaches everyone exactly once, and counts right")
    func stopped() async throws {
        let count = 20_000
        let held = try HeldAnswers(allowing: count / 5)
        let place = try await PushingService(.init(held, "--latency", "20"))
        try await place.restart(
            broadcast: "fetches-per-second = 4000", filled: count, isPacedByBudget: true)
        try await place.startRound()
        for permille in stride(from: 150, through: 750, by: 150) {
            try await place.progress { $0.permille >= permille }
            #expect(try await place.stop(releasing: held) == 0)
            // A little further than to the next stop, however late that comes.
            try held.allow(count * (permille + 200) / 1000)
            try await place.service.restart()
            _ = try await place.service.program.line(containing: "broadcast-resumed ")
        }
        try held.release()
        let ended = try await place.service.program.line(containing: "broadcast-ended run=1 ")
        #expect(ended.contains(" complete=1 "))
        #expect(ended.contains(" rows=\(count) accepted=\(count) gone=0 "), "\(ended)")
        let report = try await place.mock.report()
        #expect(report.distinct == count && report.delivered == count)
        #expect(report.duplicates == 0)
    }

    @Test("a million registrations, killed every two seconds", .enabled(if: isLong))
    func million() async throws {
        let count = 1_000_000
        let place = try await PushingService()
        try await place.restart(broadcast: "fetches-per-second = 0", filled: count)
        try await place.startRound()
        var kills = 0
        while true {
            let program = place.service.program
            program.signal(SIGKILL, after: .seconds(2))
            _ = await program.exit()
            kills += 1
            if program.output.contains(" complete=1 ") { break }
            try await place.service.restart()
        }
        let report = try await place.mock.report()
        #expect(report.distinct == count)
        // On a busy machine answers take as long as from far away, and the window grows.
        #expect(report.duplicates <= max(count / 1000, kills * Self.inFlight * 8))
        #expect(report.mostEach <= 2)
        print("\(kills) kills, \(report.duplicates) of \(count) twice")
    }
}
