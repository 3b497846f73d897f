import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel

/// `reveille rotate` and the schedule behind it, by the built programs.
@Suite("What nobody renews expires", .timeLimit(.minutes(5)))
struct RotationTests {
    private let path = "/v1/registration"
    /// Some seconds after the beginning of an interval, or none.
    private static var week: Regex<Substring> {
        /not due: the next rotation is in (?:7 d 0|6 d 23) h/
    }

    private func register(_ devices: [TestDevice], _ service: ServiceUnderTest) throws {
        for device in devices {
            let answer = try service.send("PUT", path, token: device.token, body: device.body)
            #expect(answer.status == 204)
        }
    }

    private func stored(
        _ device: TestDevice, _ service: ServiceUnderTest
    ) throws -> StoredRegistration? {
        let answer = try service.send("GET", path, token: device.token)
        return try RegistrationResponse.decode(answer.body).stored
    }

    @Test("two rotations by command drop what was not renewed, from every file, keys and all")
    func running() async throws {
        let service = try await ServiceUnderTest()
        let devices = (0..<12).map { _ in TestDevice() }
        try register(devices, service)
        let row = try #require(try stored(devices[0], service))
        let keys = service.directory.path + "/service/keys/registration.key"
        let master = [UInt8](try Data(contentsOf: URL(filePath: keys))[24..<56])
        // The control: the search does find both.
        #expect(try service.files(containing: [row.sealed, row.id]) != [])
        #expect(try service.files(containing: [master]) == ["keys/registration.key"])

        let early = try await service.command("rotate")
        #expect(early.status == 0 && early.output.contains(Self.week))
        let dry = try await service.command("rotate", "--dry-run")
        #expect(dry.output.contains("would drop      0 registrations"))
        #expect(dry.output.contains("would keep      12 registrations"))
        let first = try await service.command("rotate", "--now", "--yes")
        #expect(first.status == 0 && first.output.contains("rotated: 0 registrations expired"))
        #expect(try stored(devices[11], service)?.generation == .previous)

        try register(Array(devices[6...]), service)
        let second = try await service.command("rotate", "--now", "--yes")
        #expect(second.status == 0, "\(second.output)")
        #expect(second.output.contains("rotated: 6 registrations expired; generation 3"))
        for (index, device) in devices.enumerated() {
            #expect(try stored(device, service)?.generation == (index < 6 ? nil : .previous))
        }
        #expect(try service.files(containing: [row.sealed, row.id, master]) == [])
        _ = try await service.program.line(
            containing: "rotated generation=3 dropped=6 kept=6 ms=")
        let metrics = try metrics(service)
        for line in [
            "generation 3", "registrations_previous 6", "registrations_current 0",
            "registrations_expired_total 6", "rotations_total 2", "rotation_failures_total 0",
        ] { #expect(metrics.contains("\nreveille_\(line)\n"), "\(line)") }
        #expect(await service.stop() == 0)
    }

    private func metrics(_ service: ServiceUnderTest) throws -> String {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        return String(decoding: try client.exchange("GET", "/metrics").body, as: UTF8.self)
    }

    @Test("without a running service there is nothing to ask, and nothing changes")
    func stopped() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        try register([device], service)
        #expect(await service.stop() == 0)
        for option in ["--dry-run", "--now"] {
            let refused = try await service.command("rotate", option)
            #expect(refused.status == 75, "\(refused.output)")
            #expect(refused.output.contains("the service does not answer"), "\(refused.output)")
        }
        try await service.restart()
        #expect(try stored(device, service)?.generation == .current)
    }

    @Test(
        "the first who registers while it is asked for stops it, unless yes was said",
        arguments: [false, true])
    func firstRow(saysYes: Bool) async throws {
        let service = try await ServiceUnderTest()
        let (admin, port) = (service.directory.path + "/service/admin.sock", service.port)
        // The listener of another configuration: there somebody registers just before.
        let front = try WireServer { peer in
            guard let request = WireRequest(from: peer),
                let listener = try? LoopbackClient(path: admin)
            else { return }
            if request.method == "POST" {
                let device = TestDevice()
                _ = try? LoopbackClient(port: port).exchange(
                    "PUT", "/v1/registration", token: device.token, body: device.body)
            }
            try? listener.send(Array(request.head.utf8) + request.body)
            if let answer = try? listener.receiveAll() { try? peer.send(answer) }
        }
        defer { front.refuse() }
        let (status, output) = try await rotate(
            service, by: front, with: saysYes ? ["--yes"] : [])
        #expect(status == (saysYes ? 0 : 1), "\(output)")
        #expect(output.contains(saysYes ? "rotated: 0" : "rotation_unconfirmed"), "\(output)")
    }

