import Testing

@Suite("The repository keeps its own rules")
struct TidyTests {
    @Test("the core does without Foundation")
    func imports() throws {
        #expect(TidyRules.foundationImports(in: try .repository()).isEmpty)
    }

    @Test("the reader of a feed needs nothing that iOS 15 lacks")
    func portability() throws {
        #expect(TidyRules.unportable(in: try .repository()) == [])
        let lines = [
            "import WakeBytes", "private import Gl" + "ibc", "// an Inline" + "Array",
            "let a: Inline" + "Array<8, UInt8>", "let b = c.sp" + "an",
        ]
        let tree = SourceTree(files: [
            .init(path: "Sources/WakeFeed/X.swift", lines: lines),
            .init(path: "Sources/ReveillePhone/X.swift", lines: Array(lines.dropFirst(2))),
            .init(path: "Sources/WakeModel/X.swift", lines: lines),
        ])
        let found = TidyRules.unportable(in: tree).map { $0.split(separator: " ")[0] }
        #expect(
            found == [
                "Sources/WakeFeed/X.swift:2:", "Sources/WakeFeed/X.swift:4:",
                "Sources/ReveillePhone/X.swift:3:",
            ])
    }

    @Test("no file is longer than 400 lines")
    func length() throws {
        #expect(TidyRules.longFiles(in: try .repository()).isEmpty)
    }

    @Test("no line is longer than 100 columns")
    func width() throws {
        #expect(TidyRules.longLines(in: try .repository()).isEmpty)
        let tree = SourceTree(files: [
            .init(path: "Sources/A/X.swift", lines: [String(repeating: "x", count: 101)])
        ])
        #expect(TidyRules.longLines(in: tree) == ["Sources/A/X.swift:1: 101 columns"])
    }

    @Test("no forbidden word occurs")
    func words() throws {
        #expect(TidyRules.forbiddenWords(in: try .repository()).isEmpty)
        #expect(TidyRules.foreignWords(in: try .repository()).isEmpty)
    }

    @Test("unsafe code stays in the listed files")
    func unsafeCode() throws {
        let found = TidyRules.unsafeOutsideTheList(
            in: try .repository(), listed: Set(UnsafeFiles.list))
        #expect(found.isEmpty)
    }

    @Test("a planted import is found")
    func plantedImport() {
        let tree = SourceTree(files: [
            .init(path: "Sources/WakeHTTP/X.swift", lines: ["private import Foundation"])
        ])
        #expect(
            TidyRules.foundationImports(in: tree)
                == ["Sources/WakeHTTP/X.swift: imports Foundation"])
    }

    @Test("a planted file of 401 lines is found, one of 400 is not")
    func plantedLength() {
        let tree = SourceTree(files: [
            .init(path: "Sources/A/Long.swift", lines: Array(repeating: "x", count: 401)),
            .init(path: "Sources/A/Fits.swift", lines: Array(repeating: "x", count: 400)),
        ])
        #expect(TidyRules.longFiles(in: tree) == ["Sources/A/Long.swift: 401 lines"])
    }

    @Test("every planted forbidden word is found", arguments: TidyRules.forbidden)
    func plantedWord(_ word: String) {
        let tree = SourceTree(files: [
            .init(path: "Sources/WakeHTTP/X.swift", lines: ["let a = 1", "let b = \(word) c"])
        ])
        #expect(TidyRules.forbiddenWords(in: tree) == ["Sources/WakeHTTP/X.swift:2: \(word)"])
    }

    @Test("a planted unsafe expression is found")
    func plantedUnsafe() {
        let tree = SourceTree(files: [
            .init(path: "Sources/WakeHTTP/X.swift", lines: ["let a = unsafe b()"]),
            .init(path: "Sources/WakeHTTP/Y.swift", lines: ["// says unsafe in a comment"]),
        ])
        #expect(TidyRules.unsafeOutsideTheList(in: tree, listed: []).count == 1)
    }
}
