import Foundation
import Reveille
import TestSupport
import Testing

@Suite("The embedding that README and the article show", .timeLimit(.minutes(5)))
struct EmbeddingTests {
    @Test("it is the same text in the program, in README and in the article")
    func sameText() throws {
        let code = try Repository.text("Tests/Examples/Embedding/Watch.swift")
        let block = "```swift\n\(code)```\n"
        #expect(try Repository.text("README.md").contains(block))
        #expect(try Repository.text("\(Documentation.article)/TheCycle.md").contains(block))
        let statements = code.split(separator: "\n").filter { line in
            let text = line.trimmingCharacters(in: .whitespaces)
            return !text.hasPrefix("//") && text != "}"
        }
        #expect(statements.count <= 13, "a dozen lines, and the import")
    }

    @Test("built as it stands, it tells of a match from the past and of one that wakes it")
    func tells() async throws {
        let service = try await ServiceUnderTest()
        let directory = try TemporaryDirectory()
        let secrets = SecretDirectory(stateDirectory: directory.path + "/state")
        let old = Array("a secret of this device, the first".utf8)
        let new = Array("a secret of this device, the second".utf8)
        try secrets.add(old.span, named: "old")
        try secrets.add(new.span, named: "new")
        try await publish(old, by: service)
        let program = RunningProgram.folder.appending(path: "example-embedding").path
        // Line by line, as on a terminal.
        let running = try RunningProgram(
            path: "/usr/bin/stdbuf",
            ["-oL", program, service.url + "/feed/", service.feedKey, service.url, directory.path])
        _ = try await running.line(containing: "this concerns you: old")
        try await publish(new, by: service)
        _ = try await running.line(containing: "this concerns you: new")
        running.signal(SIGTERM)
        _ = await running.exit()
        let told = running.output.split(separator: "\n").filter { $0.contains("concerns") }
        #expect(told.count == 2)
    }

    private func publish(_ secret: [UInt8], by service: ServiceUnderTest) async throws {
        let text = secret.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        let published = try await service.command(
            "feed", "publish", "-", "--secrets", "--then-broadcast",
            input: Array((text + "\n").utf8))
        guard published.status == 0 else { throw TestFailure(published.output) }
    }
}
