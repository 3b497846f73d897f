import Testing

@Suite("The tree is a map")
struct StructureTests {
    @Test("no folder of sources holds more than 16 files")
    func folders() throws {
        #expect(StructureRules.crowdedFolders(in: try .repository()) == [])
    }

    @Test("no type name exists twice")
    func names() throws {
        #expect(StructureRules.repeatedTypes(in: try .repository()) == [])
    }

    @Test("a file under 40 lines has a reason")
    func smallFiles() throws {
        let tree = try SourceTree.repository()
        #expect(StructureRules.smallFiles(in: tree, reasons: Exceptions.smallFiles) == [])
        let paths = Set(StructureRules.sources(of: tree).map(\.path))
        #expect(Exceptions.smallFiles.keys.filter { !paths.contains($0) } == [])
    }

    @Test("no stored property is written from another file, listed types apart")
    func foreignWrites() throws {
        let found = StructureRules.foreignWrites(
            in: try .repository(), reasons: Exceptions.writtenFromOutside)
        #expect(found == [])
    }

    @Test("planted faults of structure are found")
    func planted() {
        let many = (0...16).map {
            SourceTree.File(path: "Sources/A/F\($0).swift", lines: ["struct T\($0) {}"])
        }
        #expect(
            StructureRules.crowdedFolders(in: SourceTree(files: many)) == ["Sources/A: 17 files"])
        let tree = SourceTree(files: [
            .init(
                path: "Sources/A/One.swift",
                lines: ["package final class One {", "    var state = 0", "    let x: Int", "}"]),
            .init(
                path: "Sources/A/One+More.swift",
                lines: ["extension One {", "    func f() {", "        state = 1", "    }", "}"]),
            .init(
                path: "Sources/A/Two.swift",
                lines: [
                    "struct One {", "    func g(one: One) {", "        one.state += 2", "    }",
                    "}",
                ]),
        ])
        #expect(
            StructureRules.repeatedTypes(in: tree)
                == ["One: Sources/A/One.swift, Sources/A/Two.swift"])
        #expect(
            StructureRules.foreignWrites(in: tree, reasons: [:]) == [
                "Sources/A/One+More.swift:3: writes One.state",
                "Sources/A/Two.swift:3: writes One.state",
            ])
        #expect(StructureRules.foreignWrites(in: tree, reasons: ["One": "a test"]) == [])
        #expect(
            StructureRules.smallFiles(in: tree, reasons: ["Sources/A/Two.swift": "a test"])
                == ["Sources/A/One.swift: 4 lines", "Sources/A/One+More.swift: 5 lines"])
    }
}