    /// Rotates with a configuration in which the admin listener is another one.
    private func rotate(
        _ service: ServiceUnderTest, by front: WireServer, with options: [String] = []
    ) async throws -> (status: Int32, output: String) {
        let token = service.directory.path + "/admin.token"
        let made = try await RunningProgram.run("reveille", ["keygen", "--kind", "admin", token])
        #expect(made.status == 0, "\(made.output)")
        let other = service.configuration + ".other"
        let listener = "listen = 127.0.0.1:\(front.port)\ntoken = \(token)"
        try String(contentsOfFile: service.configuration, encoding: .utf8)
            .replacing("listen = unix:admin.sock", with: listener)
            .write(toFile: other, atomically: true, encoding: .utf8)
        return try await RunningProgram.run(
            "reveille", ["rotate", "--now", "--config", other] + options)
    }

    @Test("while a rotation goes on, answers that are cut short do not end the command")
    func cutAnswers() async throws {
        let service = try await ServiceUnderTest()
        let admin = service.directory.path + "/service/admin.sock"
        let asked = Atomic<Int>(0)
        let front = try WireServer { peer in
            guard let request = WireRequest(from: peer),
                let listener = try? LoopbackClient(path: admin)
            else { return }
            try? listener.send(Array(request.head.utf8) + request.body)
            guard let answer = try? listener.receiveAll() else { return }
            // The look before the rotation and the order are answered; two questions after it are
            // not.
            let number = asked.wrappingAdd(1, ordering: .relaxed).newValue
            try? peer.send(3...4 ~= number ? Array(answer.prefix(7)) : answer)
        }
        defer { front.refuse() }
        let (status, output) = try await rotate(service, by: front)
        #expect(status == 0 && output.contains("rotated: 0"), "\(output)")
        #expect(asked.load(ordering: .relaxed) >= 5)
    }

    @Test("sooner than clients renew it says what is lost, and does nothing without a word more")
    func unconfirmed() async throws {
        let service = try await ServiceUnderTest()
        // There is nobody to lose.
        let empty = try await service.command("rotate", "--now")
        #expect(empty.status == 0 && empty.output.contains("generation 2"), "\(empty.output)")
        let devices = (0..<5).map { _ in TestDevice() }
        try register(Array(devices[..<3]), service)
        #expect(try await service.command("rotate", "--now", "--yes").status == 0)
        try register(Array(devices[3...]), service)
        let words =
            "this drops 3 registrations at once, though their apps may still be there, and the 2"
        for _ in 0..<2 {
            let refused = try await service.command("rotate", "--now")
            #expect(refused.status == 1, "\(refused.output)")
            #expect(refused.output.contains(words) && refused.output.contains("--yes"))
        }
        let admin = service.directory.path + "/service/admin.sock"
        func post(_ body: String) throws -> WireResponse {
            try LoopbackClient(path: admin).exchange(
                "POST", "/v1/rotation", body: Array(body.utf8))
        }
        let refused = try post(#"{"now":true}"#)
        #expect(refused.status == 409 && refused.text.contains("rotation_unconfirmed"))
        #expect(try post(#"{"now":true,"yes":1}"#).status == 400)
        #expect(try post(#"{"now":true,"sure":true}"#).status == 400)
        #expect(try post(#"{"yes":true}"#).status == 200)
        #expect(try stored(devices[0], service)?.generation == .previous)
        #expect(await service.stop() == 0)
        // Three days later everybody had the time.
        try record(service, ["elapsed": "259200"])
        try await service.restart()
        #expect(try await service.command("rotate", "--now").output.contains("rotated: 3 reg"))
    }

    @Test(
        "on a terminal it asks, and takes yes alone",
        .enabled(if: PythonScript.hasTerminals, "needs python3 and pseudo terminals (/dev/pts)"))
    func terminal() async throws {
        let service = try await ServiceUnderTest()
        try register([TestDevice()], service)
        let words = [
            RunningProgram.folder.appending(path: "reveille").path, "rotate", "--now", "--config",
            service.configuration,
        ]
        let script = """
            import os, pty, sys
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(sys.argv[2], sys.argv[2:])
            said = b""
            try:
                while True:
                    chunk = os.read(terminal, 4096)
                    if not chunk: break
                    if b"Type yes" in said + chunk and b"Type yes" not in said:
                        os.write(terminal, sys.argv[1].encode() + b"\\n")
                    said += chunk
            except OSError:
                pass
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """
        for word in ["no", "y", ""] {
            #expect(try PythonScript.run(script, [word] + words) == 1)
        }
        #expect(try metrics(service).contains("\nreveille_generation 1\n"))
        #expect(try PythonScript.run(script, ["yes"] + words) == 0)
        #expect(try metrics(service).contains("\nreveille_generation 2\n"))
    }

    /// Changes members of `data/rotation`.
    private func record(_ service: ServiceUnderTest, _ members: [String: String]) throws {
        try resealState(service.data + "/rotation", members: members)
    }

    @Test("a generation that is old enough is rotated by itself, and its age survives restarts")
    func scheduled() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        try register([device], service)
        #expect(await service.stop() == 0)
        // Fifty minutes are left, less what a slow machine takes.
        try record(service, ["elapsed": "601800"])
        try await service.restart()
        let soon = try await service.command("rotate")
        let words = /not due: the next rotation is in (?:50|4[0-9]) min/
        #expect(soon.output.contains(words), "\(soon.output)")
        #expect(await service.stop() == 0)
        try record(service, ["elapsed": "604800"])
        try await service.restart()
        _ = try await service.program.line(containing: "rotated generation=2 dropped=0 kept=1")
        #expect(try stored(device, service)?.generation == .previous)
    }

