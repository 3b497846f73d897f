private import WakeModel

/// A program: its name, its commands, and the one place where it ends.
package struct CommandTable: Sendable {
    let program: String
    let summary: String
    let examples: [String]
    let manual: Manual
    private let given: [Command]

    /// - Parameter manual: the parts of the manual that are not made from the commands.
    package init(
        program: String, summary: String, commands: [Command], examples: [String],
        manual: Manual = Manual()
    ) {
        self.program = program
        self.summary = summary
        given = commands
        self.examples = examples
        self.manual = manual
    }

    /// The commands of the program, and those that every program has.
    var commands: [Command] { given + [completionsCommand, manualCommand] }

    /// Runs the command line (without the program's name); returns the exit status.
    package func run(_ words: [String]) async -> Int32 {
        do throws(CommandFailure) {
            return try await dispatch(words).rawValue
        } catch {
            let console = Console()
            console.error("\(program): \(error.message)", isFailure: true)
            if let hint = error.hint { console.error("hint: \(hint)", isFailure: true) }
            return error.status.rawValue
        }
    }

    private func dispatch(_ words: [String]) async throws(CommandFailure) -> ExitStatus {
        if words.first == CompletionQuery.verb {
            return show(await completions(of: Array(words.dropFirst())))
        }
        let words = optionsLast(words)
        let isHelp = { (word: String) in word == "--help" || word == "-h" || word == "help" }
        let named = words.prefix { !$0.hasPrefix("-") }
        let match = commands.filter { named.starts(with: $0.words) }
            .max { $0.words.count < $1.words.count }
        if let match {
            let rest = words.dropFirst(match.words.count)
            let asked = rest.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
            if asked { return show(help(for: match)) }
            return try await match.run(Invocation(rest, for: match, of: program))
        }
        if [["--version"], ["-V"], ["version"]].contains(words) {
            return show("\(program) \(Release.current.text)\n")
        }
        guard let first = words.first, !isHelp(first) else {
            // `help NAME` and plain `--help` succeed; no words at all is a usage error.
            guard !words.isEmpty else {
                Console().error(overview(of: commands), terminator: "")
                return .usage
            }
            return try await dispatchHelp(Array(words.dropFirst()))
        }
        let group = commands.filter { $0.words.first == first }
        if !group.isEmpty {
            guard let second = words.dropFirst().first else {
                Console().error(overview(of: group), terminator: "")
                return .usage
            }
            if isHelp(second) { return show(overview(of: group)) }
            throw unknown("\(first) \(second)", in: group)
        }
        throw unknown(first, in: commands)
    }

    /// The same words with options that stand before or in a command's name behind it, as in
    /// `secrets --profile work list`.
    private func optionsLast(_ words: [String]) -> [String] {
        var (name, options, rest) = ([String](), [String](), words[...])
        var candidates = commands
        while let word = rest.first {
            if word.hasPrefix("-") {
                let known = candidates.lazy.flatMap(\.options)
                let key = word.prefix { $0 != "=" }
                guard let option = known.first(where: { $0.name == key }) else { return words }
                options.append(rest.removeFirst())
                guard option.value != nil, key == word, let value = rest.popFirst() else {
                    continue
                }
                options.append(value)
            } else {
                let longer = candidates.filter {
                    $0.words.starts(with: name + [word]) && $0.words.count > name.count
                }
                if longer.isEmpty { break }
                candidates = longer
                name.append(rest.removeFirst())
            }
        }
        return name + options + rest
    }

    private func dispatchHelp(_ words: [String]) async throws(CommandFailure) -> ExitStatus {
        if words.isEmpty { return show(overview(of: commands)) }
        let group = commands.filter { $0.words.starts(with: words) }
        if let exact = group.first(where: { $0.words == words }) { return show(help(for: exact)) }
        guard !group.isEmpty else { throw unknown(words.joined(separator: " "), in: commands) }
        return show(overview(of: group))
    }

    private func unknown(_ word: String, in commands: [Command]) -> CommandFailure {
        let names = commands.map(\.name) + commands.map { $0.words[0] }
        let parts = word.split(separator: " ").map(String.init)
        let meant = (parts.dropLast() + (parts.last.map { [Self.otherWords[$0] ?? $0] } ?? []))
            .joined(separator: " ")
        let near = names.first { $0 == meant } ?? Spelling.nearest(to: word, in: names)
        return CommandFailure(
            word.hasPrefix("-") ? "unknown option \(word)" : "unknown command \(word)",
            hint: near.map { "did you mean \($0)?" } ?? "\(program) --help lists the commands",
            status: .usage)
    }

    /// Words of other programs for what our commands are called.
    private static let otherWords = [
        "rm": "remove", "del": "remove", "delete": "remove", "ls": "list", "create": "init",
        "new": "init", "start": "run", "info": "status", "verify": "check",
    ]

    private func show(_ text: String) -> ExitStatus {
        Console().out(text, terminator: "")
        return .success
    }

    // MARK: Help

    private func overview(of commands: [Command]) -> String {
        var text = HelpText.paragraph("\(program): \(summary)")
        text += "\nusage: \(program) COMMAND [OPTIONS]\n\ncommands:\n"
        text += HelpText.columns(commands.map { ($0.name, $0.summary) })
        text += "\n\(program) COMMAND --help shows the help of one command.\n"
        return text + list(examples)
    }

    /// Of 80 columns, as terminals have.
    package func help(for command: Command) -> String {
        var line = "usage: \(program) \(command.name)"
        for operand in command.operands { line += " " + operand.usage(operand.name) }
        if !command.options.isEmpty { line += " [OPTIONS]" }
        var text = HelpText.paragraph("\(program) \(command.name): \(command.summary)")
        text += "\n" + HelpText.paragraph(line)
        if !command.operands.isEmpty {
            text += "\n" + HelpText.columns(command.operands.map { ($0.name, $0.help) })
        }
        if !command.options.isEmpty {
            let rows = command.options.map { option in
                (option.name + option.argument, option.help)
            }
            text += "\noptions:\n" + HelpText.columns(rows)
        }
        for paragraph in HelpText.paragraphs(of: command.notes) {
            text += "\n" + HelpText.paragraph(paragraph.words)
            for line in paragraph.list { text += line + "\n" }
        }
        return text + list(command.examples)
    }

    private func list(_ examples: [String]) -> String {
        guard !examples.isEmpty else { return "" }
        return "\nexamples:\n" + examples.flatMap(HelpText.command).map { "  \($0)\n" }.joined()
    }

    // MARK: Commands of every program

    /// The answer of `CompletionQuery` to an unfinished command line without the program's name.
    package func completions(of words: [String]) async -> String {
        await CompletionQuery.answer(words, commands)
    }

    private static let shells = Shell.allCases.map(\.rawValue)

    private var completionsCommand: Command {
        Command(
            "completions", "print the completions for a shell",
            operands: [.init("SHELL", "bash, zsh or fish", completion: .choice(Self.shells))],
            examples: [
                "source <(\(program) completions bash)",
                "\(program) completions zsh > ~/.zfunc/_\(program)    # a directory of fpath",
                "\(program) completions fish > ~/.config/fish/completions/\(program).fish",
            ]
        ) { [self] invocation throws(CommandFailure) in
            guard let shell = Shell(rawValue: invocation.operands[0]) else {
                throw .usage("there are completions for \(Self.shells.joined(separator: ", "))")
            }
            Console().out(shell.completions(of: program), terminator: "")
            return .success
        }
    }

    private var manualCommand: Command {
        let pages = manual.pages.map(\.name)
        let names = pages.joined(separator: ", ")
        return Command(
            "manual", "print the manual page, as man(1) reads it",
            operands: pages.isEmpty
                ? []
                : [
                    .init(
                        "PAGE", "another page than that of the program: \(names)", .optional,
                        completion: .choice(pages))
                ],
            examples: [
                "\(program) manual | man -l -",
                "\(program) manual > ~/.local/share/man/man\(manual.section)/"
                    + "\(program).\(manual.section)",
            ]
        ) { [self] invocation throws(CommandFailure) in
            let name = invocation.operands.first
            guard let page = name.map(manualPage(named:)) ?? manualPage() else {
                throw .usage("there is a page \(names)")
            }
            return show(page)
        }
    }
}
