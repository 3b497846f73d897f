import Foundation
import TestSupport
import Testing

@Suite("The program that is run for a match", .timeLimit(.minutes(5)))
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
        let failed = try await client.command("sync", "--on-match", "/bin/false")
        #expect(failed.status == 74)
        #expect(
            failed.output.contains("the program of --on-match failed: it ended with status 1"))
        #expect(try await client.status("matchesToDeliver") == "1")
        let directory = try TemporaryDirectory()
        let odd = directory.path + "/odd"
        #expect(FileManager.default.createFile(atPath: odd, contents: Data("no program".utf8)))
        for (mode, program, reason) in [
            (0o700, odd, "Exec format error"), (0o600, odd, "Permission denied"),
            (0o600, "/no/such/program", "No such file or directory"),
        ] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: odd)
            let answer = try await client.command("sync", "--on-match", program)
            #expect(answer.status == 74)
            #expect(
                answer.output.contains("failed: it cannot be executed: \(reason)"),
                "\(answer.output)")
        }
        #expect(try await client.status("matchesToDeliver") == "1")
    }

    @Test(
        "it learns of this match, whatever was in the environment under these names, from any home")
    func inheritedNames() async throws {
        let directory = try TemporaryDirectory()
        let home = directory.path + "/a home"
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: false)
        let program = try script("echo \"told $REVEILLE_SECRET_ID\"", in: home)
        let (service, client) = try await matching()
        defer { withExtendedLifetime(service) {} }
        let look = try client.start(
            "sync", "--on-match", program, environment: ["REVEILLE_SECRET_ID": "another"])
        #expect(await look.exit() == 10)
        #expect(look.output.contains("told visit"), "\(look.output)")
    }

    @Test("what it says does not get between the JSON of --json")
    func besideJSON() async throws {
        let directory = try TemporaryDirectory()
        let program = try script("echo chatter", in: directory.path)
        let (service, client) = try await matching()
        defer { withExtendedLifetime(service) {} }
        let answer = try await shell(client, "sync --json --on-match \(program) 2>/dev/null")
        #expect(answer.status == 10)
        #expect(answer.output.hasPrefix("{\"outcome\":\"checked\""), "\(answer.output)")
        #expect(answer.output.split(separator: "\n").count == 1)
    }

    @Test("what standard output does not take is not told", arguments: ["sync", "sync --json"])
    func fullOutput(_ command: String) async throws {
        let (service, client) = try await matching()
        defer { withExtendedLifetime(service) {} }
        let answer = try await shell(client, "\(command) >/dev/full")
        if command == "sync" {
            #expect(try await client.status("matchesToDeliver") == "1")
        } else {
            #expect(answer.status == 74)
        }
    }

    /// A client, and the service whose feed has one match for it.
    private func matching() async throws -> (ServiceUnderTest, ClientUnderTest) {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        _ = try await service.publish([secret], notes: [])
        return (service, client)
    }

    /// Runs a command on this profile from a shell, for its redirections.
    private func shell(
        _ client: ClientUnderTest, _ command: String
    ) async throws -> (status: Int32, output: String) {
        let words = command.split(separator: " ", maxSplits: 1).map(String.init)
        let program = RunningProgram.folder.path + "/reveille-client"
        let rest = words.count > 1 ? words[1] : ""
        return try await RunningProgram.run(
            path: "/bin/sh", ["-c", "\(program) \(words[0]) --state \(client.state) \(rest)"])
    }

    private func script(_ text: String, in directory: String) throws -> String {
        let program = directory + "/on-match"
        try "#!/bin/sh\n\(text)\n".write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        return program
    }

    private func run(_ script: String) async throws -> (status: Int32, output: String) {
        let directory = try TemporaryDirectory()
        return try await run(program: self.script(script, in: directory.path))
    }

    /// Looks once at a feed with one match and this program, and returns what it said.
    private func run(program: String) async throws -> (status: Int32, output: String) {
        let (service, client) = try await matching()
        defer { withExtendedLifetime(service) {} }
        return try await client.command("sync", "--on-match", program)
    }
}
