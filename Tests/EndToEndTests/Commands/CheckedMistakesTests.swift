import Foundation
import TestSupport
import Testing

/// What `check` finds before a broadcast does.
@Suite("What check finds", .timeLimit(.minutes(5)))
struct CheckedMistakesTests {
    /// What replaces what in the configuration of a first installation, and what check then says.
    private static let settings: [(from: String, to: String, words: String)] = [
        ("127.0.0.1:0", "0.0.0.0:0", "in clear"),
        ("127.0.0.1:0", "0.0.0.0:0", "feed and registrations have one origin"),
        ("# Reveille", "\u{FEFF}# Reveille", "127.0.0.1:0"),
        ("\n", "\r\n", "127.0.0.1:0"),
    ]

    @Test("listeners that are unsafe are told by check", arguments: settings.indices)
    func setting(_ index: Int) async throws {
        let setting = Self.settings[index]
        let installation = try await Installation()
        try installation.replace(setting.from, by: setting.to)
        let check = try await installation.run("check")
        #expect(check.status == 0 && check.output.contains(setting.words), "\(check.output)")
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
