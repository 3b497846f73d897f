import Foundation
import TestSupport
import Testing

@Suite("Manual pages", .timeLimit(.minutes(5)))
struct ManualTests {
    static let programs = ["reveille", "reveille-client"]

    /// The words that print each page.
    static let pages = [
        ["reveille", "manual"], ["reveille-client", "manual"],
        ["reveille", "manual", "reveille.conf"],
    ]

    private func page(_ words: [String]) async throws -> (TemporaryDirectory, String) {
        let directory = try TemporaryDirectory()
        let answer = try await RunningProgram.run(words[0], Array(words.dropFirst()))
        #expect(answer.status == 0)
        let path = directory.path + "/page"
        try answer.output.write(toFile: path, atomically: true, encoding: .utf8)
        return (directory, path)
    }

    /// The page as it is read, in words with one space between them.
    private func words(_ path: String) async throws -> String {
        let groff = try #require(InstalledPrograms.path("groff"))
        // grotty(1): -c -b -u overstrike nothing.
        let words = ["-man", "-Tascii", "-P-cbu", "-rLL=1000n", path]
        let text = try await RunningProgram.run(path: groff, words).output
        return text.split { $0.isWhitespace }.joined(separator: " ")
    }

    @Test(
        "mandoc has nothing to complain of",
        .enabled(if: InstalledPrograms.path("mandoc") != nil, "needs mandoc"), arguments: pages)
    func mandoc(_ words: [String]) async throws {
        let (directory, path) = try await page(words)
        let mandoc = try #require(InstalledPrograms.path("mandoc"))
        let answer = try await RunningProgram.run(path: mandoc, ["-T", "lint", path])
        #expect(answer.status == 0 && answer.output.isEmpty, "\(answer.output)")
        // It would have.
        try #".SH "A\nB" C\#n.nosuch\#n"#.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try await RunningProgram.run(path: mandoc, ["-T", "lint", path]).status != 0)
        withExtendedLifetime(directory) {}
    }

    @Test(
        "groff has nothing to complain of, and every command, option and status is there",
        .enabled(if: InstalledPrograms.path("groff") != nil, "needs groff"), arguments: programs)
    func groff(_ program: String) async throws {
        let (directory, path) = try await page([program, "manual"])
        let groff = try #require(InstalledPrograms.path("groff"))
        let answer = try await RunningProgram.run(
            path: groff, ["-man", "-ww", "-z", "-Tutf8", path])
        #expect(answer.status == 0 && answer.output.isEmpty, "\(answer.output)")
        let text = try await words(path)
        for (name, options) in try await ProgramHelp(program).commands {
            #expect(text.contains("\(program) \(name)"), "\(name)")
            // The next command begins where this one ends.
            let parts = text.components(separatedBy: " \(program) \(name) ").dropFirst()
            for option in options {
                #expect(parts.contains { $0.contains("[\(option)") }, "\(name) \(option)")
                #expect(text.contains(" \(option) "), "\(option)")
            }
        }
        for section in ["NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"] {
            #expect(text.contains(" \(section) "), "\(section)")
        }
        let statuses = text.components(separatedBy: "EXIT STATUS")[1]
            .components(separatedBy: "ENVIRONMENT")[0]
        let expected =
            program == "reveille"
            ? [0, 1, 2, 3, 4, 65, 74, 75, 78] : [0, 1, 2, 10, 65, 74, 75, 78]
        let found = statuses.split(separator: " ").compactMap { Int($0) }
        #expect(found == expected)
        withExtendedLifetime(directory) {}
    }

    @Test(
        "a terminal of 80 columns holds every line of help and manual",
        .enabled(if: InstalledPrograms.path("groff") != nil, "needs groff"), arguments: programs)
    func width(_ program: String) async throws {
        var texts = [try await RunningProgram.run(program, ["--help"]).output]
        for command in try await ProgramHelp(program).commands {
            let words = command.name.split(separator: " ").map(String.init) + ["--help"]
            texts.append(try await RunningProgram.run(program, words).output)
        }
        let groff = try #require(InstalledPrograms.path("groff"))
        for words in Self.pages where words[0] == program {
            let (directory, path) = try await page(words)
            let set = ["-man", "-Tascii", "-P-cbu", "-rLL=80n", path]
            texts.append(try await RunningProgram.run(path: groff, set).output)
            withExtendedLifetime(directory) {}
        }
        for text in texts {
            let long = text.split(separator: "\n").filter { $0.count > 80 }
            #expect(long == [] && text.count > 100)
        }
    }

