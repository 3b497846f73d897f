import Foundation
import TestSupport
import Testing

@Suite("One life, whatever the language", .timeLimit(.minutes(10)))
struct SameLifeTests {
    /// A program that watches the same feed in its own way. It takes FEED KEY SERVICE DIRECTORY
    /// NAME [later], and prints the same lines as the others.
    private struct Way {
        let name: String
        let words: [String]
        let directory: TemporaryDirectory

        init(_ name: String, _ words: [String]) throws {
            self.name = name
            self.words = words
            directory = try TemporaryDirectory()
        }
    }

    /// Every way that can be tried on this machine.
    private static func ways(_ library: SharedLibrary, _ bus: MessageBus?) async throws -> [Way] {
        let client = RunningProgram.folder.path + "/reveille-client"
        let scripts = Repository.absolute("Tests/LibraryUse")
        var ways = [
            try Way("Swift", [RunningProgram.folder.path + "/example-watch"]),
            try Way("run --json", ["python3", scripts + "/lines.py", client]),
        ]
        if !Sanitizer.isActive {
            let python = Repository.absolute("Tests/Examples/Python/watch.py")
            ways.append(try Way("Python", ["python3", python]))
            if SharedLibrary.compiler != nil {
                ways.append(try Way("C", [try await library.compileExample()]))
            }
        }
        if let bus, SharedLibrary.hasPythonWithDBus {
            let words = ["/usr/bin/python3", scripts + "/bus.py", client]
            ways.append(try Way("D-Bus", ["DBUS_SESSION_BUS_ADDRESS=" + bus.address] + words))
        }
        return ways
    }

    @Test("woken, matched, killed, restarted: Swift, C, run --json and D-Bus tell the same, once")
    func life() async throws {
        let service = try await ServiceUnderTest()
        let library = try await SharedLibrary()
        let bus = MessageBus.isInstalled ? try await MessageBus() : nil
        let ways = try await Self.ways(library, bus)
        let secret = Array("a secret of this device, the first".utf8)
        let start = { (more: [String], input: [UInt8]) in
            try ways.map { way in
                try library.start(
                    way.words + [service.url + "/feed/", service.feedKey, service.url]
                        + [way.directory.path + "/state", "visit"] + more, input: input)
            }
        }
        /// Waits until each has said this.
        func all(_ programs: [RunningProgram], say text: String) async throws {
            for program in programs { _ = try await program.line(containing: text) }
        }
        func kill(_ programs: [RunningProgram]) async {
            for program in programs { program.signal(SIGKILL) }
            for program in programs { _ = await program.exit() }
        }

        let first = try start(["later"], secret)
        try await all(first, say: ": connected, 0 batches checked")
        try await service.publish(secret, note: "one")
        try await all(first, say: "left for later: visit ")
        await kill(first)

        let second = try start([], [])
        try await all(second, say: "this concerns you: visit ")
        try await all(second, say: ": connected, 1 batches checked, 0 matches waiting")
        try await service.publish(secret, note: "two")
        try await all(second, say: "2 batches checked, 0 matches waiting")
        await kill(second)

        let third = try start([], [])
        try await all(third, say: ": connected, 2 batches checked, 0 matches waiting")
        for program in third { program.signal(SIGTERM) }
        for program in third { #expect(await program.exit() == 0, "\(program.output)") }

        let lives = zip(first, zip(second, third)).map { programs in
            Self.told(programs.0) + ["killed"] + Self.told(programs.1.0) + ["killed"]
                + Self.told(programs.1.1)
        }
        // The name, the id and the note: left, and told once each.
        #expect(lives[0].count == 5 && lives[0][0] == lives[0][2], "\(lives[0])")
        #expect(lives[0][0].hasSuffix(" one") && lives[0][3].hasSuffix(" two"))
        for (way, life) in zip(ways, lives) { #expect(life == lives[0], "\(way.name)") }
        #expect(ways.count > 1)
    }

    /// The matches that it told of: name, id and note.
    private static func told(_ program: RunningProgram) -> [String] {
        program.output.split(separator: "\n").compactMap { line in
            ["left for later: ", "this concerns you: "].first { line.hasPrefix($0) }
                .map { String(line.dropFirst($0.count)) }
        }
    }
}
