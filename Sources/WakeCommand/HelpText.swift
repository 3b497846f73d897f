/// Help as a terminal of 80 columns shows it.
enum HelpText {
    private static let width = 80
    /// A longer name stands on a line of its own.
    private static let longestName = 28
    private static let longestCommand = 67

    /// Lines of two columns, indented; the second one is wrapped within itself.
    static func columns(_ rows: [(String, String)]) -> String {
        let names = rows.map(\.0.count)
        let column = 4 + (names.filter { $0 <= longestName }.max() ?? longestName)
        return rows.map { name, text in
            let gap = column - 2 - name.count
            let start = gap < 2 ? "\n" + spaces(column) : spaces(gap)
            return "  " + name + start + wrapped(text, indent: column)
        }.joined()
    }

    static func paragraph(_ words: String) -> String {
        words.isEmpty ? "" : wrapped(words, indent: 0)
    }

    /// Of notes: the words of each paragraph, and the indented lines after them, which stay a list.
    static func paragraphs(of notes: String) -> [(words: String, list: [String])] {
        notes.split(separator: "\n\n").map { paragraph in
            let lines = paragraph.split(separator: "\n").map(String.init)
            let words = lines.prefix { !$0.hasPrefix("  ") }
            return (words.joined(separator: " "), Array(lines[words.count...]))
        }
    }

    /// A command line, in several where one is too long for the manual, which indents it further.
    static func command(_ line: String) -> [String] {
        guard line.count > longestCommand else { return [line] }
        // An option and its value stay together.
        var words: [String] = []
        for word in line.split(separator: " ") {
            if let last = words.last, last.hasPrefix("--"), !word.hasPrefix("-") {
                words[words.count - 1] += " " + word
            } else {
                words.append(String(word))
            }
        }
        var lines: [String] = []
        for word in words {
            if let last = lines.last, last.count + word.count + 3 <= longestCommand {
                lines[lines.count - 1] += " " + word
            } else {
                if !lines.isEmpty { lines[lines.count - 1] += " \\" }
                lines.append((lines.isEmpty ? "" : "    ") + word)
            }
        }
        return lines
    }

    /// - Parameter indent: the column at which the first line begins already, and all others do.
    private static func wrapped(_ text: String, indent: Int) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if indent + last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n" + spaces(indent)) + "\n"
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
}
