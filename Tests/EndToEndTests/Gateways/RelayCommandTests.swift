import Foundation
import TestSupport
import Testing

@Suite("reveille relay", .timeLimit(.minutes(5)))
struct RelayCommandTests {
    private static func allowed(_ name: String) -> String {
        "allowed \(name), in force at once\n"
    }

    private static func revoked(_ name: String) -> String {
        "revoked \(name), in force at once\n"
    }

    private static let keys = [
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        // RFC 8032 §7.1, TEST 2.
        "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw",
    ]

    private func service() async throws -> ServiceUnderTest {
        try await ServiceUnderTest(sections: "[relay]\nauthority = wake.example.org\n")
    }

    @Test("allows, lists and revokes, and says so")
    func changes() async throws {
        let service = try await service()
        #expect(try await service.command("relay", "list") == (0, ""))
        #expect(
            try await service.command("relay", "allow", "one", Self.keys[0]) == (
                0, Self.allowed("one")
            ))
        #expect(
            try await service.command("relay", "allow", "two", Self.keys[1]) == (
                0, Self.allowed("two")
            ))
        let lines = "one \(Self.keys[0])\ntwo \(Self.keys[1])\n"
        #expect(try await service.command("relay", "list") == (0, lines))
        let path = service.directory.path + "/service/keys/installations"
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o640)
        #expect(try await service.command("relay", "revoke", "one") == (0, Self.revoked("one")))
        #expect(try await service.command("relay", "list") == (0, "two \(Self.keys[1])\n"))
    }

    @Test("takes every key that keygen may print, also one in 64 that begins with a dash")
    func dashes() async throws {
        let service = try await service()
        for key in [
            "-IgQuEmY61aSMoyiFz2175ybR8nRLNcF4AcfPpCj_Tc",
            "--3pcUDYPtp8s4dm39JA0ll-wAg8-3mclNWW-qiZ254",
        ] {
            #expect(
                try await service.command("relay", "allow", "one", key) == (0, Self.allowed("one")))
            #expect(try await service.command("relay", "list") == (0, "one \(key)\n"))
            #expect(try await service.command("relay", "revoke", "one") == (0, Self.revoked("one")))
        }
        #expect(try await service.command("relay", "allow", "one", "-x").status == 2)
    }

    @Test("says what is wrong, and what to do")
    func mistakes() async throws {
        let service = try await service()
        #expect(try await service.command("relay", "allow", "one", Self.keys[0]).status == 0)
        let cases: [([String], Int32, String)] = [
            (["allow", "one", Self.keys[1]], 1, "an installation of this name is allowed already"),
            (["allow", "two", Self.keys[0]], 1, "this key is allowed already, as one"),
            (["allow", "Two", Self.keys[1]], 2, "NAME is 1 to 64 of a-z, 0-9 and -"),
            (["allow", "two", String(Self.keys[1].dropLast())], 2, "KEY is no public key"),
            (["allow", "two", String(repeating: "A", count: 43)], 2, "KEY is no public key"),
            (["allow", "two"], 2, "KEY is missing"),
            (["revoke", "two"], 1, "no installation of this name is allowed"),
            (["revoke", ""], 2, "a word is empty"),
        ]
        for (words, status, message) in cases {
            let (said, output) = try await RunningProgram.run(
                "reveille", ["relay"] + words + ["--config", service.configuration])
            #expect(said == status, "\(output)")
            #expect(output.hasPrefix("reveille: \(message)"), "\(output)")
        }
        #expect(try await service.command("relay", "list") == (0, "one \(Self.keys[0])\n"))
    }

    @Test("needs the section, which check explains")
    func section() async throws {
        let off = try await ServiceUnderTest()
        let (status, output) = try await off.command("relay", "list")
        #expect(status == 78 && output.contains("the relay is off: no section [relay]"))
        #expect(try await off.command("check").output.contains("\nrelay           off\n"))
        let on = try await service()
        #expect(try await on.command("relay", "allow", "one", Self.keys[0]).status == 0)
        let check = try await on.command("check").output
        #expect(
            check.contains(
                "\nrelay           on, as wake.example.org, 1 installation, 60000 wake-ups a "
                    + "minute each, for apns, apns-sandbox\n"), "\(check)")
    }

    @Test("check prints the relay and the key to allow, and what is wrong with them")
    func check() async throws {
        let keys = try TemporaryDirectory()
        let key = try RelayOwner.writeKey(in: keys)
        let root = keys.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let path = root + "/reveille.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
            .replacing("listen = 127.0.0.1:8080", with: "listen = 127.0.0.1:0")
        func check(_ section: String) async throws -> (status: Int32, output: String) {
            try (text + "\n" + section).write(toFile: path, atomically: true, encoding: .utf8)
            return try await RunningProgram.run("reveille", ["check", "--config", path])
        }
        let relay = "via = https://wake.example.org\nvia-key = \(key)\n"
        let (status, output) = try await check("[apns]\n\(relay)[fcm]\n\(relay)")
        let words = "on, via https://wake.example.org, key \(RelayOwner.publicKey)\n"
        #expect(status == 0, "\(output)")
        for service in ["apns            ", "apns-sandbox    ", "fcm             "] {
            #expect(output.contains(service + words), "\(output)")
        }
        let both = try await check("[apns]\n\(relay)topic = org.example.app\n")
        #expect(both.status == 78 && both.output.contains("[apns] has both via and topic"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
        let open = try await check("[fcm]\n\(relay)")
        #expect(open.status == 78)
        #expect(open.output.contains("problem: [fcm] via-key: the file can be read by others"))
    }
}
