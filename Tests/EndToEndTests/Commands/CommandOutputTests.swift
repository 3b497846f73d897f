import Foundation
import TestSupport
import Testing

/// What scripts and terminals read of the operator's commands.
@Suite("Output of commands", .timeLimit(.minutes(5)))
struct CommandOutputTests {
    @Test("--json is one object with the members that the manual names")
    func json() async throws {
        let service = try await ServiceUnderTest(
            sections: "[relay]\nauthority = wake.example.org\n")
        let expected: [(words: [String], members: [String])] = [
            (["check"], ["problems", "parts"]),
            (["reload"], ["changed", "gateways", "restart"]),
            (["broadcast", "--force"], ["run", "accepted", "complete", "plannedSeconds"]),
            (
                ["feed", "verify"],
                [
                    "sequence", "batches", "digests", "bytes", "fingerprint", "keys", "key",
                    "expires", "warnings",
                ]
            ),
            (["feed", "directives"], ["pause_seconds", "registration", "retired"]),
            (["feed", "fingerprint"], ["fingerprint"]), (["relay", "list"], ["installations"]),
            (["status"], ["registrations_current", "uptime_seconds"]),
            (
                ["broadcast", "--dry-run"],
                [
                    "registrations", "pushes", "streams", "topics", "pushSeconds", "spreadSeconds",
                    "totalSeconds", "intervalSeconds", "fetchesMean", "fetchesPeak",
                    "fetchesPerSecond", "publishSpreadSeconds", "warnings",
                ]
            ),
        ]
        let manual = try await RunningProgram.run("reveille", ["manual"]).output
        for (words, members) in expected {
            let program = try RunningProgram(
                "reveille", words + ["--json", "--config", service.configuration])
            let (status, output) = await program.finished()
            #expect(status == 0, "\(words): \(output)")
            let line = output.split(separator: "\n").first { $0.hasPrefix("{") } ?? ""
            let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let object = try #require(value as? [String: Any], "\(words): \(output)")
            #expect(Set(members).isSubset(of: object.keys), "\(words): \(output)")
            #expect(manual.contains(words[0]))
        }
        for words in [["rotate", "--now"]] {
            let answer = try await RunningProgram.run(
                "reveille", words + ["--json", "--config", service.configuration])
            #expect(answer.status == 2 && answer.output.contains("--json"), "\(answer.output)")
        }
    }

    @Test("registrations below 4,096 are counted, not estimated, by status and plans")
    func counts() async throws {
        let service = try await ServiceUnderTest()
        let empty = try await service.command("broadcast", "--dry-run")
        #expect(empty.output.contains(#/registrations +0 /#), "\(empty.output)")
        let client = try LoopbackClient(port: service.port)
        for _ in 0..<30 {
            let device = TestDevice()
            let put = try client.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        let status = try await service.command("status")
        #expect(status.output.contains("30 of this generation"), "\(status.output)")
        #expect(!status.output.contains("about"), "\(status.output)")
        let plan = try await service.command("broadcast", "--dry-run")
        #expect(plan.output.contains(#/registrations +30 /#), "\(plan.output)")
    }

    @Test(
        "version and help by every name that people try",
        arguments: ["reveille", "reveille-client"])
    func names(_ program: String) async throws {
        let version = try await RunningProgram.run(program, ["--version"])
        for word in ["-V", "version"] {
            let answer = try await RunningProgram.run(program, [word])
            #expect(answer == version && answer.status == 0)
        }
        let help = try await RunningProgram.run(program, ["help", "status"])
        #expect(help == (try await RunningProgram.run(program, ["status", "--help"])))
    }

    @Test(
        "progress is cut to the width of the terminal",
        .enabled(if: PythonScript.hasTerminals, "needs python3 and pseudo terminals (/dev/pts)"))
    func progress() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let script = """
            import fcntl, os, pty, struct, sys, termios
            child, terminal = pty.fork()
            if child == 0:
                fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 9, 6, 0, 0))
                os.execv(sys.argv[1], sys.argv[1:])
            seen = b""
            while True:
                try: part = os.read(terminal, 65536)
                except OSError: break
                if not part: break
                seen += part
            drawn = [part.split(b"\\r")[0] for part in seen.split(b"\\r\\x1b[K")[1:-1]]
            sys.exit(0 if drawn and all(len(line) <= 5 for line in drawn) else 1)
            """
        let program = RunningProgram.folder.appending(path: "reveille").path
        let words = [program, "audit", root + "/data"]
        #expect(try PythonScript.run(script, words) == 0)
    }
}
