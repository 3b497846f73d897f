import Foundation
import TestSupport
import Testing

@Suite("An app that publishes plain files, one record a line", .timeLimit(.minutes(10)))
struct PlainFilesTests {
    @Test("what is at home is told once, across restarts, as files grow and new ones come")
    func tellsOnce() async throws {
        let shop = try RecallShop(cupboard: "A7", "B2", "C3")
        try shop.publish("X1\nA7\n", in: "2026-11-20.txt")
        #expect(try await shop.look() == ["A7"])
        #expect(try await shop.look() == [])
        try shop.publish("B2\n", in: "2026-11-20.txt")
        try shop.publish("A7\nC3\n", in: "2026-11-21.txt")
        #expect(try await shop.look() == ["B2", "C3"])
        #expect(try await shop.look() == [])
    }

    @Test("a line that is still being written is told when it is whole, and not before")
    func wholeLines() async throws {
        let shop = try RecallShop(cupboard: "A7", "A77")
        try shop.publish("X1\nA7", in: "2026-11-20.txt")
        #expect(try await shop.look() == [])
        try shop.publish("7\n", in: "2026-11-20.txt")
        #expect(try await shop.look() == ["A77"])
    }

    @Test("what is put into the cupboard later is checked against the past")
    func recheck() async throws {
        let shop = try RecallShop(cupboard: "A7")
        try shop.publish("A7\nB2\n", in: "2026-11-20.txt")
        #expect(try await shop.look() == ["A7"])
        try shop.keep(["A7", "B2"])
        #expect(try await shop.look() == ["B2"])
    }

    @Test("running, it looks when it is woken; killed as it tells, it tells again by the same id")
    func wakes() async throws {
        let shop = try RecallShop(cupboard: "A7", "B2")
        try shop.publish("A7\n", in: "2026-11-20.txt")
        let first = try shop.start()
        _ = try await first.line(containing: "recalled: A7")
        first.signal(SIGKILL)
        _ = await first.exit()
        let second = try shop.start()
        _ = try await second.line(containing: "running")
        try shop.publish("B2\n", in: "2026-11-21.txt")
        second.signal(SIGUSR1)
        _ = try await second.line(containing: "recalled: B2")
        second.signal(SIGKILL)
        _ = await second.exit()
        let reports = RecallShop.reports(first.output + second.output)
        #expect(reports.count <= 3)
        #expect(Set(reports.map(\.id)).count == 2)
        // The one whose telling was killed may wait behind the new one.
        let again = try await shop.look()
        #expect(Set(reports.map(\.number) + again) == ["A7", "B2"])
        #expect(try await shop.look() == [])
    }

    @Test("killed at random, every recall is told, what is told twice with the same id")
    func kills() async throws {
        // When kills fall is up to the machine: once more until some fell into the work.
        while try await killsInOneStory() < 3 { try Task.checkCancellation() }
    }

    /// - Returns: how many there were before all was told.
    private func killsInOneStory() async throws -> Int {
        let numbers = (0..<40).map { "N\($0)" }
        let shop = try RecallShop()
        try shop.keep(numbers)
        // More than one page.
        let filler = String(repeating: "a-batch-that-nobody-has\n", count: 2000)
        for number in numbers { try shop.publish(filler + number + "\n", in: "2026-\(number).txt") }
        var output = ""
        var kills = 0
        for attempt in 0..<100 {
            let program = try shop.start("--once")
            // From before its first line of code to after its last, also where that takes a minute.
            let patience = 1 << (max(0, attempt - 50) / 5)
            program.signal(
                SIGKILL, after: .milliseconds((2 + 2 * attempt) * patience + .random(in: 0..<8)))
            let status = await program.exit()
            output += program.output
            if status == 0 { break }
            kills += 1
        }
        let reports = RecallShop.reports(output)
        #expect(Set(reports.map(\.number)) == Set(numbers))
        #expect(Set(reports.map(\.id)).count == numbers.count)
        #expect(try await shop.look() == [])
        return kills
    }

    @Test("a line without end is no record, and the device says that its source failed")
    func malformed() async throws {
        let shop = try RecallShop(cupboard: "A7")
        try shop.publish("A7\n", in: "2026-11-20.txt")
        try shop.publish(String(repeating: "x", count: 70_000), in: "2026-11-21.txt")
        let program = try shop.start("--once")
        #expect(await program.exit() != 0)
        #expect(RecallShop.told(program.output) == ["A7"])
        #expect(program.output.contains("failed"))
    }
}