    @Test("a key file that somebody removed is said, and a rotation writes another")
    func keyFile() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        try register([device], service)
        let keys = service.directory.path + "/service/keys/registration.key"
        try FileManager.default.removeItem(atPath: keys)
        #expect(try await service.command("status").output.contains("problem: key-file-missing"))
        _ = try await service.program.line(containing: "trouble kind=key-file-missing")
        #expect(try metrics(service).contains("\nreveille_trouble{kind=\"key-file-missing\"} 1\n"))
        #expect(try await service.command("rotate", "--now", "--yes").status == 0)
        #expect(try metrics(service).contains("\nreveille_trouble{kind=\"key-file-missing\"} 0\n"))
        #expect(await service.stop() == 0)
        try await service.restart()
        #expect(try stored(device, service)?.generation == .previous)
    }

    @Test("killed while it was asked to rotate, it rotates after the next start")
    func killed() async throws {
        let service = try await ServiceUnderTest()
        try register([TestDevice()], service)
        #expect(await service.stop() == 0)
        try record(service, ["asked": "true"])
        try await service.restart()
        await service.kill()
        try await service.restart()
        // Before the kill or after it, but once.
        while try !metrics(service).contains("\nreveille_generation 2\n") {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(try await service.command("rotate").output.contains("not due"))
    }

    @Test("keys in memory: no file has them, a restart forgets everyone, and says so")
    func memory() async throws {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        var text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        text = text.replacing("keys = keys/registration.key", with: "keys = memory")
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        try await service.restart()
        let devices = (0..<3).map { _ in TestDevice() }
        try register(devices, service)
        let row = try #require(try stored(devices[0], service))
        #expect(try await service.command("rotate", "--now", "--yes").status == 0)
        #expect(try stored(devices[0], service)?.generation == .previous)
        #expect(await service.stop() == 0)
        let check = try await service.command("check")
        #expect(check.output.contains("in memory: every start begins with an empty store"))
        try await service.restart()
        _ = try await service.program.line(containing: "keys-in-memory forgotten=3")
        #expect(try stored(devices[0], service) == nil)
        #expect(try service.files(containing: [row.sealed, row.id]) == [])
        try register(devices, service)
        #expect(try stored(devices[2], service)?.generation == .current)
    }

    @Test("an interval that clients could not keep up with is refused", arguments: [0, 1, 6, 91])
    func interval(_ days: Int) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/reveille.conf"
        try "[store]\nrotation-days = \(days)\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        let (status, output) = try await RunningProgram.run(
            "reveille", ["check", "--config", path])
        #expect(status == 78)
        #expect(output.contains("line 2: rotation-days takes a whole number from 7 to 90"))
    }
}
