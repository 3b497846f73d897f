import Testing

@Suite("The documents of Policy quote tests that exist")
struct ThreatTests {
    /// What a line quotes: `- "name of a test" (Folder)`.
    private struct Quote: Hashable {
        let name: String
        let folder: String

        init?(_ line: String) {
            guard let match = line.wholeMatch(of: /- "(.+)" \((\w+)\)/) else { return nil }
            name = String(match.1)
            folder = String(match.2)
        }

        init(name: String, folder: String) {
            self.name = name
            self.folder = folder
        }
    }

    /// Every display name of a test or suite, with its folder below Tests.
    private static func names(in tree: SourceTree) -> Set<Quote> {
        var names: Set<Quote> = []
        for file in tree.files where file.path.hasSuffix("Tests.swift") {
            let parts = file.path.split(separator: "/")
            guard parts.count > 2, parts[0] == "Tests" else { continue }
            let text = file.lines.joined(separator: "\n")
            for match in text.matches(of: /@(?:Test|Suite)\(\s*"((?:[^"\\]|\\.)*)"/) {
                names.insert(Quote(name: String(match.1), folder: String(parts[1])))
            }
        }
        return names
    }

    private static func missing(in lines: [String], of names: Set<Quote>) -> [String] {
        lines.filter { line in
            guard line.hasPrefix("- \"") else { return false }
            return Quote(line).map { !names.contains($0) } ?? true
        }
    }

    private func threats() throws -> (lines: [String], names: Set<Quote>) {
        let tree = try SourceTree.repository()
        let document = try #require(tree.files.first { $0.path == "Policy/THREATS.md" })
        return (document.lines, Self.names(in: tree))
    }

    @Test("every test that is quoted exists in the folder that is named")
    func quoted() throws {
        let (lines, names) = try threats()
        #expect(lines.count { Quote($0) != nil } > 60)
        #expect(Self.missing(in: lines, of: names) == [])
    }

    @Test("so does every one that PRIVACY.md and SECURITY.md quote")
    func others() throws {
        let tree = try SourceTree.repository()
        for (path, least) in [("Policy/PRIVACY.md", 40), ("Policy/SECURITY.md", 4)] {
            let document = try #require(tree.files.first { $0.path == path })
            #expect(document.lines.count { Quote($0) != nil } >= least)
            #expect(Self.missing(in: document.lines, of: Self.names(in: tree)) == [])
        }
    }

    @Test("every threat quotes a test")
    func complete() throws {
        let sections = try threats().lines.split { $0.hasPrefix("## ") }.dropFirst()
        #expect(sections.count > 15)
        for section in sections {
            #expect(section.contains { Quote($0) != nil }, "\(section.first { $0 != "" } ?? "")")
        }
    }

    @Test("a planted quote of a test that does not exist is found")
    func planted() throws {
        let (_, names) = try threats()
        let lines = [
            #"- "no such test" (TidyTests)"#, #"- "no line is longer than 100 columns" (Nowhere)"#,
            #"- "no line is longer than 100 columns""#,
            #"- "no line is longer than 100 columns" (TidyTests)"#, "- *Not tested:* anything",
        ]
        #expect(Self.missing(in: lines, of: names) == Array(lines.prefix(3)))
    }
}
