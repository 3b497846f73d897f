import Foundation
import TestSupport
import Testing

/// Homes as people have them: behind a link, with parts of them on other disks.
@Suite("A home below symbolic links", .timeLimit(.minutes(5)))
struct LinkedHomeTests {
    /// What is a link, to a directory of the same name below `real`.
    enum Shape: CaseIterable {
        /// The directory of all homes.
        case home
        case homeAndParts
        case profile
    }

    private final class Home: Sendable {
        let directory: TemporaryDirectory
        let environment: [String: String]
        var state: String { directory.path + "/homes/ann/.local/state/reveille/default" }

        init(_ shape: Shape, bus: MessageBus) throws {
            directory = try TemporaryDirectory()
            environment = [
                "HOME": directory.path + "/homes/ann", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "",
                "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "DBUS_SESSION_BUS_ADDRESS": bus.address,
            ]
            let ann = "homes/ann/"
            let (linked, made): ([String], [String]) =
                switch shape {
                case .home: (["homes"], ["homes/ann"])
                case .homeAndParts:
                    (
                        ["homes", ann + ".local/state", ann + ".cache", ann + ".config"],
                        ["homes/ann", ann + ".local"]
                    )
                case .profile:
                    (
                        [
                            ann + ".local/state/reveille/default",
                            ann + ".local/state/reveille/default/secrets",
                            ann + ".cache/reveille/default",
                        ], [ann + ".local/state/reveille", ann + ".cache/reveille"]
                    )
                }
            for path in linked { try link(path) }
            for path in made { try make(directory.path + "/" + path) }
            for path in linked where !isThere(path) { try link(path) }
        }

        private func isThere(_ path: String) -> Bool {
            FileManager.default.fileExists(atPath: directory.path + "/" + path)
        }

        private func make(_ path: String) throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }

        /// Does nothing yet when what is above is not there.
        private func link(_ path: String) throws {
            let target = directory.path + "/real/" + path.replacing("/", with: "_")
            try make(target)
            let place = directory.path + "/" + path
            try? FileManager.default.createSymbolicLink(
                atPath: place, withDestinationPath: target)
        }

        func command(
            _ words: String..., input: String = ""
        ) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                "reveille-client", words, input: Array(input.utf8), environment: environment)
        }
    }

    @Test(
        "every command works there and tells the truth",
        .enabled(if: MessageBus.isInstalled, MessageBus.missing), arguments: Shape.allCases)
    func life(_ shape: Shape) async throws {
        let service = try await ServiceUnderTest()
        let bus = try await MessageBus()
        let home = try Home(shape, bus: bus)
        func expect(
            _ status: Int32, _ words: String, _ answer: (status: Int32, output: String)
        ) {
            #expect(
                answer.status == status && (words.isEmpty || answer.output.contains(words)),
                "\(answer.output)")
        }
        expect(
            0, "",
            try await home.command(
                "init", "--feed", service.url + "/feed/", "--key", service.feedKey, "--service",
                service.url))
        expect(0, "default\n", try await home.command("profiles"))
        let secret = TestDevice().pushText
        expect(0, "visit\n", try await home.command("secrets", "add", "visit", input: secret))
        expect(0, "visit\n", try await home.command("secrets", "list"))
        let device = TestDevice()
        expect(0, "", try await home.command("register", "apns", input: device.pushText))
        expect(0, "current", try await home.command("stored"))
        _ = try await service.publish([secret], notes: ["one"])
        expect(10, "match ", try await home.command("sync"))
        expect(0, "client          not running", try await home.command("status"))
        // The program of a match behind a link as well.
        let program = home.directory.path + "/on-match"
        try "#!/bin/sh\necho told $REVEILLE_SECRET_ID\n".write(
            toFile: home.directory.path + "/program", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: home.directory.path + "/program")
        try FileManager.default.createSymbolicLink(
            atPath: program, withDestinationPath: "program")
        let running = try RunningProgram(
            "reveille-client", ["run", "--verbose", "--dbus", "--on-match", program],
            environment: home.environment)
        _ = try await running.line(containing: "stream connected")
        let process = "running, process \(running.identifier)"
        expect(0, "client          \(process)\n", try await home.command("status"))
        expect(0, "\"running\":true", try await home.command("status", "--json"))
        expect(0, "\"process\":\(running.identifier),", try await home.command("status", "--json"))
        let doctor = try await home.command("doctor")
        expect(0, process, doctor)
        for line in ["ok       state-directory", "ok       cache-directory", "ok       secrets"] {
            #expect(doctor.output.contains(line), "\(doctor.output)")
        }
        expect(0, "has reported", try await home.command("test"))
        expect(75, "another process works with this profile", try await home.command("sync"))
        _ = try await service.publish([secret], notes: ["two"], "--then-broadcast")
        _ = try await running.line(containing: "told visit")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        expect(0, "not running", try await home.command("status"))
        expect(0, "", try await home.command("unregister"))
        expect(0, "", try await home.command("secrets", "remove", "visit"))
        expect(0, "", try await home.command("forget"))
        #expect(try FileSnapshot.files(below: home.directory.path).keys.sorted() == ["program"])
    }

    @Test("a client that cannot begin leaves no empty database behind")
    func nothingLeft() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try FileManager.default.removeItem(atPath: client.state + "/client.db")
        // No byte can be written to any file.
        let program = RunningProgram.folder.appending(path: "reveille-client").path
        let answer = try await RunningProgram.run(
            path: "/bin/sh",
            ["-c", "ulimit -f 0; exec \"$1\" sync --state \"$2\"", "sh", program, client.state])
        #expect(answer.status == 74, "\(answer.output)")
        let names = try FileManager.default.contentsOfDirectory(atPath: client.state)
        #expect(!names.contains("client.db"), "\(names)")
        #expect(try await client.command("sync").output == "")
    }
}
