import Testing

@Suite("Policy/ARCHITECTURE.md tells what is there")
struct ArchitectureTests {
    @Test("every file and module that is named exists, on two pages")
    func named() throws {
        let tree = try SourceTree.repository()
        let document = try #require(tree.files.first { $0.path == "Policy/ARCHITECTURE.md" })
        #expect(document.lineCount <= 120)
        let paths = Set(tree.files.map(\.path))
        let words = document.lines.flatMap { $0.split(separator: "`").map(String.init) }
        let files = Set(words.filter { $0.hasSuffix(".swift") && $0.contains("/") })
        #expect(files.count > 30)
        #expect(files.filter { !paths.contains("Sources/" + $0) && !paths.contains($0) } == [])
        let modules = Set(words.filter { $0.hasPrefix("Wake") && !$0.contains("/") })
        #expect(
            modules.filter { name in
                !paths.contains {
                    $0.hasPrefix("Sources/\(name)/") || $0.hasSuffix("/\(name).swift")
                }
            } == [])
    }
}
