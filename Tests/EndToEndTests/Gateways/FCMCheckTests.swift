import Foundation
import TestSupport
import Testing

/// What keeps a gateway of FCM from working is told before the first broadcast.
@Suite(
    "What check and serve say of [fcm]", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMCheckTests {
    /// The path of the configuration that `reveille init` leaves, with a section `[fcm]`.
    private func installation(_ section: String) async throws -> (TemporaryDirectory, String) {
        let directory = try TemporaryDirectory()
        let made = try await RunningProgram.run("reveille", ["init", directory.path + "/service"])
        #expect(made.status == 0)
        let path = directory.path + "/service/reveille.conf"
        var text = try String(contentsOfFile: path, encoding: .utf8)
        text = text.replacing("127.0.0.1:8080", with: "127.0.0.1:0") + "\n[fcm]\n" + section
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return (directory, path)
    }

    @Test("with a proper section it is on, and nothing of the account is shown")
    func on() async throws {
        let account = try ServiceAccountFile()
        let (directory, path) = try await installation("key = \(account.file)\n")
        let (status, output) = try await RunningProgram.run(
            "reveille", ["check", "--config", path])
        #expect(status == 0, "\(output)")
        #expect(
            output.contains("fcm             on, at most 600000 a minute, connections 10\n"),
            "\(output)")
        #expect(output.contains("apns            off: no section [apns]; its push tokens are re"))
        let text = try String(contentsOfFile: account.file, encoding: .utf8)
        for line in text.split(separator: "\"") where line.utf8.count > 12 {
            #expect(!output.contains(line))
        }
        _ = directory
    }

    /// Makes a section that cannot be used.
    typealias Spoil = @Sendable (_ account: ServiceAccountFile) throws -> String

    static let mistakes: [(words: String, spoil: Spoil)] = [
        ("[fcm] key: cannot read the file: ", { "key = \($0.file).none" }),
        (
            "[fcm] key: the file can be read by others, or is not this user's",
            { account in
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o644], ofItemAtPath: account.file)
                return "key = \(account.file)"
            }
        ),
        (
            "[fcm] key: the file is not JSON as Google gives it out",
            { account in
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: account.privatePath)
                return "key = \(account.privatePath)"
            }
        ),
        (
            "[fcm] key: token_uri is missing or not an https address",
            { account in
                try account.write(tokenURI: "http://oauth2.googleapis.com/token")
                return "key = \(account.file)"
            }
        ),
        (
            "[fcm] key: token_uri is missing or not an https address",
            { account in
                try account.write(tokenURI: "ftp://127.0.0.1/planted")
                return "key = \(account.file)"
            }
        ),
        (
            "[fcm] ca: the file of ca cannot be read or holds no certificate",
            { "key = \($0.file)\nca = \($0.publicPath)" }
        ),
        (
            // Access tokens come by TLS all the same.
            "[fcm] ca: the file of ca cannot be read or holds no certificate",
            { "key = \($0.file)\nhost = 127.0.0.1\nplain = on\nca = /nonexistent" }
        ),
    ]

    @Test(
        "what cannot work is a problem, and serve refuses it with the same words",
        arguments: mistakes.indices)
    func mistake(_ index: Int) async throws {
        let account = try ServiceAccountFile()
        let section = try Self.mistakes[index].spoil(account)
        let (directory, path) = try await installation(section + "\n")
        let check = try await RunningProgram.run("reveille", ["check", "--config", path])
        #expect(check.status == 78)
        let marked = check.output.split(separator: "\n").filter { $0.contains("problem: ") }
        try #require(marked.count == 1, "\(check.output)")
        let problem = try #require(marked[0].split(separator: "problem: ").last)
        #expect(problem.hasPrefix(Self.mistakes[index].words), "\(problem)")
        #expect(problem.contains("; hint: "))
        let serve = try await RunningProgram.run("reveille", ["serve", "--config", path])
        #expect(serve.status == 78)
        let said = serve.output.split(separator: "\n").joined(separator: "; ")
        #expect(said == "reveille: \(problem)")
        #expect(!(check.output + serve.output).contains("planted"))
        _ = directory
    }

    @Test(
        "a library that is missing is named with its package",
        arguments: [
            (["libcurl.so.4", "libcurl-gnutls.so.4"], "libcurl4"), (["libcrypto.so.3"], "libssl3"),
        ])
    func libraries(_ names: [String], _ package: String) async throws {
        let account = try ServiceAccountFile()
        let (directory, path) = try await installation("key = \(account.file)\n")
        for name in names {
            // ld.so(8): a file that is no library ends the search, as if there were none.
            try "no library".write(
                toFile: directory.path + "/" + name, atomically: true, encoding: .utf8)
        }
        let (status, output) = try await RunningProgram.run(
            "reveille", ["check", "--config", path],
            environment: ["LD_LIBRARY_PATH": directory.path])
        #expect(status == 78)
        #expect(output.contains("problem: [fcm] "), "\(output)")
        #expect(output.contains("apt-get install \(package)"), "\(output)")
        // The same section works once it is there.
        #expect(
            try await RunningProgram.run("reveille", ["check", "--config", path]).status == 0)
    }

    @Test("two sections that cannot work are two problems")
    func both() async throws {
        let (directory, path) = try await installation(
            """
            key = /nonexistent
            [apns]
            key = /nonexistent
            key-id = ABC123DEFG
            team-id = TEAM123456
            topic = org.example.app

            """)
        let (status, output) = try await RunningProgram.run(
            "reveille", ["check", "--config", path])
        #expect(status == 78)
        #expect(output.contains("problem: [apns] key: ") && output.contains("problem: [fcm] key: "))
        _ = directory
    }
}
