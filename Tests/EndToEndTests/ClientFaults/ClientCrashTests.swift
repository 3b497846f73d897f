import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("kill -9 of the client", .timeLimit(.minutes(10)))
struct ClientCrashTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 25 : 1000

    @Test("killed anywhere in a cycle with matches, it tells every match, each with one id")
    func cycles() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let secrets = [try await client.addSecret("one"), try await client.addSecret("two")]
        var window = KillWindow()
        var round = 0
        while window.isOpen(round, rounds: Self.rounds, kills: Self.rounds / 4 + 1) {
            try Task.checkCancellation()
            defer { round += 1 }
            _ = try await service.publish(secrets, notes: ["first-\(round)", "second-\(round)"])
            _ = try await window.kill {
                try client.start("sync", "--on-match", reports.program)
            }
            // Every other round goes on with what the kill left behind.
            if round % 2 == 0 { try await look(client, reports, "round \(round)") }
        }
        try await look(client, reports, "the end")
        #expect(try await client.status("sequence") == "\(round)")
        #expect(try await client.status("matchesToDeliver") == "0")
        let expected = (0..<round).flatMap { ["first-\($0)", "second-\($0)"] }
        try await expectTold(expected, in: reports)
    }

    @Test("killed while it listens, it is told after the restart what came meanwhile")
    func listening() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("one")
        let rounds = Self.rounds / 3
        for round in 0..<rounds {
            let program = try await client.listen("--on-match", reports.program)
            program.signal(SIGKILL, after: .milliseconds(Int.random(in: 0..<1800)))
            _ = try await service.publish([secret], notes: ["note-\(round)"], "--then-broadcast")
            _ = await program.exit()
        }
        try await look(client, reports, "the end")
        try await expectTold((0..<rounds).map { "note-\($0)" }, in: reports)
    }

    @Test("killed while it registers and unregisters, it ends as wished: one row, or none")
    func registrations() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        var window = KillWindow()
        var round = 0
        while window.isOpen(round, rounds: Self.rounds, kills: Self.rounds / 4 + 1) {
            try Task.checkCancellation()
            defer { round += 1 }
            let device = TestDevice()
            let isWanted = Bool.random()
            let text = Array(device.pushText.utf8)
            _ = try await window.kill {
                isWanted
                    ? try client.start("register", "apns", input: text)
                    : try client.start("unregister")
            }
            // Whatever was written down, the next wish is brought about.
            if isWanted {
                #expect(try await client.register(device) == 0, "round \(round)")
            } else {
                #expect(try await client.command("unregister").status == 0, "round \(round)")
            }
            #expect(try service.rows() == (isWanted ? 1 : 0), "round \(round)")
        }
        #expect(try await client.command("unregister").status == 0)
        #expect(try service.rows() == 0)
    }

    /// Looks with nobody in the way: the state is sound and no lock was left behind.
    private func look(
        _ client: ClientUnderTest, _ reports: MatchReports, _ comment: Comment
    ) async throws {
        let answer = try await client.command("sync", "--on-match", reports.program)
        #expect([0, 10].contains(answer.status), comment)
        #expect(answer.output == "", comment)
    }

    private func expectTold(_ notes: [String], in reports: MatchReports) async throws {
        // Told is what was reported, whether or not the report is read here already.
        var told = reports.all
        while !Set(told.map(\.note)).isSuperset(of: notes) {
            told = try await reports.atLeast(told.count + 1)
        }
        var ids: [String: Set<String>] = [:]
        for report in told { ids[report.note, default: []].insert(report.id) }
        #expect(Set(ids.keys) == Set(notes))
        #expect(ids.values.allSatisfy { $0.count == 1 })
        #expect(Set(ids.values.flatMap(\.self)).count == notes.count)
    }
}
