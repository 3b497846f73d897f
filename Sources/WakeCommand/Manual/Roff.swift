/// Text for man(7), with whatever roff(7) would take for its own escaped.
struct Roff {
    private(set) var text = ""
    private static let width = 76

    /// The first line of a page. A date must be plain digits and hyphens.
    mutating func title(_ program: String, section: Int, date: String, version: String) {
        text += ".TH \(Self.escaped(program.uppercased())) \(section) \(date) "
        text += "\"Reveille \(version)\" \"Reveille\"\n"
    }

    /// A request or macro on a line of its own; the arguments are text.
    mutating func macro(_ name: String, _ arguments: String...) {
        text += "." + name
        for argument in arguments {
            // roff(7): a quoted argument may hold spaces.
            text +=
                argument.contains(" ") || argument.isEmpty
                ? " \"\(Self.escaped(argument))\"" : " \(Self.escaped(argument))"
        }
        text += "\n"
    }

    mutating func comment(_ words: String) { text += ".\\\" \(words)\n" }

    /// Words to be filled; those between backticks in bold.
    mutating func fill(_ words: String) { fill(marked: Self.marked(words)) }

    /// Words that are escaped already, set in lines of bounded length.
    mutating func fill(marked words: String) {
        var line = ""
        for word in words.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > Self.width {
                text += Self.guarded(line) + "\n"
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        if !line.isEmpty { text += Self.guarded(line) + "\n" }
    }

    /// A tagged paragraph.
    /// - Parameter term: escaped already.
    mutating func entry(_ term: String, _ words: String) {
        macro("TP")
        fill(marked: term)
        fill(words)
    }

    /// Lines to be left as they are.
    mutating func code(_ lines: [String]) {
        macro("PP")
        macro("RS", "4")
        macro("nf")
        for line in lines { text += Self.guarded(Self.escaped(line)) + "\n" }
        macro("fi")
        macro("RE")
    }

    static func bold(_ words: String) -> String { "\\fB\(escaped(words))\\fR" }

    static func italic(_ words: String) -> String { "\\fI\(escaped(words))\\fR" }

    /// roff(7), "Escape sequences": a plain hyphen, quote or accent may be set as another sign.
    static func escaped(_ words: String) -> String {
        words.unicodeScalars.map { scalar in
            if let escape = escapes[scalar] { return escape }
            if scalar.isASCII { return String(scalar) }
            let code = String(scalar.value, radix: 16, uppercase: true)
            return "\\[u" + String(repeating: "0", count: max(0, 4 - code.count)) + code + "]"
        }.joined()
    }

    private static let escapes: [Unicode.Scalar: String] = [
        "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
        "\"": "\\(dq",
    ]

    /// Escaped, with what stands between backticks in bold. A single backtick is one.
    static func marked(_ words: String) -> String {
        let parts = words.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
        guard parts.count % 2 == 1 else { return escaped(words) }
        return parts.enumerated()
            .map { $0.offset % 2 == 0 ? escaped($0.element) : bold($0.element) }.joined()
    }

    /// roff(7): a dot or an apostrophe at the start of a line begins a request.
    private static func guarded(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}
