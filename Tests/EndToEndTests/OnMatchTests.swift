import Foundation
import TestSupport
import Testing

@Suite("The program that is run for a match", .timeLimit(.minutes(1)))
struct OnMatchTests {
    @Test("it starts with no signal blocked or ignored, as from a shell")
    func signals() async throws {
        // Not by way of a shell, which unblocks signals by itself.
        let answer = try await run(program: "/bin/grep -E ^Sig(Blk|Ign): /proc/self/status")
        #expect(answer.status == 10)
        let masks = answer.output.split(separator: "\n").compactMap { line in
            line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        }
        // glibc ignores the two signals it keeps for itself, 32 and 33, in every child it spawns.
        let ours = masks.map { $0 & ~0x1_8000_0000 }
        #expect(ours == [0, 0], "\(answer.output)")
    }

    @Test("it is given no file of the client's and none of its event queues")
    func descriptors() async throws {
        let answer = try await run("for fd in /proc/$$/fd/*; do readlink $fd; done; true")
        #expect(answer.status == 10)
        let files = answer.output.split(separator: "\n")
        #expect(files.contains { $0.hasSuffix("/on-match") })
        for name in ["/state/", "eventpoll", "eventfd", "timerfd"] {
            #expect(!files.contains { $0.contains(name) }, "\(answer.output)")
        }
    }

    @Test("one that fails is no delivery: the match waits, and is told with the same id later")
    func failure() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        _ = try await service.publish([secret], notes: ["note"])
        #expect(try await client.command("sync", "--on-match", "/bin/false").status == 0)
        #expect(try await client.status("matchesToTell") == "1")
        #expect(try await client.command("sync", "--on-match", "/no/such/program").status == 0)
        #expect(try await client.status("matchesToTell") == "1")
    }

    private func run(_ script: String) async throws -> (status: Int32, output: String) {
        let directory = try TemporaryDirectory()
        let program = directory.path + "/on-match"
        try "#!/bin/sh\n\(script)\n".write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        return try await run(program: program)
    }

    /// Looks once at a feed with one match and this program, and returns what it said.
    private func run(program: String) async throws -> (status: Int32, output: String) {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        _ = try await service.publish([secret], notes: [])
        return try await client.command("sync", "--on-match", program)
    }
}
