import WakeCommand
import WakeModel
import WakeServer

/// reveille.conf(5), made of the keys that the parser knows.
enum ConfigurationManual {
    static let page = Manual.Page(
        "reveille.conf", section: 5, "the configuration of reveille(8)",
        sections: [
            "DESCRIPTION": description, "KEYS": keys,
            "EXAMPLE": [
                .text("The file that `reveille init` writes, without its explanations:"),
                .code(example),
            ],
        ], seeAlso: ["reveille(8)"])

    private static let example = Configuration.template(hasVAPIDKey: true)
        .split(separator: "\n", omittingEmptySubsequences: false)
        .filter { $0.isEmpty || $0.contains("[") || $0.contains(" = ") }
        .map { line in
            line.firstRange(of: "  ").map { String(line[..<$0.lowerBound]) } ?? String(line)
        }

    private static let description: [Manual.Part] = [
        .text(
            "Lines of `key = value` below a `[section]`. Text after `#` at the start of a line, "
                + "or behind white space, is a comment, and so is a line that begins with `;`. A "
                + "key may be missing; one that is unknown, set twice or of another form is an "
                + "error with its line, and nothing of the file is taken. Relative paths "
                + "begin at the directory of the file."),
        .text(
            "The file is that of `--config`, of the variable REVEILLE_CONFIG, or the first of "
                + ConfigurationFile.candidates.joined(separator: ", ") + "."),
        .text(
            "`reveille reload` or SIGHUP has a running service read the file again. Keys that are "
                + "marked \"restart\" keep their values until the next start."),
        .text(
            "A push service is on when its section is there. With `via` the section has `via-key`, "
                + "`via-per-minute`, `ca` and, of [apns], `environments` alone."),
    ]

    /// By section, in the order of the table.
    private static let keys: [Manual.Part] = {
        var parts: [Manual.Part] = []
        var section: Substring = ""
        for key in ConfigurationParser.all {
            let names = key.words.name.split(separator: ".")
            if section != names[0] {
                section = names[0]
                parts.append(.text("`[\(section)]`"))
            }
            let usual = key.words.usual.map { " Default: `\($0)`." } ?? ""
            let restart = key.isReloaded ? "" : " (restart)"
            parts.append(
                .entry(
                    String(names[1]),
                    "\(key.words.meaning) Takes \(key.words.takes).\(usual)\(restart)"))
        }
        return parts
    }()
}
