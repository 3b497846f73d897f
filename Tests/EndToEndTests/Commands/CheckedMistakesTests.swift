import Foundation
import TestSupport
import Testing

/// What `check` finds before a broadcast does.
@Suite("Mistakes that check and serve find", .timeLimit(.minutes(5)))
struct CheckedMistakesTests {
    static let mistakes: [(apns: String, broadcast: String, words: String)] = [
        ("ca = /nonexistent/ca.pem", "", "[apns] ca: the file of ca cannot be read"),
        ("ca = reveille.conf", "", "[apns] ca: the file of ca cannot be read"),
        ("host = https://api.push.apple.com", "", "[apns] host has no proper value"),
        ("host = api.push.apple.com:443", "", "[apns] host has no proper value"),
        ("host = two words", "", "[apns] host has no proper value"),
        ("", "watch = https://feed.invalid/", "[broadcast] watch-key is not a feed's public key"),
    ]

    @Test(
        "what cannot work in a broadcast is said by check, and serve refuses it",
        arguments: mistakes.indices)
    func mistake(_ index: Int) async throws {
        let mistake = Self.mistakes[index]
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let pair = try SigningKeyPair()
        let path = root + "/reveille.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
            .replacing("[broadcast]\n", with: "[broadcast]\n\(mistake.broadcast)\n")
            .replacing("listen = 127.0.0.1:8080", with: "listen = 127.0.0.1:0")
        let section = """

            [apns]
            key = \(pair.privatePath)
            key-id = ABC123DEFG
            team-id = TEAM123456
            topic = org.example.app
            \(mistake.apns)

            """
        try (text + section).write(toFile: path, atomically: true, encoding: .utf8)
        for word in ["check", "serve"] {
            let (status, output) = try await RunningProgram.run(
                "reveille", [word, "--config", path])
            #expect(status == 78, "\(word): \(output)")
            #expect(output.contains(mistake.words), "\(word): \(output)")
            #expect(output.contains("hint: "), "\(word): \(output)")
        }
    }

    @Test("keys that may be swapped out are told by check")
    func swappable() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        // Root may lock memory whatever the limit is (mlock(2)).
        let drop = geteuid() == 0 ? "setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock" : ""
        let program = RunningProgram.folder.appending(path: "reveille").path
        let (status, output) = try await RunningProgram.run(
            path: "/bin/sh",
            [
                "-c",
                "ulimit -l 0; exec \(drop) '\(program)' check --config '\(root)/reveille.conf'",
            ])
        #expect(status == 0 && output.contains("may be swapped out"), "\(output)")
    }

    @Test("the configuration is found by REVEILLE_CONFIG, and --config goes before it")
    func configurationFile() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let path = root + "/reveille.conf"
        let found = try await RunningProgram.run(
            "reveille", ["feed", "fingerprint"], environment: ["REVEILLE_CONFIG": path])
        #expect(found.status == 0, "\(found.output)")
        let named = try await RunningProgram.run(
            "reveille", ["feed", "fingerprint", "--config", path],
            environment: ["REVEILLE_CONFIG": root + "/none.conf"])
        #expect(named.status == 0 && named.output == found.output, "\(named.output)")
        let missing = try await RunningProgram.run(
            "reveille", ["feed", "fingerprint"],
            environment: ["REVEILLE_CONFIG": root + "/none.conf"])
        #expect(missing.status == 78 && missing.output.contains("/none.conf"), "\(missing.output)")
    }
}
