import Foundation
import TestSupport
import Testing

/// `run --json` as a program in another language uses it: Debian's Python, without any library.
@Suite("Events as lines of JSON", .timeLimit(.minutes(5)))
struct EventLinesTests {
    /// Runs a part of the script below against a profile, to its end.
    private func python(_ part: String, _ client: ClientUnderTest) async throws -> String {
        let program = RunningProgram.folder.path + "/reveille-client"
        let script = try RunningProgram(
            path: "/usr/bin/env",
            ["python3", "-u", "-c", Self.script + part, program, client.state])
        #expect(await script.exit() == 0, "\(script.output)")
        return script.output
    }

    @Test("a match comes again until it is acknowledged, and then leaves no note behind")
    func acknowledged() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        _ = try await service.publish([secret], notes: ["PLANTEDNOTE \"ü\" \\ 1"])
        let first = try await python(
            """
            event = next(read("match"))
            print(event["id"], event["secret"], event["note"])
            run.kill()
            """, client)
        #expect(first.hasSuffix(" visit PLANTEDNOTE \"ü\" \\ 1\n"))
        #expect(try await client.status("matchesToDeliver") == "1")
        #expect(try client.files(containing: [Array("PLANTEDNOTE".utf8)]) != [], "the control")
        let second = try await python(
            """
            event = next(read("match"))
            print(event["id"], event["secret"], event["note"])
            say("nothing of ours")
            assert next(read("error"))["code"] == "not-understood"
            say(json.dumps({"acknowledge": "00" * 16}))
            assert next(read("error"))["code"] == "unknown-match"
            say(json.dumps({"acknowledge": event["id"]}))
            while next(read("status"))["matchesToDeliver"]: pass
            for folder, _, names in os.walk(sys.argv[2]):
                for name in names:
                    path = os.path.join(folder, name)
                    if os.path.isfile(path): assert b"PLANTEDNOTE" not in open(path, "rb").read()
            run.kill()
            """, client)
        #expect(second == first)
        #expect(try client.files(containing: [Array("PLANTEDNOTE".utf8)]) == [])
        #expect(try await client.status("delivered").contains(first.split(separator: " ")[0]))
        #expect(try await client.status("matchesToDeliver") == "0")
    }

    @Test("status says what changes, a planted match comes by the same way, and a reader can go")
    func status() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        _ = try await python(
            """
            while True:
                status = next(read("status"))
                if status["stream"] == "connected" and status["lastChecked"]: break
            assert status["running"] and status["registration"] == "none"
            assert status["nextCheck"] > status["lastChecked"] and status["checkFailure"] is None
            test = subprocess.Popen([sys.argv[1], "test", "--state", sys.argv[2]])
            event = next(read("match"))
            assert event["secret"] == "(test)", event
            say(json.dumps({"acknowledge": event["id"]}))
            assert test.wait() == 0
            run.stdout.close()
            test = subprocess.Popen([sys.argv[1], "test", "--state", sys.argv[2]])
            assert run.wait() == 74, run.returncode
            """, client)
        #expect(try client.files(containing: [Array("(test)".utf8)]) == [])
    }

    @Test("SIGTERM ends it while its input is open, and input that ends or never was ends nothing")
    func ends() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        _ = try await python(
            """
            import os, pty, signal, socket
            def ended(): assert run.wait() == 0, run.returncode
            next(read("status"))
            run.send_signal(signal.SIGTERM)
            ended()
            full = os.pipe()
            os.set_blocking(full[1], False)
            try:
                while True: os.write(full[1], b" " * 4096)
            except BlockingIOError: os.set_blocking(full[1], True)
            ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            ready.bind(sys.argv[2] + "/ready")
            run = subprocess.Popen(
                [sys.argv[1], "run", "--json", "--state", sys.argv[2]], stdin=subprocess.PIPE,
                stdout=full[1], stderr=subprocess.DEVNULL,
                env={**os.environ, "NOTIFY_SOCKET": sys.argv[2] + "/ready"})
            while b"READY=1" not in ready.recv(4096): pass
            run.send_signal(signal.SIGTERM)
            ended()
            own, terminal = pty.openpty()
            read_end, write_end = os.pipe()
            os.set_blocking(read_end, False)
            closed = lambda: os.close(0)
            for options in [
                {"stdin": terminal}, {"stdin": read_end}, {"stdin": subprocess.DEVNULL},
                {"stdin": open(sys.argv[2] + "/client.conf")}, {"preexec_fn": closed},
            ]:
                run = subprocess.Popen(
                    [sys.argv[1], "run", "--json", "--state", sys.argv[2]], text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
                while next(read("status"))["stream"] != "connected": pass
                run.send_signal(signal.SIGTERM)
                ended()
            """, client)
    }

    private static let script = """
        import json, os, subprocess, sys
        run = subprocess.Popen(
            [sys.argv[1], "run", "--json", "--state", sys.argv[2]], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        def read(kind):
            for line in run.stdout:
                event = json.loads(line)
                if event["event"] == kind: yield event
        def say(line):
            run.stdin.write(line + "\\n")
            run.stdin.flush()

        """
}
