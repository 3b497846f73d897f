import Foundation
import TestSupport
import Testing

/// The program behind `Tests/Bench`, as far as it is no measurement.
@Suite("The table of benchmarks", .timeLimit(.minutes(5)))
struct BenchCommandTests {
    /// Of the script, not of the program.
    private static let others: Set<String> = ["traces"]

    @Test("every command of the documents names a benchmark that is there")
    func documents() async throws {
        let list = try await RunningProgram.run("bench", ["all", "--list"])
        let rows = list.output.split(separator: "\n").map { $0.prefix { $0 != ":" } }
        let help = try await RunningProgram.run("bench", ["--help"])
        let commands = Set(
            help.output.split(separator: "\n").filter { $0.hasPrefix("  ") }
                .map { String($0.dropFirst(2).prefix { $0 != ":" }) }
        ).union(Self.others)
        #expect(list.status == 0 && rows.count > 30 && commands.contains("all"))
        var found = 0
        for document in ["README.md", "Deploy/OPERATING.md", "Deploy/cluster/README.md"] {
            for command in try Self.commands(in: document) {
                found += 1
                let words = command.split(separator: " ")
                #expect(commands.contains(String(words.first ?? "")), "\(document): \(command)")
                if let only = words.firstIndex(of: "--only"), only + 1 < words.count {
                    let row = words[only + 1]
                    #expect(rows.contains { $0.hasPrefix(row) }, "\(document): \(command)")
                }
            }
        }
        #expect(found > 15)
    }

    /// What follows `Tests/Bench` between back-quotes.
    private static func commands(in document: String) throws -> [String] {
        try Repository.text(document).components(separatedBy: "`Tests/Bench ").dropFirst()
            .map { String($0.prefix { $0 != "`" }) }
    }

    private struct Report: Decodable {
        struct Row: Decodable {
            struct Arm: Decodable {
                let role: String
                let microseconds: Double
                let failures: Int
            }
            struct Ratio: Decodable {
                let role: String
                let median: Double
                let least: Double
                let most: Double
            }
            let name: String
            let size: Int
            let command: String
            let arms: [Arm]
            let ratios: [Ratio]
        }
        let rows: [Row]
    }

    @Test("a row is measured beside its ceiling, told as JSON, and put into a document")
    func row() async throws {
        let run = try await RunningProgram.run(
            "bench",
            [
                "all", "--only", "oblivious-chacha", "--size", "3", "--rounds", "2", "--json",
            ])
        #expect(run.status == 0, "\(run.output)")
        // Its notes go to the other output, which is kept with it.
        let json = try #require(run.output.firstIndex(of: "{"))
        let text = String(run.output[json...])
        let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
        let row = try #require(report.rows.first)
        #expect(row.name == "oblivious-chacha" && row.size == 3)
        #expect(row.command == "Tests/Bench all --only oblivious-chacha")
        #expect(row.arms.map(\.role) == ["ours", "ceiling"])
        #expect(row.arms.allSatisfy { $0.microseconds > 0 && $0.failures == 0 })
        let ratio = try #require(row.ratios.first)
        #expect(ratio.role == "ceiling" && ratio.least > 0)
        #expect(ratio.least <= ratio.median && ratio.median <= ratio.most)

        let directory = try TemporaryDirectory()
        let (file, document) = (directory.path + "/run.json", directory.path + "/page.md")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let rest = "\n| a thing | 7 | `Tests/Bench all --only push` |\n"
        try ("| requests | 3 us | `Tests/Bench all --only oblivious-chacha` |" + rest).write(
            toFile: document, atomically: true, encoding: .utf8)
        let table = try await RunningProgram.run("bench", ["table", file, document])
        #expect(table.status == 0 && table.output == "", "\(table.output)")
        let page = try String(contentsOfFile: document, encoding: .utf8)
        #expect(page.hasPrefix("| requests | ") && page.contains("us of CPU each"))
        #expect(page.contains("of what is possible") && page.hasSuffix(rest))
        #expect(!page.contains("| 3 us |"))
    }

    @Test(
        "a row or option that there is not is told",
        arguments: [
            ["all", "--only", "nothing"], ["all", "--scale", "huge"], ["all", "--fast"], ["push"],
        ])
    func mistakes(_ words: [String]) async throws {
        #expect(try await RunningProgram.run("bench", words).status == 2)
    }
}
