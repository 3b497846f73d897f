import Testing

@Suite("Policy/ARCHITECTURE.md tells walks that are there")
struct ArchitectureTests {
    /// The most files that each walk may touch.
    private static let limits = [40, 55, 60]

    @Test("every file that is named exists, and the walks are short")
    func walks() throws {
        let tree = try SourceTree.repository()
        let document = try #require(tree.files.first { $0.path == "Policy/ARCHITECTURE.md" })
        #expect(document.lineCount <= 150)
        let paths = Set(tree.files.map(\.path))
        let named = Self.files(in: document.lines[...])
        #expect(named.filter { !paths.contains("Sources/" + $0) && !paths.contains($0) } == [])
        let sections = document.lines.split { $0.hasPrefix("## ") }
        let titles = document.lines.filter { $0.hasPrefix("## ") }
        #expect(titles.filter { $0.hasPrefix("## Walk") }.count == Self.limits.count)
        for (walk, limit) in zip(sections.suffix(Self.limits.count), Self.limits) {
            let files = Self.files(in: walk)
            #expect(files.count <= limit && files.count > 20, "\(files.count) of \(limit)")
        }
    }

    /// The Swift files between back-quotes.
    private static func files(in lines: ArraySlice<String>) -> Set<String> {
        Set(
            lines.flatMap { $0.split(separator: "`").map(String.init) }
                .filter { $0.hasSuffix(".swift") && $0.contains("/") })
    }
}
