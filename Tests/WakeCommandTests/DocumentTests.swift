import Testing
import WakeCommand

@Suite("What is made of a table of commands")
struct DocumentTests {
    private func table(help: String, notes: String = ".\n'\n\n\\") -> CommandTable {
        CommandTable(
            program: "tool", summary: help, version: "1",
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

    @Test("the name of a value tells what is offered for it")
    func values() {
        let bash = table(help: "help").completions(for: .bash)
        #expect(bash.contains("_tool_offer \"$current\" fast slow"))
        #expect(bash.contains("compopt -o dirnames"))
        #expect(bash.contains("'feed publish|0') compopt -o default"))
        #expect(!bash.contains("--size')\n        "))
        #expect(!bash.contains(" A b"))
    }

    @Test("every program has completions and manual, and says so")
    func commands() async {
        let table = table(help: "help")
        #expect(await table.run(["completions", "tcsh"]) == 2)
        #expect(await table.run(["completions"]) == 2)
        #expect(await table.run(["completion"]) == 2)
        #expect(await table.run(["manual", "extra"]) == 2)
        for shell in CommandTable.Shell.allCases {
            #expect(table.completions(for: shell).contains("completions"))
            #expect(table.completions(for: shell).contains("manual"))
        }
    }
}
