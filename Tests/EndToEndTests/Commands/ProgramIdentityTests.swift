import Foundation
import TestSupport
import Testing

@Suite("Which program runs, and whether two are the same", .timeLimit(.minutes(5)))
struct ProgramIdentityTests {
    private let reveille = RunningProgram.folder.appending(path: "reveille").path

    private func sum(_ path: String) async throws -> String {
        let sum = try await RunningProgram.run(path: "/usr/bin/sha256sum", [path])
        return String(sum.output.prefix(64))
    }

    /// The field, once the program has read itself.
    private func field(_ service: ServiceUnderTest) async throws -> String {
        while true {
            let answer = try service.send("GET", "/v1/policy")
            let field = try #require(answer["Reveille-Program"])
            if field.contains("sha256=") { return field }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test(
        "the program that runs tells version, commit and SHA-256, and a file is compared with them"
    )
    func told() async throws {
        let service = try await ServiceUnderTest()
        let (hash, field) = (try await sum(reveille), try await field(service))
        #expect(field.contains("sha256=\"\(hash)\"") && field.hasPrefix("version=\"0."), "\(field)")
        let policy = try service.send("GET", "/v1/policy")
        #expect(policy.body == Array(try Repository.text("Policy/privacy.json").utf8))
        let page = try service.send("GET", "/").text
        #expect(page.contains("The program says of itself") && page.contains(hash))
        // Tests are built by no commit: nobody could build this program again, and it says so.
        #expect(!field.contains("commit=") && page.contains("does not know which sources"))

        let same = try await service.command("audit", "--program", reveille)
        #expect(same.status == 0 && same.output.contains("the same program"), "\(same.output)")
        let link = service.directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: reveille)
        #expect(try await service.command("audit", "--program", link).status == 0)
        let other = try await service.command("audit", "--program", "/bin/true", "--json")
        #expect(other.status == 3, "\(other.output)")
        #expect(other.output.contains(#""same":false"#) && other.output.contains(hash))

        let missing = try await service.command("audit", "--program", link + "s")
        #expect(missing.status == 4, "\(missing.output)")
        #expect(try await service.command("audit", "--program", "/").status == 4)
        #expect(try await service.command("audit").status == 2)
        #expect(try await service.command("audit", "x", "--program", reveille).status == 2)
        #expect(await service.stop() == 0)
        #expect(try await service.command("audit", "--program", reveille).status == 75)
    }

    @Test(
        "differing sections are named, and whether they hold instructions",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/objcopy"), "needs binutils"))
    func compared() async throws {
        let directory = try TemporaryDirectory()
        func file(_ name: String) -> String { directory.path + "/" + name }
        func program(_ name: String, comment: String) async throws {
            try comment.write(toFile: file("comment"), atomically: true, encoding: .utf8)
            let made = try await RunningProgram.run(
                path: "/usr/bin/objcopy",
                [
                    "--remove-section", ".comment", "--add-section", ".comment=\(file("comment"))",
                    "/bin/true", file(name),
                ])
            try #require(made.status == 0, "\(made.output)")
        }
        func compare(_ a: String, _ b: String) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                path: Repository.absolute("Deploy/reproduce"), ["--compare", file(a), file(b)])
        }
        try await program("a", comment: "compiler one")
        try await program("same", comment: "compiler one")
        try await program("other", comment: "compiler two")
        let same = try await compare("a", "same")
        #expect(same.status == 0 && same.output.contains("the same"), "\(same.output)")
        #expect(same.output.contains(try await sum(file("a"))))
        let comment = try await compare("a", "other")
        #expect(comment.status == 3 && comment.output.contains(".comment"), "\(comment.output)")
        #expect(comment.output.contains("the names of the compilers"))
        #expect(!comment.output.contains("instructions") && !comment.output.contains(".text"))

        // One byte of the instructions.
        let headers = try await RunningProgram.run(
            path: "/usr/bin/readelf", ["--section-headers", "--wide", file("a")])
        let match = try #require(
            headers.output.firstMatch(of: #/ \.text +PROGBITS +[0-9a-f]+ ([0-9a-f]+) /#))
        var bytes = try Data(contentsOf: URL(filePath: file("a")))
        bytes[try #require(Int(match.1, radix: 16)) + 100] ^= 1
        try bytes.write(to: URL(filePath: file("changed")))
        let changed = try await compare("a", "changed")
        #expect(changed.status == 4 && changed.output.contains(".text"), "\(changed.output)")
        #expect(changed.output.contains("instructions") && !changed.output.contains(".comment"))
        // One that is longer, and one that is no program.
        try await program("longer", comment: "a compiler with a longer name")
        #expect(try await compare("a", "longer").status == 3)
        #expect(try await compare("a", "comment").status == 4)
    }
}
