import TestSupport
import Testing

@Suite(
    "The documentation speaks of what there is", .timeLimit(.minutes(5)),
    .enabled(if: Documentation.tools != nil, "docc and swift-symbolgraph-extract are not here"))
struct DocumentationTests {
    @Test(
        "every symbol that an article links to is there, and every parameter is explained",
        arguments: Documentation.modules)
    func sound(_ module: String) async throws {
        let made = try await Documentation(of: module).converted()
        #expect(made.isSound, "\(made.output)")
    }

    @Test("every public name has a comment", arguments: Documentation.modules)
    func complete(_ module: String) async throws {
        let documentation = try await Documentation(of: module)
        #expect(documentation.undocumented.isEmpty)
        #expect(documentation.symbols.count > 10)
    }

    @Test(
        "a link to something that is not there, or not public, is found",
        arguments: ["ClientErrors", "ClientError/httpStatus(_:)", "Reveille/WakeClient/tell()"])
    func missing(_ link: String) async throws {
        let made = try await Documentation().converted { text in
            text.replacing("``ClientError/tls(_:)``", with: "``\(link)``")
        }
        #expect(!made.isSound)
        #expect(made.output.contains("doesn't exist"), "\(made.output)")
    }

    @Test("the table of errors has a row for every error, and no other")
    func errors() async throws {
        let cases = try await Documentation().symbols.filter {
            $0.path.count == 2 && $0.path[0] == "ClientError" && $0.kind == "swift.enum.case"
        }.map { $0.path[1] }
        let article = try Repository.text("\(Documentation.article)/TheCycle.md")
        let mark = "| ``ClientError/"
        let rows = article.split(separator: "\n").filter { $0.hasPrefix(mark) }
            .map { String($0.dropFirst(mark.count).prefix { $0 != "`" }) }
        #expect(cases.sorted() == rows.sorted())
        #expect(cases.count > 20)
    }
}
