import Testing
import WakeCommand

@Suite("What is made of a table of commands")
struct DocumentTests {
    private func table(help: String, notes: String = ".\n'\n\n\\") -> CommandTable {
        CommandTable(
            program: "tool", summary: help,
            commands: [
                Command(
                    "feed publish", help, operands: [.init("FILE", help)],
                    options: [
                        .init("--mode", value: "fast|slow", help),
                        .init("--out", value: "DIR", help),
                        .init("--size", value: "BYTES", help), .init("--level", value: "A|b", help),
                    ], examples: [".hidden -x 'y' \\z"], notes: notes
                ) { _ in .success }
            ], examples: [])
    }

    @Test(
        "whatever a help says, no line of a manual begins a request that is not ours",
        arguments: [
            ".SH broken", "'br", "a \\fB b", "\\", "`.x` and `'y`", "-- - `-`", "ツ \u{1F514}",
            "\"quoted\" \"", "one `backtick", String(repeating: ".x ", count: 200),
        ])
    func requests(_ help: String) {
        let page = table(help: help).manualPage()
        let known = ["TH", "SH", "SS", "PP", "TP", "RS", "RE", "nf", "fi", "\\\""]
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            #expect(!line.hasPrefix("'"))
            if line.hasPrefix(".") {
                let word = line.dropFirst().prefix { $0 != " " }
                #expect(known.contains(String(word)), "\(line)")
            }
            let isASCII = line.utf8.allSatisfy { $0 < 0x80 }
            #expect(isASCII, "\(line)")
            // A word is never cut, and no longer than a help gives it.
            #expect(line.utf8.count <= 200, "\(line)")
        }
        // roff(7): every backslash is the start of an escape that we use.
        let escapes = page.split(separator: "\\", omittingEmptySubsequences: false).dropFirst()
        for escape in escapes {
            let isOurs = [
                "e", "-", "(aq", "(ga", "(ha", "(ti", "(dq", "[u", "fB", "fI", "fR", "&",
                "\" ",
            ].contains { escape.hasPrefix($0) }
            #expect(isOurs, "\(escape.prefix(8))")
        }
    }

    @Test("the manual holds every exit status with its meaning")
    func statuses() {
        let page = table(help: "help").manualPage()
        for status in WakeCommand.ExitStatus.allCases {
            #expect(page.contains("\n\\fB\(status.rawValue)\\fR\n"), "\(status)")
        }
        let meanings = Set(WakeCommand.ExitStatus.allCases.map(\.meaning))
        #expect(meanings.count == WakeCommand.ExitStatus.allCases.count)
    }

    @Test("a list in a command's notes stays a list in the manual")
    func notedList() {
        let page = table(help: "help", notes: "two\nwords:\n  0  one\n  1  two").manualPage()
        #expect(page.contains("\ntwo words:\n.PP\n.RS 4\n.nf\n  0  one\n  1  two\n.fi\n"))
    }

    @Test(
        "offers at the end of a command line",
        arguments: [
            ([""], "commands||feed,completions,manual"), (["feed", ""], "commands||publish"),
            (["feed", "x", ""], "nothing||"), (["nonsense", ""], "nothing||"), ([], "commands||*"),
            (["--"], "options||--help,--version"), (["feed", "--"], "nothing||"),
            (["feed", "publish", ""], "files||"), (["feed", "publish", "a", ""], "nothing||"),
            (["feed", "publish", "--", "--m"], "files||"),
            (["feed", "publish", "-"], "options||--mode,--out,--size,--level,--help"),
            (["feed", "publish", "--mode", ""], "values||fast,slow"),
            (["feed", "publish", "--mode=f"], "values|--mode=|fast,slow"),
            (["feed", "publish", "--mode", "fast", ""], "files||"),
            (["feed", "publish", "--out", ""], "directories||"),
            (["feed", "publish", "--size", ""], "nothing||"),
            (["feed", "publish", "--level", ""], "nothing||"),
            (["feed", "publish", "--nonsense=x"], "nothing||"), (["--mode", ""], "nothing||"),
            (["completions", ""], "values||bash,zsh,fish"),
        ])
    func offers(_ words: [String], _ expected: String) async {
        let answer = await table(help: "help").completions(of: words)
        let lines = answer.split(separator: "\n", omittingEmptySubsequences: false)
        let offers = lines.dropFirst(2).dropLast().map { $0.prefix { $0 != "\t" } }
        let found = "\(lines[0])|\(lines[1])|\(offers.joined(separator: ","))"
        #expect(found == expected || expected.hasSuffix("*") && !offers.isEmpty)
    }

    @Test("every program has completions and manual, and says so")
    func commands() async {
        let table = table(help: "help")
        #expect(await table.run(["completions", "tcsh"]) == 2)
        #expect(await table.run(["completions"]) == 2)
        #expect(await table.run(["completion"]) == 2)
        #expect(await table.run(["manual", "extra"]) == 2)
        for shell in Shell.allCases {
            #expect(shell.completions(of: "tool").contains("tool __complete"))
        }
    }
}
