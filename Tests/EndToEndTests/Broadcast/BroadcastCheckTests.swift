import Foundation
import TestSupport
import Testing

/// What keeps a gateway from working is told before the first broadcast.
@Suite(
    "What check and serve say of [apns]", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastCheckTests {
    /// A directory as `reveille init` leaves it, with a section `[apns]`.
    private func installation(_ section: String) async throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let made = try await RunningProgram.run("reveille", ["init", directory.path + "/service"])
        #expect(made.status == 0)
        let path = directory.path + "/service/reveille.conf"
        var text = try String(contentsOfFile: path, encoding: .utf8)
        text = text.replacing("127.0.0.1:8080", with: "127.0.0.1:0") + section
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return directory
    }

    private func run(
        _ word: String, _ directory: TemporaryDirectory
    ) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            "reveille", [word, "--config", directory.path + "/service/reveille.conf"])
    }

    private func section(key: String, topic: String = "org.example.app") -> String {
        """
        [apns]
        key = \(key)
        key-id = ABC123DEFG
        team-id = TEAM123456
        topic = \(topic)

        """
    }

    @Test("without the section APNs is off, and that is no fault")
    func off() async throws {
        let (status, output) = try await run("check", installation(""))
        #expect(status == 0)
        #expect(
            output.contains(
                """
                apns            off: no section [apns]; its push tokens are refused
                apns-sandbox    off: no section [apns]; its push tokens are refused
                fcm             off: no section [fcm]; its push tokens are refused

                """))
    }

    @Test("with a proper section it is on, and nothing of the key is shown")
    func on() async throws {
        let pair = try SigningKeyPair()
        let directory = try await installation(section(key: pair.privatePath))
        let (status, output) = try await run("check", directory)
        #expect(status == 0, "\(output)")
        #expect(output.contains("apns            on, topic org.example.app, connections 1\n"))
        #expect(output.contains("apns-sandbox    on, topic org.example.app, connections 1\n"))
        let pem = String(decoding: try pair.privatePEM, as: UTF8.self)
        for line in pem.split(separator: "\n") { #expect(!output.contains(line)) }
        // To look is not to mint.
        #expect(
            !FileManager.default.fileExists(atPath: directory.path + "/service/data/apns-token"))
    }

    /// Makes a key file that cannot be used; returns its path.
    typealias Spoil = @Sendable (_ pair: SigningKeyPair) throws -> String

    static let mistakes: [(name: String, words: String, spoil: Spoil)] = [
        (
            "missing",
            "[apns] key: cannot read the file: ",
            { $0.directory.path + "/none.p8" }
        ),
        (
            "readable by others",
            "[apns] key: the file can be read by others, or is not this user's",
            { pair in
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o644], ofItemAtPath: pair.privatePath)
                return pair.privatePath
            }
        ),
        (
            "of another curve", "[apns] key: ",
            { pair in
                let path = pair.directory.path + "/other.p8"
                try OpenSSLCommand.run([
                    "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out",
                    path,
                ])
                return path
            }
        ),
        (
            "no key at all", "[apns] key: ",
            { pair in
                let path = pair.directory.path + "/text.p8"
                try Data("planted-text-in-the-key-file".utf8).write(to: URL(filePath: path))
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: path)
                return path
            }
        ),
        (
            "the public half", "[apns] key: ",
            { pair in
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: pair.publicPath)
                return pair.publicPath
            }
        ),
    ]

    @Test(
        "a key file that cannot be used is a problem, and serve refuses with the same words",
        arguments: mistakes.indices)
    func keyFile(_ index: Int) async throws {
        let mistake = Self.mistakes[index]
        let pair = try SigningKeyPair()
        let directory = try await installation(section(key: try mistake.spoil(pair)))
        let check = try await run("check", directory)
        #expect(check.status == 78, "\(mistake.name)")
        let marked = check.output.split(separator: "\n").filter { $0.contains("problem: ") }
        try #require(marked.count == 1, "\(check.output)")
        let problem = try #require(marked[0].split(separator: "problem: ").last)
        #expect(problem.hasPrefix(mistake.words), "\(problem)")
        #expect(problem.contains("; hint: "))

        let serve = try await run("serve", directory)
        #expect(serve.status == 78)
        let said = serve.output.split(separator: "\n").joined(separator: "; ")
        #expect(said == "reveille: \(problem)")
        for output in [check.output, serve.output] {
            #expect(!output.contains("planted") && !output.contains("PRIVATE"))
        }
    }

    @Test("a section that cannot be right is refused by its line, by check and serve alike")
    func badSection() async throws {
        let pair = try SigningKeyPair()
        let text = section(key: pair.privatePath).replacing("team-id", with: "teamid")
        let directory = try await installation(text)
        let path = directory.path + "/service/reveille.conf"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let line = try #require(lines.firstIndex { $0.hasPrefix("teamid = ") }) + 1
        for word in ["check", "serve"] {
            let (status, output) = try await run(word, directory)
            #expect(status == 78)
            #expect(
                output.contains(
                    "line \(line): unknown key teamid in [apns]; did you mean team-id?"))
        }
    }

    @Test("a topic that is none is named, with what it should be")
    func badTopic() async throws {
        let pair = try SigningKeyPair()
        let directory = try await installation(
            section(key: pair.privatePath, topic: "not a topic"))
        let (status, output) = try await run("serve", directory)
        #expect(status == 78)
        #expect(output.contains("[apns] topic is not a bundle identifier\nhint: use the app's"))
    }
}
