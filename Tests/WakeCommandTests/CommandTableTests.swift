import Testing
import WakeCommand
import WakeModel

@Suite("Command lines")
struct CommandTableTests {
    /// What the last command was given.
    private func table(_ run: @escaping @Sendable (Invocation) -> WakeCommand.ExitStatus)
        -> CommandTable
    {
        CommandTable(
            program: "tool", summary: "does things",
            commands: [
                Command(
                    "feed publish", "publish a file", operands: [.init("FILE", "the file")],
                    options: [.init("--width", value: "N", "width"), .init("--force", "anyway")],
                    run: { (invocation) throws(CommandFailure) in
                        _ = try invocation.integer("--width", in: 1...9)
                        return run(invocation)
                    }),
                Command("status", "show", run: { (invocation) in run(invocation) }),
            ], examples: [])
    }

    @Test("values are taken after a space or an equals sign, flags as they are")
    func options() async {
        let table = table { invocation in
            invocation.operands == ["-"] && invocation.value("--width") == "8"
                && invocation.flag("--force") ? .match : .failure
        }
        #expect(await table.run(["feed", "publish", "-", "--width", "8", "--force"]) == 10)
        #expect(await table.run(["feed", "publish", "--width=8", "--force", "--", "-"]) == 10)
    }

    @Test("a word with a dash in front is an operand where one may begin so, and nowhere else")
    func dashes() async {
        let operands: [WakeCommand.Command.Operand] = [
            .init("NAME", "its name"), .init("KEY", "its key", isDashed: { $0.count == 5 }),
        ]
        let table = CommandTable(
            program: "tool", summary: "does things",
            commands: [
                Command(
                    "allow", "let through", operands: operands,
                    options: [.init("--to", value: "N", "where")],
                    run: {
                        $0.operands == ["a", "-key-"] && $0.value("--to") == "8" ? .match : .failure
                    })
            ], examples: [])
        #expect(await table.run(["allow", "a", "-key-", "--to", "8"]) == 10)
        #expect(await table.run(["allow", "--to=8", "a", "-key-"]) == 10)
        #expect(await table.run(["allow", "-name", "-key-", "--to", "8"]) == 2)
        #expect(await table.run(["allow", "a", "-kay", "--to", "8"]) == 2)
        #expect(await table.run(["allow", "a", "-key-", "-key-", "--to", "8"]) == 2)
    }

    @Test(
        "every usage error ends with 2 and runs nothing",
        arguments: [
            [], ["feed"], ["feed", "publish"], ["feed", "publich", "x"], ["stat"],
            ["status", "extra"], ["status", "--force"], ["feed", "publish", "a", "b"],
            ["feed", "publish", "a", "--width"], ["feed", "publish", "a", "--force=1"],
            ["feed", "publish", "a", "--force", "--force"], ["--unknown"],
            ["feed", "publish", "a", "--width", "10"], ["feed", "publish", ""],
        ])
    func usage(_ words: [String]) async {
        let table = table { _ in
            Issue.record("ran")
            return .success
        }
        #expect(await table.run(words) == 2)
    }

    @Test(
        "help succeeds everywhere and runs nothing",
        arguments: [
            ["--help"], ["-h"], ["help"], ["feed", "--help"], ["feed", "publish", "--help"],
            ["feed", "publish", "-h"], ["help", "feed", "publish"], ["--version"],
        ])
    func help(_ words: [String]) async {
        let table = table { _ in
            Issue.record("ran")
            return .success
        }
        #expect(await table.run(words) == 0)
    }

    @Test("a mistyped word is met with the one that was meant")
    func spelling() {
        #expect(Spelling.nearest(to: "publich", in: ["publish", "prune"]) == "publish")
        #expect(Spelling.nearest(to: "--widht", in: ["--width"]) == "--width")
        #expect(Spelling.nearest(to: "xyz", in: ["publish"]) == nil)
        #expect(Spelling.nearest(to: "a", in: []) == nil)
    }

    @Test("text for people has nothing that a terminal obeys but newlines and tabs")
    func printable() {
        let foreign = "a\u{1B}[31mb\u{9B}2Jc\u{7F}\u{202E}d\r\n\te\u{200D}f"
        #expect(Console.printable(foreign) == "a?[31mb?2Jc??d?\n\te\u{200D}f")
        #expect(Console.printable("a\nb\tc", isLine: true) == "a?b?c")
        #expect(Console.printable("ü €\n") == "ü €\n")
    }
}
