import Foundation
import TestSupport
import Testing

/// What a stranger on the line sees of clients with a match and of those without, recorded by an
/// origin in Python (`Tests/LineTraces`). The times, of which only many clients tell something, are
/// measured by `Tests/Bench traces`.
@Suite("The line is the same with a match as without", .timeLimit(.minutes(5)))
struct LineTraceTests {
    private func traces(_ words: String...) async throws -> (status: Int32, output: String) {
        let script = Repository.root.appending(path: "Tests/LineTraces/traces.py").path
        return try await RunningProgram.run(
            path: "/usr/bin/env",
            ["python3", script, "--programs", RunningProgram.folder.path] + words)
    }

    @Test(
        "order, sizes and ends are the same, and no program starts before its time",
        arguments: ["sync", "run"])
    func order(mode: String) async throws {
        let answer = try await traces("--order", "--modes", mode)
        #expect(answer.status == 0 && answer.output == "\(mode) in order\n", "\(answer.output)")
    }

    @Test("a client that delivers first is caught", arguments: ["sync", "run"])
    func control(mode: String) async throws {
        let answer = try await traces("--order", "--control", "--modes", mode)
        #expect(answer.status == 0, "\(answer.output)")
        let early = "a program starts before the check is complete"
        #expect(answer.output.contains(early), "\(answer.output)")
    }

    @Test("by its times, too")
    func measured() async throws {
        let answer = try await traces(
            "--control", "--modes", "sync", "--handlers", "3", "--clients", "8")
        #expect(answer.status == 0, "\(answer.output)")
        #expect(answer.output.contains("! 1.000 "), "\(answer.output)")
    }
}
