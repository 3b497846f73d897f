import Foundation
import TestSupport
import Testing

@Suite("reveille keygen, and what init makes", .timeLimit(.minutes(5)))
struct KeygenTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func mode(_ path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test(
        "a key is made with mode 0600, its public half is shown, and none is overwritten",
        arguments: [("vapid", 87, "-----BEGIN PRIVATE KEY-----"), ("relay", 43, "")])
    func kinds(_ kind: String, _ length: Int, _ start: String) async throws {
        let path = directory.path + "/a.key"
        let words = ["keygen", "--kind", kind, path]
        let (status, output) = try await RunningProgram.run("reveille", words)
        #expect(status == 0 && output.utf8.count == length + 1)
        #expect(try mode(path) == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix(start) && !text.contains(output.dropLast()))
        let again = try await RunningProgram.run("reveille", words)
        #expect(again.status == 1, "\(again.output)")
        #expect(again.output.contains("nothing is overwritten"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test("openssl reads the VAPID key as one on P-256", .enabled(if: OpenSSLCommand.isInstalled))
    func openssl() async throws {
        let path = directory.path + "/vapid.key"
        _ = try await RunningProgram.run("reveille", ["keygen", "--kind=vapid", path])
        let text = try OpenSSLCommand.run(["pkey", "-in", path, "-noout", "-text"])
        #expect(text.contains("NIST CURVE: P-256"))
    }

    @Test("an audit of the directory finds all kinds of keys as the policy declares them")
    func declared() async throws {
        let root = directory.path + "/service"
        _ = try await RunningProgram.run("reveille", ["init", root])
        for kind in ["relay", "admin", "ohttp"] {
            let (status, output) = try await RunningProgram.run(
                "reveille", ["keygen", "--kind", kind, root + "/keys/" + kind])
            #expect(status == 0, "\(output)")
        }
        let words = ["audit", root + "/data", "--keys", root + "/keys"]
        let clean = try await RunningProgram.run("reveille", words)
        #expect(clean.status == 0 && clean.output.contains("ok          keys"), "\(clean.output)")
        let stray = root + "/keys/visitors.csv"
        try Data("a,b\n".utf8).write(to: URL(filePath: stray))
        let found = try await RunningProgram.run("reveille", words)
        #expect(found.status == 3 && found.output.contains("key-file-undeclared"))
    }

    @Test("what it takes is said")
    func usage() async throws {
        for words in [["--kind", "rsa", "x"], ["x"], ["--kind", "vapid"]] {
            let (status, output) = try await RunningProgram.run("reveille", ["keygen"] + words)
            #expect(status == 2, "\(output)")
        }
        for kind in ["vapid", "relay"] {
            let (status, output) = try await RunningProgram.run(
                "reveille", ["keygen", "--kind", kind, directory.path + "/none/x"])
            #expect(status == 1, "\(output)")
            #expect(output.contains("hint: name a file in a directory of this user's"), "\(output)")
        }
    }

    @Test("init makes a VAPID key, and check shows the public half that init has shown")
    func initialize() async throws {
        let root = directory.path + "/service"
        let made = try await RunningProgram.run("reveille", ["init", root])
        #expect(made.status == 0, "\(made.output)")
        let line = try #require(
            made.output.split(separator: "\n").first { $0.hasPrefix("web push key: ") })
        let key = line.dropFirst("web push key: ".count)
        #expect(key.utf8.count == 87)
        #expect(try mode(root + "/keys/vapid.key") == 0o600)
        let check = try await RunningProgram.run(
            "reveille", ["check", "--config", root + "/reveille.conf"])
        #expect(check.status == 0, "\(check.output)")
        #expect(check.output.contains("webpush         on, public key \(key), hosts known"))
        #expect(check.output.contains("no subject"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: root + "/keys/vapid.key")
        let open = try await RunningProgram.run(
            "reveille", ["check", "--config", root + "/reveille.conf"])
        #expect(open.status == 78 && open.output.contains("problem: [webpush] key: "))
    }
}
