import Foundation
import TestSupport
import Testing

@Suite("A machine without libcurl", .timeLimit(.minutes(5)))
struct MissingLibraryTests {
    @Test("the client names the package that is missing, and goes on once it is there")
    func junk() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"] {
            // ld.so(8): a file that is no library ends the search, as if there were none.
            try "no library".write(
                toFile: client.directory.path + "/" + name, atomically: true, encoding: .utf8)
        }
        for word in ["sync", "run", "unregister"] {
            let program = try client.start(
                word, environment: ["LD_LIBRARY_PATH": client.directory.path])
            #expect(await program.exit() == 78, "\(word)")
            #expect(program.output.contains("a library of the package libcurl4 cannot be loaded"))
            #expect(program.output.contains("hint: apt-get install libcurl4"))
        }
        #expect(try await client.command("sync").status == 0)
    }

    @Test("what needs no network works without it")
    func offline() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        try "no library".write(
            toFile: client.directory.path + "/libcurl.so.4", atomically: true, encoding: .utf8)
        try "no library".write(
            toFile: client.directory.path + "/libcurl-gnutls.so.4", atomically: true,
            encoding: .utf8)
        for words in [["status"], ["secrets", "list"], ["--help"]] {
            let answer = try await RunningProgram.run(
                "reveille-client",
                words + (words == ["--help"] ? [] : ["--state", client.state]),
                environment: ["LD_LIBRARY_PATH": client.directory.path])
            #expect(answer.status == 0, "\(words): \(answer.output)")
        }
    }

    @Test("check names the package that a section [apns] needs, and without one it needs none")
    func check() async throws {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        try "no library".write(
            toFile: service.directory.path + "/libcrypto.so.3", atomically: true, encoding: .utf8)
        func check() async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                "reveille", ["check", "--config", service.configuration],
                environment: ["LD_LIBRARY_PATH": service.directory.path])
        }
        let with = try await check()
        #expect(with.status == 78)
        #expect(with.output.contains("problem: [apns] key: "), "\(with.output)")
        #expect(with.output.contains("apt-get install libssl3"), "\(with.output)")
        try service.removeSection("apns")
        #expect(try await check().status == 0)
    }

    @Test("an OpenSSL whose configuration leaves out its usual provider: its own words are shown")
    func crippled() async throws {
        let installation = try await Installation()
        let path = installation.directory.path + "/openssl.cnf"
        try "openssl_conf = all\n[all]\nproviders = some\n[some]\nbase = on\n[on]\nactivate = 1\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        for word in ["check", "serve"] {
            let answer = try await RunningProgram.run(
                "reveille", [word, "--config", installation.file],
                environment: ["OPENSSL_CONF": path])
            #expect(answer.status == 78)
            #expect(
                answer.output.contains("[webpush] key: OpenSSL refuses to work with keys: ")
                    && answer.output.contains(": unsupported")
                    && answer.output.contains("must activate `default`"), "\(answer.output)")
        }
    }

    @Test(
        "Web Push, which is on by default, is left off and said so; the service starts",
        arguments: [("libcurl.so.4", "libcurl4"), ("libcrypto.so.3", "libssl3")])
    func webPush(_ library: String, _ package: String) async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let file = root + "/reveille.conf"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try text.replacing("127.0.0.1:8080", with: "127.0.0.1:0")
            .write(toFile: file, atomically: true, encoding: .utf8)
        // Debian has libcurl twice; either will do.
        for name in [library, library.replacing("curl", with: "curl-gnutls")] {
            try "no library".write(
                toFile: directory.path + "/" + name, atomically: true, encoding: .utf8)
        }
        let environment = ["LD_LIBRARY_PATH": directory.path]
        let check = try await RunningProgram.run(
            "reveille", ["check", "--config", file], environment: environment)
        #expect(check.status == 0, "\(check.output)")
        #expect(check.output.contains("webpush         off: "), "\(check.output)")
        #expect(check.output.contains("apt-get install"), "\(check.output)")
        #expect(check.output.contains(package) && !check.output.contains("problem: "))
        let service = try RunningProgram(
            "reveille", ["serve", "--config", file], environment: environment)
        _ = try await service.line(
            containing: "gateway-stopped service=webpush reason=library-missing")
        _ = try await service.line(containing: "started port=")
        service.signal(SIGTERM)
        #expect(await service.exit() == 0)
    }

    @Test("init without OpenSSL says so, and leaves the section out")
    func initialize() async throws {
        let directory = try TemporaryDirectory()
        try "no library".write(
            toFile: directory.path + "/libcrypto.so.3", atomically: true, encoding: .utf8)
        let root = directory.path + "/service"
        let environment = ["LD_LIBRARY_PATH": directory.path]
        let made = try await RunningProgram.run(
            "reveille", ["init", root], environment: environment)
        #expect(made.status == 0 && made.output.contains("warning: no key for Web Push"))
        #expect(made.output.contains("apt-get install libssl3"), "\(made.output)")
        #expect(made.output.contains("web push: off"))
        #expect(!FileManager.default.fileExists(atPath: root + "/keys/vapid.key"))
        let check = try await RunningProgram.run(
            "reveille", ["check", "--config", root + "/reveille.conf"])
        #expect(check.status == 0 && check.output.contains("webpush         off: no section"))
    }

    @Test("where only a libcrypto.so.4 is installed, it is used")
    func newerOpenSSL() async throws {
        let directory = try TemporaryDirectory()
        let present = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]
            .map { $0 + "/libcrypto.so.3" }.first { FileManager.default.fileExists(atPath: $0) }
        let library = try #require(present)
        try "no library".write(
            toFile: directory.path + "/libcrypto.so.3", atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/libcrypto.so.4", withDestinationPath: library)
        let root = directory.path + "/service"
        let made = try await RunningProgram.run(
            "reveille", ["init", root], environment: ["LD_LIBRARY_PATH": directory.path])
        #expect(made.status == 0 && !made.output.contains("warning: "), "\(made.output)")
        #expect(FileManager.default.fileExists(atPath: root + "/keys/vapid.key"))
    }
}
