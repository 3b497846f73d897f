import Testing

/// The words that Reveille's documents and shown texts do without: the role (client, operator,
/// publisher) stands in place of a pronoun, and a noun in place of a clause as subject.
@Suite("Documents and shown texts are in plain English")
struct PlainEnglishTests {
    /// What a reader of `text` stumbles over, one entry a place, with its line.
    static func found(in file: SourceTree.File) -> [String] {
        let isSwift = file.path.hasSuffix(".swift")
        let text = file.lines.map { line -> String in
            // Quoted names of tests are what they are, and comments of sources are not shown.
            let isQuote = line.hasPrefix("- \"") || line.hasPrefix("words=(USER=")
            let isComment = isSwift && line.drop { $0 == " " }.hasPrefix("//")
            if isQuote || isComment { return "" }
            return String(line.drop { $0 == " " || ($0 == "#" && !file.path.hasSuffix(".md")) })
        }.joined(separator: "\n")
        let words =
            #/
            (?i)\b(?:somebody|nobody|everybody|anybody|whoever|anew|goes\s+on|is\s+none\s+of
            |(?:is|are)\s+told)\b
            /#
        let subjects = /(?:^|[.:;!?] |\| |\*\*|"|- )(?:Who|What|Those)\b/.anchorsMatchLineEndings()
        return (text.matches(of: words) + text.matches(of: subjects))
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
            .map { match in
                let number = text[..<match.range.lowerBound].count { $0 == "\n" } + 1
                return "\(file.path):\(number): \(match.output)"
            }
    }

    /// Documents, what the page and the policy say, what commands and manuals print, and the
    /// comments of the files that an operator copies.
    private static func isShown(_ path: String) -> Bool {
        if path.hasSuffix(".md") {
            return !path.hasPrefix("Tests/") || path.hasPrefix("Tests/Examples/")
        }
        if path.hasSuffix(".json") {
            return path == "Policy/privacy.json" || path.hasPrefix("Sources/WakeServer/Resources/")
        }
        return path.hasPrefix("Deploy/")
            || ["reveille-service", "reveille-client", "WakeCommand"].contains {
                path.hasPrefix("Sources/\($0)/")
            }
    }

    @Test("no document and no shown text has a word of the list")
    func repository() throws {
        let shown = try SourceTree.repository().files.filter { Self.isShown($0.path) }
        #expect(shown.count > 80)
        #expect(shown.flatMap(Self.found) == [])
    }

    @Test(
        "a planted one is found, also across lines",
        arguments: [
            "so that nobody sees it", "Whoever asks", "the client is\ntold", "a round goes\non",
            "the key is none of them", "It ends. What is left expires.", "| a | Who asks |",
            "**What is left.** A row", "  Those of Google", "written anew",
        ])
    func planted(text: String) {
        let lines = ("One line.\n" + text).split(separator: "\n").map(String.init)
        let found = Self.found(in: .init(path: "Deploy/X.md", lines: lines))
        #expect(found.count == 1 && found[0].hasPrefix("Deploy/X.md:2: "))
    }

    @Test("a quoted test, a comment of a source and the words inside a sentence are not")
    func allowed() {
        let document = [
            "- \"nobody is missed\" (EndToEndTests)", "a list of Those", "it is toldless",
        ]
        #expect(Self.found(in: .init(path: "Policy/X.md", lines: document)) == [])
        let source = ["    /// Whoever asks: nobody.", "let a = 1"]
        #expect(Self.found(in: .init(path: "Sources/WakeCommand/X.swift", lines: source)) == [])
    }
}
