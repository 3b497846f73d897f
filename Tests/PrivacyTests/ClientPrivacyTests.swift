import Foundation
import TestSupport
import Testing
import WakeModel

/// What the client must not keep open or say, checked on the built program.
@Suite("What the client keeps and says", .timeLimit(.minutes(5)))
struct ClientPrivacyTests {
    /// Everything that must not be heard of: the secret, the push token, the instance token as it
    /// crossed the wire, and the address of the service.
    private static func needles(
        _ secret: String, _ device: TestDevice, _ front: FaultyFront
    ) throws -> [[UInt8]] {
        let values = front.requests.compactMap { $0["Authorization"] }
        let instance = Array(try #require(values.last?.split(separator: " ").last).utf8)
        let hex = Array(secret.utf8)
        guard let raw = Hex.decode(hex.span), let token = Base64URL.decode(instance.span) else {
            throw TestFailure("no secret or no instance token")
        }
        let pushForms = device.forms.suffix(4)
        return [
            hex, raw, Base64URL.encode(raw.span), instance, token,
            Hex.encode(token.span), Array(front.url.utf8), Array(front.url.dropFirst(7).utf8),
        ] + pushForms
    }

    @Test("secret, push token, instance token and address are in no output, argument or variable")
    func said() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        let secret = try await client.addSecret("visit")
        var said: [String] = []
        func note(_ words: String..., input: [UInt8] = []) async throws {
            let answer = try await RunningProgram.run(
                "reveille-client", words + ["--state", client.state], input: input)
            said.append(answer.output)
        }
        // Every way to register, well and badly.
        front.plan("PUT", [.answered(500), .answered(400), .answerLost])
        for _ in 0..<4 {
            try await note("register", "apns", input: Array(device.pushText.utf8))
        }
        try await note("register", "apns", input: Array((device.pushText + "zz").utf8))
        try await note("register", device.pushText, input: Array(device.pushText.utf8))
        try await note("secrets", "add", "visit", input: Array(secret.utf8))
        try await note("secrets", "add", "../visit", input: Array(secret.utf8))
        try await note("secrets", "list")
        for words in [["--help"], ["run", "--help"], ["sync", "--nope"], ["nope"]] {
            said.append(try await RunningProgram.run("reveille-client", words).output)
        }
        // A program that tells what it was given: arguments, variables and open files.
        let dump = client.directory.path + "/dump"
        let program = client.directory.path + "/on-match"
        try """
        #!/bin/sh
        { tr '\\0' '\\n' </proc/$$/cmdline; env; ls -l /proc/$$/fd; } >'\(dump)'
        tr '\\0' '\\n' </proc/$PPID/cmdline >>'\(dump)'
        """.write(toFile: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        let running = try client.start("run", "--verbose", "--on-match", program)
        _ = try await running.line(containing: "stream connected")
        let secrets = client.directory.path + "/published"
        try secret.write(toFile: secrets, atomically: true, encoding: .utf8)
        let publish = try await service.command(
            "feed", "publish", secrets, "--secrets", "--then-broadcast")
        #expect(publish.status == 0, "\(publish.output)")
        _ = try await running.line(containing: "cycle ended, 1 batches")
        try await client.settled()
        // Held by the one that runs, so also what a second process says beside it.
        try await note("status")
        try await note("status", "--json")
        try await note("sync")
        front.disconnect()
        _ = try await running.line(containing: "stream ended")
        try front.reconnect()
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        said.append(running.output)
        try await note("sync", "--json")
        said.append(try String(contentsOfFile: dump, encoding: .utf8))
        front.disconnect()
        try await note("sync")
        try await note("unregister")
        try await note("forget")

        let all = Data(said.joined(separator: "\n").utf8)
        // The controls: it was told, and the dump is one.
        #expect(all.range(of: Data("REVEILLE_SECRET_ID=visit".utf8)) != nil)
        #expect(all.range(of: Data("the server cannot be reached".utf8)) != nil)
        for (index, needle) in try Self.needles(secret, device, front).enumerated() {
            #expect(all.range(of: Data(needle)) == nil, "needle \(index)")
        }
    }

    @Test("of a match that was told no file holds note or name, while it runs and after a kill")
    func delivered() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let secret = try await client.addSecret("planted-name")
        let (published, note) = (client.directory.path + "/items", service.data + "/../note")
        try secret.write(toFile: published, atomically: true, encoding: .utf8)
        try "PLANTEDNOTE\n".write(toFile: note, atomically: true, encoding: .utf8)
        let needles = ["PLANTEDNOTE", "planted-name"].map { Array($0.utf8) }
        let running = try await client.listen("--on-match", reports.program)
        let answer = try await service.command(
            "feed", "publish", published, "--secrets", "--note-file", note, "--then-broadcast")
        #expect(answer.status == 0, "\(answer.output)")
        let told = try await reports.atLeast(1)
        #expect(told.map(\.note) == ["PLANTEDNOTE"])
        try await client.settled()
        // A moment later the log is cut. Without that it holds both until a restart.
        while try client.files(containing: needles) != [] { try Task.checkCancellation() }
        running.signal(SIGKILL)
        _ = await running.exit()
        #expect(try client.files(containing: needles) == [])
        #expect(try await client.status("delivered") == "[\"\(told[0].id)\"]")
        #expect(try client.files(containing: needles) == [])
    }

    @Test("everything the client keeps is for its owner alone, whatever the umask")
    func permissions() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit")
        let published = client.directory.path + "/published"
        try secret.write(toFile: published, atomically: true, encoding: .utf8)
        _ = try await service.command("feed", "publish", published, "--secrets")
        #expect(try await client.register(TestDevice()) == 0)
        let running = try client.start("run", "--verbose")
        _ = try await running.line(containing: "cycle ended")
        let names = try FileManager.default.subpathsOfDirectory(atPath: client.state)
        #expect(names.contains("client.db") && names.contains("secrets/visit"))
        #expect(names.contains("client.db-wal") && names.contains { $0.hasPrefix("cache/") })
        for path in [client.state] + names.map({ client.state + "/" + $0 }) {
            let type = try FileManager.default.attributesOfItem(atPath: path)[.type]
            let isDirectory = type as? FileAttributeType == .typeDirectory
            #expect(StorePlace.mode(of: path) == (isDirectory ? 0o700 : 0o600), "\(path)")
        }
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
    }
}
