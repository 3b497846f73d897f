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
        let section = pair.section(mistake.apns)
        try (text + section).write(toFile: path, atomically: true, encoding: .utf8)
        for word in ["check", "serve"] {
            let (status, output) = try await RunningProgram.run(
                "reveille", [word, "--config", path])
            #expect(status == 78, "\(word): \(output)")
            #expect(output.contains(mistake.words), "\(word): \(output)")
            #expect(output.contains("hint: "), "\(word): \(output)")
        }
    }

    /// What replaces what in the configuration of a first installation, and what check then says.
    private static let settings: [(from: String, to: String, status: Int32, words: String)] = [
        ("", "", 0, ", public key "), ("127.0.0.1:8080", "0.0.0.0:8080", 0, "in clear"),
        ("127.0.0.1:8080", "0.0.0.0:8080", 0, "feed and registrations have one origin"),
        ("127.0.0.1:8080", "unix:admin.sock", 78, "the address of [http] listen"),
        ("unix:admin.sock", "unix:/nonexistent/a", 0, "its directory is missing"),
        (
            "unix:admin.sock", "unix:/tmp/" + String(repeating: "a", count: 110), 78,
            "107 bytes at most"
        ),
        ("[http]", "\u{FEFF}[http]", 0, "127.0.0.1:8080"),
        ("[admin]", "[admim]", 78, "unknown section [admim]; did you mean [admin]?"),
        ("127.0.0.1:8080", "\"127.0.0.1:8080\"", 78, "unix:PATH, without quotes"),
        ("keys/feed.key", "keys/none.key", 78, "missing: bring it back from your copy"),
        ("keys/registration.key", "keys/none.key", 78, "missing: bring it back, or begin with"),
        ("keys/vapid.key", "keys/none.key", 78, "/service/keys/none.key"),
    ]

    @Test("listeners that cannot work or are unsafe are told by check", arguments: settings.indices)
    func setting(_ index: Int) async throws {
        let setting = Self.settings[index]
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let path = root + "/reveille.conf"
        var text = try String(contentsOfFile: path, encoding: .utf8)
        if setting.to.hasPrefix("\u{FEFF}") { text = String(text.drop { $0 != "[" }) }
        if let range = text.firstRange(of: setting.from) {
            text.replaceSubrange(range, with: setting.to)
        }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let check = try await RunningProgram.run("reveille", ["check", "--config", path])
        #expect(check.status == setting.status, "\(check.output)")
        #expect(check.output.contains(setting.words), "\(check.output)")
    }

    @Test("a head that is no head, another feed's key, and a file that others write are told")
    func files() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let path = root + "/reveille.conf"
        func check(_ words: String) async throws {
            let check = try await RunningProgram.run("reveille", ["check", "--config", path])
            #expect(check.status == 78 && check.output.contains(words), "\(check.output)")
        }
        #expect(unsafe chmod(path, 0o666) == 0)
        try await check("others can change it")
        #expect(unsafe chmod(path, 0o600) == 0)
        let key = root + "/keys/feed.key"
        try FileManager.default.moveItem(atPath: key, toPath: key + ".kept")
        let other = directory.path + "/other"
        let made = try await RunningProgram.run("reveille", ["feed", "init", other, "--key", key])
        #expect(made.status == 0, "\(made.output)")
        try await check("not one that the feed key signed")
        try FileManager.default.removeItem(atPath: root + "/feed/head")
        try await check("no head: `reveille feed init`")
        try FileManager.default.removeItem(atPath: key)
        try await check("problem: ")
    }

    @Test("an id that is not the one in the name of Apple's key file is told")
    func keyID() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let pair = try SigningKeyPair()
        let key = root + "/keys/AuthKey_ABC123DEFG.p8"
        try FileManager.default.copyItem(atPath: pair.privatePath, toPath: key)
        let path = root + "/reveille.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for (id, isTold) in [("ABC123DEFG", false), ("ABC123DEFH", true)] {
            let section =
                "\n[apns]\nkey = keys/AuthKey_ABC123DEFG.p8\nkey-id = \(id)\n"
                + "team-id = TEAM123456\ntopic = org.example.app\n"
            try (text + section).write(toFile: path, atomically: true, encoding: .utf8)
            let check = try await RunningProgram.run("reveille", ["check", "--config", path])
            #expect(check.status == 0, "\(check.output)")
            #expect(check.output.contains("the file is called") == isTold, "\(check.output)")
        }
    }

    @Test("as root, the files of another user are not judged", .enabled(if: geteuid() == 0))
    func asRoot() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        #expect(unsafe chown(root + "/data", 65_534, 65_534) == 0)
        let check = try await RunningProgram.run(
            "reveille", ["check", "--config", root + "/reveille.conf"])
        #expect(check.status == 78 && check.output.contains("sudo -u '#65534'"), "\(check.output)")
        #expect(!check.output.contains("problem"), "\(check.output)")
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
