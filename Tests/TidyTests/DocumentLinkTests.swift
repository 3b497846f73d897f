import Foundation
import TestSupport
import Testing

@Suite("Links and paths in documents")
struct DocumentLinkTests {
    /// Every document, relative to the repository.
    private static func documents() throws -> [String] {
        let folders = ["Sources", "Tests", "Deploy", "Policy"]
        return ["README.md"]
            + (try folders.flatMap { try Repository.paths(in: $0, ending: ".md") })
    }

    /// Where the relative links of a document lead, relative to the repository.
    static func links(in text: String, of document: String) -> [String] {
        let folder = document.split(separator: "/").dropLast().joined(separator: "/")
        let prose = text.replacing(/(?s)```.*?```/, with: "")
        return prose.matches(of: /\]\(([^)\s]+)\)/).compactMap { match in
            let target = match.1.prefix { $0 != "#" }
            guard !target.isEmpty, !target.contains("://") else { return nil }
            return normal(folder.isEmpty ? String(target) : folder + "/" + target)
        }
    }

    private static func normal(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == "..", let last = parts.last, last != ".." {
                parts.removeLast()
            } else {
                parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }

    @Test("every link of every document leads to a file of the repository")
    func repository() throws {
        var count = 0
        for document in try Self.documents() {
            for link in Self.links(in: try Repository.text(document), of: document) {
                count += 1
                let isThere = FileManager.default.fileExists(atPath: Repository.absolute(link))
                #expect(isThere, "\(document): \(link)")
            }
        }
        #expect(count > 60)
        #expect(Self.links(in: "[a](../b.md#c) [d](https://e/)", of: "F/g.md") == ["b.md"])
    }

    @Test("every link of a document in the package leads to a file of the package")
    func package() throws {
        let script = try Repository.text("Deploy/package")
        let list = try #require(script.firstMatch(of: /documents=\(([^)]*)\)/)?.1)
        let packed = list.split { $0.isWhitespace }.map(String.init)
        #expect(
            packed.contains("README.md") && script.contains(#"cp -R --parents "${documents[@]}""#))
        func isPacked(_ path: String) -> Bool {
            packed.contains { path == $0 || path.hasPrefix($0 + "/") || $0.hasPrefix(path + "/") }
        }
        for path in packed {
            #expect(FileManager.default.fileExists(atPath: Repository.absolute(path)), "\(path)")
        }
        for document in try Self.documents() where isPacked(document) {
            let dead = Self.links(in: try Repository.text(document), of: document)
                .filter { !isPacked($0) }
            #expect(dead == [], "\(document)")
        }
        #expect(!isPacked("Tests/check"))
    }

    @Test("every path that a document, a unit or a script names is there")
    func paths() throws {
        let scripts = try Repository.paths(in: "Deploy", ending: "").filter { path in
            FileManager.default.isReadableFile(atPath: Repository.absolute(path))
        }
        var count = 0
        for file in try Self.documents() + scripts {
            guard let text = try? Repository.text(file) else { continue }
            let isDocument = file.hasSuffix(".md")
            // In prose between back-quotes or in a table; elsewhere in comments.
            for line in text.split(separator: "\n") where isDocument || line.hasPrefix("#") {
                let pattern = /(?:^|[ `(])((?:Deploy|Policy|Sources|Tests)\/[\w@.+\/-]*\w)/
                for match in line.matches(of: pattern) {
                    count += 1
                    let path = String(match.1)
                    let isThere = FileManager.default.fileExists(atPath: Repository.absolute(path))
                    #expect(isThere, "\(file): \(path)")
                }
            }
        }
        #expect(count > 100, "\(count)")
    }

    @Test("an address of a feed has the path under which the fronts serve it")
    func feeds() throws {
        var count = 0
        for document in try Self.documents() {
            let text = try Repository.text(document)
            for match in text.matches(of: /https:\/\/feed\.example\.org([\w\/]*)/) {
                count += 1
                #expect(match.1.hasPrefix("/feed"), "\(document): \(match.0)")
            }
        }
        #expect(count > 5)
    }
}
