import Foundation
import TestSupport
import Testing

@Suite("Killed at random points of a look with three matches", .timeLimit(.minutes(20)))
struct ClientKillTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 40 : 200

    @Test("every match is told at least once under one id, and the cursor is never ahead")
    func killed() async throws {
        let service = try await ServiceUnderTest()
        let template = try await ClientUnderTest(of: service)
        for name in ["one", "two", "three"] {
            // A batch for each: every sequence number stands for one match.
            _ = try await service.publish([try await template.addSecret(name)], notes: [name])
        }
        var window = KillWindow()
        var ids: Set<Set<String>> = []
        var midway = 0
        var round = 0
        while window.isOpen(round, rounds: Self.rounds, kills: Self.rounds / 4 + 1)
            || midway <= Self.rounds / 20
        {
            try Task.checkCancellation()
            defer { round += 1 }
            let client = try template.copy()
            let reports = try MatchReports(in: client.directory)
            _ = try await window.kill {
                try client.start("sync", "--on-match", reports.program)
            }
            let (sequence, waiting) = try await Self.place(of: client)
            // What the cursor has passed was told, or waits to be told. Told is what was
            // reported, whether or not the report is read here already.
            #expect(waiting <= sequence && sequence <= 3, "round \(round)")
            _ = try await reports.atLeast(sequence - waiting)
            if (1...2).contains(sequence) || waiting > 0 { midway += 1 }
            let end = try await client.command("sync", "--on-match", reports.program)
            #expect([0, 10].contains(end.status) && end.output == "", "round \(round)")
            #expect(try await Self.place(of: client) == (3, 0), "round \(round)")
            var told = reports.all
            while Set(told.map(\.note)).count < 3 {
                told = try await reports.atLeast(told.count + 1)
            }
            #expect(Set(told.map(\.note)) == ["one", "two", "three"], "round \(round)")
            #expect(told.count <= 4, "one at most was being told: round \(round)")
            ids.insert(Set(told.map(\.id)))
        }
        #expect(ids.count == 1 && ids.first?.count == 3)
    }

    /// How far the cursor is, and how many matches wait to be told.
    private static func place(of client: ClientUnderTest) async throws -> (Int, Int) {
        let answer = try await client.command("status", "--json")
        func number(_ name: String) throws -> Int {
            let rest = answer.output.split(separator: "\"\(name)\":")
            return try #require(rest.last.flatMap { Int($0.prefix { $0.isNumber }) })
        }
        return (try number("sequence"), try number("matchesToDeliver"))
    }
}
