private import WakeModel

/// The parts of a manual page that are not made from the table of commands.
package struct Manual: Sendable {
    /// Words between backticks are set in bold.
    package enum Part: Sendable {
        case text(String)
        /// A term and its explanation.
        case entry(String, String)
        /// Lines that are kept as they are.
        case code([String])
    }

    /// Section of the system's manual: 1 for user commands, 8 for administration.
    let section: Int
    /// Date of the last change (ISO 8601).
    let date: String
    /// Beneath SYNOPSIS.
    let description: [Part]
    /// The exit statuses that this program knows.
    let statuses: [ExitStatus]
    /// Headings and the text under them, after EXIT STATUS.
    let sections: KeyValuePairs<String, [Part]>
    /// Other pages, such as `systemd.service(5)`.
    let seeAlso: [String]
    let pages: [Page]

    /// A page beside that of the program, such as reveille.conf(5).
    package struct Page: Sendable {
        let name: String
        let section: Int
        let summary: String
        let sections: KeyValuePairs<String, [Part]>
        let seeAlso: [String]

        package init(
            _ name: String, section: Int, _ summary: String,
            sections: KeyValuePairs<String, [Part]>, seeAlso: [String]
        ) {
            self.name = name
            self.section = section
            self.summary = summary
            self.sections = sections
            self.seeAlso = seeAlso
        }
    }

    package init(
        section: Int = 1, date: String = "1970-01-01", description: [Part] = [],
        statuses: [ExitStatus] = ExitStatus.allCases, sections: KeyValuePairs<String, [Part]> = [:],
        seeAlso: [String] = [], pages: [Page] = []
    ) {
        self.pages = pages
        self.section = section
        self.date = date
        self.description = description
        self.statuses = statuses
        self.sections = sections
        self.seeAlso = seeAlso
    }
}

extension CommandTable {
    /// The page for man(1), in the language of man(7).
    package func manualPage() -> String {
        var page = start("manual", program, section: manual.section, summary)
        page.macro("SH", "SYNOPSIS")
        page.fill(
            marked: "\(Roff.bold(program)) \(Roff.italic("COMMAND")) "
                + "[\(Roff.italic("OPTION"))...] [\(Roff.italic("WORD"))...]")
        page.macro("SH", "DESCRIPTION")
        set(manual.description, in: &page)
        page.macro("SH", "COMMANDS")
        for command in commands { describe(command, in: &page) }
        page.macro("SH", "COMMON OPTIONS")
        for option in commonOptions { page.entry(Self.term(of: option), option.help) }
        page.entry(
            "\(Roff.bold("--help")), \(Roff.bold("-h"))",
            "after a command its help; alone a list of the commands")
        page.entry("\(Roff.bold("--version")), \(Roff.bold("-V"))", "alone: the version")
        page.macro("SH", "EXIT STATUS")
        for status in manual.statuses {
            page.entry(Roff.bold("\(status.rawValue)"), status.meaning)
        }
        set(manual.sections, in: &page)
        page.macro("SH", "EXAMPLES")
        page.fill("First steps:")
        page.code(examples.flatMap(HelpText.command))
        set(seeAlso: manual.seeAlso, in: &page)
        return page.text
    }

    /// One of the other pages; nil when there is none of this name.
    package func manualPage(named name: String) -> String? {
        guard let other = manual.pages.first(where: { $0.name == name }) else { return nil }
        var page = start("manual \(name)", name, section: other.section, other.summary)
        set(other.sections, in: &page)
        set(seeAlso: other.seeAlso, in: &page)
        return page.text
    }

    private func start(_ words: String, _ name: String, section: Int, _ summary: String) -> Roff {
        var page = Roff()
        page.comment("Made by `\(program) \(words)`.")
        page.title(name, section: section, date: manual.date, version: Release.version)
        page.macro("SH", "NAME")
        page.fill("\(name) - \(summary)")
        return page
    }

    private func set(_ sections: KeyValuePairs<String, [Manual.Part]>, in page: inout Roff) {
        for (title, parts) in sections {
            page.macro("SH", title)
            set(parts, in: &page)
        }
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
        for operand in command.operands { page.entry(Roff.italic(operand.name), operand.help) }
        for option in command.options where !isCommon(option) {
            page.entry(Self.term(of: option), option.help)
        }
        for paragraph in HelpText.paragraphs(of: command.notes) {
            page.macro("PP")
            page.fill(paragraph.words)
            if !paragraph.list.isEmpty { page.code(paragraph.list) }
        }
        if !command.examples.isEmpty { page.code(command.examples.flatMap(HelpText.command)) }
    }

    private func synopsis(of command: Command) -> String {
        var line = Roff.bold("\(program) \(command.name)")
        for operand in command.operands { line += " " + operand.usage(Roff.italic(operand.name)) }
        for option in command.options {
            line += " [\(Self.term(of: option))]" + (option.repeats ? "..." : "")
        }
        return line
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
            case .entry(let term, let words): page.entry(Roff.bold(term), words)
            case .code(let lines): page.code(lines)
            }
            isFirst = false
        }
    }

    private func set(seeAlso: [String], in page: inout Roff) {
        guard !seeAlso.isEmpty else { return }
        page.macro("SH", "SEE ALSO")
        let names = seeAlso.map { name in
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
