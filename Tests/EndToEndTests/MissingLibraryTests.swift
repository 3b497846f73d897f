import Foundation
import TestSupport
import Testing

@Suite("A machine without libcurl", .timeLimit(.minutes(1)))
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
}
