extension CommandTable {
    /// The page for man(1), in the language of man(7).
    package func manualPage() -> String {
        var page = Roff()
        page.comment("Made by `\(program) manual`.")
        page.title(program, section: manual.section, date: manual.date, version: version)
        page.macro("SH", "NAME")
        page.fill("\(program) - \(summary)")
        page.macro("SH", "SYNOPSIS")
        page.fill(
            marked: "\(Roff.bold(program)) \(Roff.italic("COMMAND")) "
                + "[\(Roff.italic("OPTION"))...] [\(Roff.italic("WORD"))...]")
        page.macro("SH", "DESCRIPTION")
        set(manual.description, in: &page)
        page.macro("SH", "COMMANDS")
        for command in commands { describe(command, in: &page) }
        page.macro("SH", "COMMON OPTIONS")
        for option in commonOptions { describe(option, in: &page) }
        page.macro("TP")
        page.fill(marked: "\(Roff.bold("--help")), \(Roff.bold("-h"))")
        page.fill("after a command what it takes and does; alone a list of the commands")
        page.macro("TP")
        page.fill(marked: Roff.bold("--version"))
        page.fill("alone: the version")
        page.macro("SH", "EXIT STATUS")
        for status in manual.statuses {
            page.macro("TP")
            page.fill(marked: Roff.bold("\(status.rawValue)"))
            page.fill(status.meaning)
        }
        for section in manual.sections {
            page.macro("SH", section.title)
            set(section.parts, in: &page)
        }
        page.macro("SH", "EXAMPLES")
        page.fill("A first look:")
        page.code(examples)
        seeAlso(in: &page)
        return page.text
    }

    /// Options that several commands have, described once.
    private var commonOptions: [Command.Option] {
        var common: [Command.Option] = []
        for option in commands.flatMap(\.options) where isCommon(option) {
            if !common.contains(where: { $0.isSame(as: option) }) { common.append(option) }
        }
        return common
    }

    private func isCommon(_ option: Command.Option) -> Bool {
        commands.count { $0.options.contains { $0.isSame(as: option) } } > 2
    }

    private func describe(_ command: Command, in page: inout Roff) {
        page.macro("SS", command.name)
        page.fill(marked: synopsis(of: command))
        page.macro("PP")
        page.fill(Self.sentence(command.summary))
        for operand in command.operands {
            page.macro("TP")
            page.fill(marked: Roff.italic(operand.name))
            page.fill(operand.help)
        }
        for option in command.options where !isCommon(option) { describe(option, in: &page) }
        for paragraph in command.notes.split(separator: "\n\n") {
            let lines = paragraph.split(separator: "\n").map(String.init)
            let words = lines.prefix { !$0.hasPrefix("  ") }
            page.macro("PP")
            page.fill(words.joined(separator: " "))
            // Indented lines are a list, and stay one.
            if words.count < lines.count { page.code(Array(lines[words.count...])) }
        }
        if !command.examples.isEmpty { page.code(command.examples) }
    }

    private func synopsis(of command: Command) -> String {
        var line = Roff.bold("\(program) \(command.name)")
        for operand in command.operands {
            let name = Roff.italic(operand.name)
            switch operand.count {
            case .one: line += " " + name
            case .optional: line += " [\(name)]"
            case .many: line += " \(name)..."
            }
        }
        for option in command.options { line += " [\(Self.term(of: option))]" }
        return line
    }

    private func describe(_ option: Command.Option, in page: inout Roff) {
        page.macro("TP")
        page.fill(marked: Self.term(of: option))
        page.fill(option.help)
    }

    private static func term(of option: Command.Option) -> String {
        Roff.bold(option.name) + (option.value.map { " " + Roff.italic($0) } ?? "")
    }

    private func set(_ parts: [Manual.Part], in page: inout Roff) {
        var isFirst = true
        for part in parts {
            switch part {
            case .text(let words):
                // man(7): a heading begins a paragraph by itself.
                if !isFirst { page.macro("PP") }
                page.fill(words)
            case .entry(let term, let words):
                page.macro("TP")
                page.fill(marked: Roff.bold(term))
                page.fill(words)
            case .code(let lines): page.code(lines)
            }
            isFirst = false
        }
    }

    private func seeAlso(in page: inout Roff) {
        guard !manual.seeAlso.isEmpty else { return }
        page.macro("SH", "SEE ALSO")
        let names = manual.seeAlso.map { name in
            let parts = name.split(separator: "(", maxSplits: 1)
            guard parts.count == 2 else { return Roff.escaped(name) }
            return Roff.bold(String(parts[0])) + "(" + parts[1]
        }
        page.fill(marked: names.joined(separator: ", "))
    }

    /// Help is lower case without a full stop; a manual is prose.
    static func sentence(_ help: String) -> String {
        help.prefix(1).uppercased() + help.dropFirst() + (help.hasSuffix(".") ? "" : ".")
    }
}

extension Command.Option {
    fileprivate func isSame(as other: Command.Option) -> Bool {
        name == other.name && value == other.value && help == other.help
    }
}