    @Test(
        "reveille.conf(5) has every key of the file that init writes, also those in comments",
        .enabled(if: InstalledPrograms.path("groff") != nil, "needs groff"))
    func configuration() async throws {
        let (directory, path) = try await page(["reveille", "manual", "reveille.conf"])
        let groff = try #require(InstalledPrograms.path("groff"))
        let answer = try await RunningProgram.run(
            path: groff, ["-man", "-ww", "-z", "-Tutf8", path])
        #expect(answer.status == 0 && answer.output.isEmpty, "\(answer.output)")
        let text = try await words(path)
        let keys = text.components(separatedBy: " EXAMPLE ")[0]
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let file = try String(contentsOfFile: root + "/reveille.conf", encoding: .utf8)
        let names = file.matches(of: #/\n(?:# )?([a-z-]+) = /#).map(\.1)
        #expect(names.count > 40)
        for name in names { #expect(keys.contains(" \(name) "), "\(name)") }
        for name in ["streams-per-address", "watch-key", "connect", "via-per-minute"] {
            #expect(keys.contains(" \(name) "), "\(name)")
        }
        let unknown = try await RunningProgram.run("reveille", ["manual", "nothing"])
        #expect(unknown.status == 2 && unknown.output.contains("reveille.conf"))
    }

    @Test("every key of a configuration in a document is one that there is, in its section")
    func keys() async throws {
        let page = try await RunningProgram.run("reveille", ["manual", "reveille.conf"]).output
        var known: [String: String] = [:]
        for part in page.replacing("\\-", with: "-").components(separatedBy: "\n\\fB[").dropFirst()
        {
            known[String(part.prefix { $0 != "]" })] = part
        }
        var checked = 0
        for path in ["Deploy/OPERATING.md", "Deploy/cluster/README.md", "README.md"] {
            let text = try Repository.text(path)
            for block in text.matches(of: #/(?s)```\n(.*?)```/#) {
                var section: String?
                for line in block.1.split(separator: "\n") {
                    if let match = line.firstMatch(of: #/^\[(\w+)\](?: |$)/#) {
                        section = String(match.1)
                    }
                    guard let section, let key = line.firstMatch(of: #/^(?:# )?([a-z-]+) = /#)?.1
                    else { continue }
                    checked += 1
                    #expect(
                        known[section]?.contains("\\fB\(key)\\fR") ?? false,
                        "\(path): [\(section)] \(key)")
                }
            }
        }
        #expect(checked > 20, "\(checked)")
        // In prose and in comments.
        for path in ["README.md"]
            + (try ["Deploy", "Policy"].flatMap { try Repository.paths(in: $0, ending: "") })
        {
            guard let text = try? Repository.text(path) else { continue }
            for match in text.matches(of: #/\[(\w+)\] ([a-z-]+)(?:[`,)]| =)/#) {
                guard let section = known[String(match.1)] else { continue }
                checked += 1
                #expect(section.contains("\\fB\(match.2)\\fR"), "\(path): \(match.0)")
            }
        }
        #expect(checked > 30, "\(checked)")
    }

    /// The commands of every document: in blocks of code, part by part of a pipeline, and between
    /// back-quotes in prose.
    private func documented() throws -> [String] {
        let folders = ["Deploy", "Policy", "Sources", "Tests"]
        let paths =
            ["README.md"] + (try folders.flatMap { try Repository.paths(in: $0, ending: ".md") })
        return try paths.flatMap { path -> [String] in
            let text = try Repository.text(path).replacing(#/ \\\n */#, with: " ")
            let prose = text.matches(of: #/`([^`…\n]+)`/#).map { String($0.1) }
            let code = text.matches(of: #/(?s)```\n(.*?)```/#).flatMap {
                $0.1.split(separator: "\n")
            }
            let parts = code.flatMap { $0.split(separator: #/\||&& /#) } + prose.map { $0[...] }
            return parts.map { part in
                let line = part.drop { $0 == " " }
                return String(line.trimmingPrefix(#/sudo (?:-u [\w-]+ )?/#))
            }
        }
    }

    @Test("examples of manual and documents are commands and options that there are")
    func examples() async throws {
        let documented = try documented()
        var checked = 0
        for program in Self.programs {
            let help = try await ProgramHelp(program)
            var lines = documented.filter { !$0.hasPrefix("\(program) -") }
            for command in help.commands {
                let words = command.name.split(separator: " ").map(String.init) + ["--help"]
                let text = try await RunningProgram.run(program, words).output
                lines += text.components(separatedBy: "examples:\n").dropFirst().joined()
                    .replacing(#/ \\\n */#, with: " ").split(separator: "\n").map {
                        String($0.drop { $0 == " " })
                    }
            }
            for line in lines where line.hasPrefix(program + " ") {
                if program == "reveille", line.hasPrefix("reveille-client") { continue }
                // A diagram of modules.
                if line.contains("►") || line.contains("─") { continue }
                #expect(help.faults(in: line) == [], "\(line)")
                checked += 1
            }
            #expect(help.faults(in: "\(program) status --no-such") != [])
            #expect(help.faults(in: "\(program) no-such") != [])
        }
        #expect(checked > 150, "\(checked)")
    }
}
