import Foundation
import TestSupport
import Testing

@Suite("Exposure notifications, the example", .timeLimit(.minutes(10)))
struct ExposureTests {
    /// A phone of the example: keys, and a profile of `reveille-client`.
    private struct ExposurePhone {
        let client: ClientUnderTest
        private var keys: String { client.directory.path + "/keys" }

        init(of service: ServiceUnderTest) async throws {
            client = try await ClientUnderTest(of: service)
        }

        /// What its radio sends at this time.
        func beacon(at time: Int) async throws -> String {
            let made = try await Exposure.run(["beacon", keys], at: time)
            #expect(made.status == 0, "\(made.output)")
            return made.output
        }

        func hear(_ identifiers: String, at time: Int) async throws {
            let made = try await Exposure.run(
                ["hear", "--state", client.state], at: time, input: Array(identifiers.utf8))
            #expect(made.status == 0, "\(made.output)")
        }

        func forget(at time: Int) async throws {
            let made = try await Exposure.run(["forget", keys, "--state", client.state], at: time)
            #expect(made.status == 0, "\(made.output)")
        }

        var days: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: keys).sorted() }
        }

        /// The key of a day, as its owner hands it out.
        func key(_ day: String) throws -> [UInt8] {
            Array(try Data(contentsOf: URL(filePath: keys + "/" + day)))
        }

        func start() throws -> RunningProgram {
            try client.start("run", "--verbose", "--on-match", Exposure.command("tell"))
        }
    }

    private static let morning = 1_800_000_000  // 2027-01-15, 08:00 UTC
    private static let day = "2027-01-15"

    @Test("who was near is told once, with the time; nobody else is, and the feed names nobody")
    func told() async throws {
        let service = try await ServiceUnderTest()
        let ill = try await ExposurePhone(of: service)
        let near = try await ExposurePhone(of: service)
        let far = try await ExposurePhone(of: service)
        let first = try await ill.beacon(at: Self.morning)
        #expect(try await ill.beacon(at: Self.morning + 60) == first)
        let second = try await ill.beacon(at: Self.morning + 900)
        let other = try await far.beacon(at: Self.morning)
        #expect(Set([first, second, other]).count == 3)
        // Heard again and again, and of several at once.
        try await near.hear(first, at: Self.morning + 30)
        try await near.hear(other + first, at: Self.morning + 90)
        try await near.hear(second, at: Self.morning + 960)
        try await far.hear(try await near.beacon(at: Self.morning), at: Self.morning)
        #expect(
            try await near.client.command("secrets", "list").output.split(separator: "\n").count
                == 3)

        let programs = [try near.start(), try far.start()]
        for program in programs { _ = try await program.line(containing: "stream connected") }
        let key = try ill.key(Self.day)
        let published = try await Exposure.run(
            ["publish", Self.day, "--config", service.configuration], input: key)
        #expect(published.status == 0, "\(published.output)")
        _ = try await programs[0].line(containing: "on 2027-01-15 at 08:00 UTC you were near")
        _ = try await programs[0].line(containing: "on 2027-01-15 at 08:16 UTC you were near")
        try await near.client.settled()
        // The other one has checked as much.
        while try await far.client.status("sequence") != "1" {}
        for program in programs {
            program.signal(SIGTERM)
            #expect(await program.exit() == 0, "\(program.output)")
        }
        #expect(programs[0].output.matches(of: /you were near/).count == 2)
        #expect(programs[0].output.matches(of: /said to be so since 2027-01-15/).count == 2)
        #expect(!programs[1].output.contains("you were near"))
        // Published again, and told no more.
        let again = try await Exposure.run(
            ["publish", Self.day, "--config", service.configuration], input: key)
        #expect(again.status == 0, "\(again.output)")
        #expect(try await near.client.command("sync").status == 0)
        // Neither key nor identifier is in any file of the service.
        let needles = [key, Array(first.dropLast().utf8), Self.bytes(first), Self.bytes(second)]
        #expect(try service.files(containing: needles) == [])
    }

    @Test("after 14 days keys and what was heard are gone, and not before")
    func forgotten() async throws {
        let service = try await ServiceUnderTest()
        let phone = try await ExposurePhone(of: service)
        let other = try await ExposurePhone(of: service)
        for time in [Self.morning, Self.morning + 86_400] {
            _ = try await phone.beacon(at: time)
            try await phone.hear(try await other.beacon(at: time), at: time)
        }
        try await phone.forget(at: Self.morning + 14 * 86_400)
        #expect(try phone.days == [Self.day, "2027-01-16"])
        try await phone.forget(at: Self.morning + 15 * 86_400)
        #expect(try phone.days == ["2027-01-16"])
        let names = try await phone.client.command("secrets", "list").output
        #expect(names.hasPrefix("2027-01-16.0800.") && names.split(separator: "\n").count == 1)
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.filter { $0 > 32 }.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

/// The example's script.
private enum Exposure {
    private static let script = Repository.absolute("Tests/Examples/Exposure/exposure.py")
    private static var path: String {
        RunningProgram.folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
    }

    static func command(_ word: String) -> String { "python3 \(script) \(word)" }

    static func run(
        _ words: [String], at time: Int = 0, input: [UInt8] = []
    ) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            path: "/usr/bin/env",
            ["PATH=\(path)", "EXPOSURE_NOW=\(time)", "python3", script] + words, input: input)
    }
}
