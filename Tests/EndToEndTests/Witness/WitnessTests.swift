import Foundation
import TestSupport
import Testing

@Suite(
    "reveille witness, asked by a log of other make",
    .enabled(if: WitnessUnderTest.hasPython, "needs Python's cryptography (Tests/check has it)"),
    .timeLimit(.minutes(30)))
struct WitnessTests {
    private let name = "log.example/a"

    @Test("every status of the specification, and what monitors read")
    func statuses() async throws {
        let witness = try await WitnessUnderTest(logs: [try await WitnessUnderTest.log(name)])
        let said = try await WitnessUnderTest.python(
            "statuses", "\(witness.port)", witness.key, name, WitnessUnderTest.seed)
        #expect(said == "done")
        let output = witness.program.output
        #expect(output.contains("cosigned log=1 size=310"))
        #expect(output.contains("error forked log=1 size=300"))
        // Numbers alone: no name of a log, no address, no time.
        #expect(!output.contains("example") && !output.contains("127.0.0.1"))
        let list = try await witness.command("list")
        #expect(list.contains(witness.key) && list.contains("1  \(name)  size 311 cosigned"))
        let json = try await witness.command("list", "--json")
        #expect(json.contains(#""size":311"#))
        #expect(await witness.stop() == 0)
    }

    @Test("the same questions are answered the same by the witness of other make: the peer is one")
    func peer() async throws {
        let log = try await WitnessUnderTest.log(name)
        let seed = String(repeating: "77", count: 32)
        let peer = try await WitnessPeer(name: "w.example/2", log: log, seed: seed)
        let said = try await WitnessUnderTest.python(
            "statuses", "\(peer.port)", peer.key, name, WitnessUnderTest.seed)
        #expect(said == "done")
    }

    @Test("a log that is added while it runs is cosigned at once, and remembered by the next start")
    func added() async throws {
        let witness = try await WitnessUnderTest()
        #expect(try await witness.grow(name, from: 0, to: 4) == "404 nothing")
        let added = try await witness.command("add-log", try await WitnessUnderTest.log(name))
        #expect(added.contains("cosigning \(name)"))
        // The identifier of a feed in base64url, as one in 64 is.
        let dashed = "-4ZLVjN9FOwnchAh9FShqQ"
        let second = try await witness.command("add-log", try await WitnessUnderTest.log(dashed))
        #expect(second.contains("cosigning \(dashed)"))
        #expect(try await witness.grow(name, from: 0, to: 4) == "200 cosigned")
        #expect(await witness.stop() == 0)
        try await witness.restart()
        #expect(try await witness.grow(name, from: 0, to: 6) == "409 nothing")
        #expect(try await witness.grow(name, from: 4, to: 6) == "200 cosigned")
    }

    @Test(
        "mistakes are named: a key that is none, a name with a space, a second witness, a lost file"
    )
    func mistakes() async throws {
        let log = try await WitnessUnderTest.log(name)
        let witness = try await WitnessUnderTest(logs: [log])
        func fails(_ words: String...) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                "reveille", ["witness"] + words + ["--directory", witness.place])
        }
        #expect(try await fails("add-log", "nonsense").status == 2)
        #expect(try await fails("add-log", String(log.dropLast(2)) + "AA").status == 2)
        #expect(try await fails("init", "two words").status == 2)
        #expect(try await fails("init", "witness.example/w2").output.contains("exists"))
        let twice = try await fails("add-log", log)
        #expect(twice.status == 1 && twice.output.contains("known already"), "\(twice.output)")
        let second = try await fails("serve", "--listen", "127.0.0.1:0")
        #expect(second.status == 75 && second.output.contains("running already"))
        #expect(try await fails("serve", "--listen", "here").status == 2)
        #expect(await witness.stop() == 0)
        let records = witness.place + "/checkpoints"
        let record = try #require(
            try FileManager.default.contentsOfDirectory(atPath: records).first)
        try FileManager.default.removeItem(atPath: records + "/" + record)
        let lost = try await fails("serve", "--listen", "127.0.0.1:0")
        #expect(lost.status == 65, "\(lost.output)")
        #expect(lost.output.contains("make a new one with a new key"))
    }

    @Test("on a full disk it answers 503 and cosigns nothing; with room it goes on where it was")
    func full() async throws {
        let witness = try await WitnessUnderTest(logs: [try await WitnessUnderTest.log(name)])
        #expect(try await witness.grow(name, from: 0, to: 4) == "200 cosigned")
        #expect(await witness.stop() == 0)
        guard try await witness.restart(within: "256k") else {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        let hog = witness.placeWithin + "/hog"
        // `cat` ends when there is no room.
        _ = try await RunningProgram.run(
            path: "/bin/sh", ["-c", "cat /dev/zero > \"$0\"", hog])
        for _ in 0..<3 {
            #expect(try await witness.grow(name, from: 4, to: 9) == "503 nothing")
        }
        _ = try await witness.program.line(containing: "error store-failing errno=28")
        #expect(try await witness.grow(name, from: 3, to: 5) == "409 nothing")
        try FileManager.default.removeItem(atPath: hog)
        #expect(try await witness.grow(name, from: 4, to: 7) == "200 cosigned")
        _ = try await witness.program.line(containing: "store-recovered")
        #expect(await witness.stop() == 0)
    }

    @Test(
        "killed again and again it never cosigns two histories, nor a smaller tree later"
    )
    func kills() async throws {
        let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
        let directory = try TemporaryDirectory()
        let said = try await WitnessUnderTest.python(
            RunningProgram.folder.appending(path: "reveille").path, directory.path + "/campaign",
            "--kills", isLong ? "1000" : "25", script: "campaign.py")
        #expect(said.contains("kills") && said.contains("200:"), "\(said)")
    }
}
