import Foundation
import TestSupport

/// What a program's `--help` says it has: what completions and manual are compared with.
struct ProgramHelp: Sendable {
    let program: String
    /// The words of each command, with its options.
    let commands: [(name: String, options: [String])]

    init(_ program: String) async throws {
        self.program = program
        let overview = try await RunningProgram.run(program, ["--help"]).output
        let names = Self.names(in: overview, under: "commands:")
        var commands: [(String, [String])] = []
        for name in names {
            let words = name.split(separator: " ").map(String.init)
            let help = try await RunningProgram.run(program, words + ["--help"]).output
            commands.append((name, Self.names(in: help, under: "options:")))
        }
        guard names.count > 5 else { throw TestFailure(overview) }
        self.commands = commands
    }

    /// What stands at the left of the lines of this section; of an option the name alone.
    private static func names(in help: String, under title: String) -> [String] {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0 == title }) else { return [] }
        let entries = lines[(start + 1)...].prefix { $0.hasPrefix("  ") }
        // What is wrapped is indented further.
        return entries.filter { !$0.hasPrefix("   ") }.map { line in
            let name = line.dropFirst(2).components(separatedBy: "  ")[0]
            return name.hasPrefix("--") ? String(name.prefix { $0 != " " }) : name
        }
    }

    /// Faults of a command line: words that this program does not have.
    func faults(in line: String) -> [String] {
        let words = line.split(separator: " ").map(String.init)
        guard words.first == program else { return ["\(line): another program"] }
        let rest = words.dropFirst().prefix { !["<", ">", "|", "#", "&&"].contains($0) }
        let named = commands.filter { command in
            rest.starts(with: command.name.split(separator: " ").map(String.init))
        }.max { $0.name.count < $1.name.count }
        guard let named else {
            // A group, such as `reveille witness`.
            let isGroup = rest.count == 1 && commands.contains { $0.name.hasPrefix(rest[1] + " ") }
            return isGroup ? [] : ["\(line): no such command"]
        }
        return rest.filter { $0.hasPrefix("--") }.compactMap { word in
            let name = String(word.prefix { $0 != "=" })
            return named.options.contains(name) ? nil : "\(line): no \(name)"
        }
    }
}
