import Foundation
import TestSupport

/// `reveille witness serve` in a directory of its own, and the logs and witnesses of
/// Tests/Witnesses, which share not a line with it.
final class WitnessUnderTest {
    let directory: TemporaryDirectory
    private(set) var program: RunningProgram
    private(set) var port: UInt16
    /// As `init` printed it.
    let key: String

    var place: String { directory.path + "/witness" }

    /// Whether the scripts can run; why tests that need them are skipped.
    static let hasPython = PythonPeer.isInstalled

    /// - Parameter logs: verifier keys that it knows from the start.
    init(logs: [String] = []) async throws {
        directory = try TemporaryDirectory()
        let place = directory.path + "/witness"
        key = try ServiceUnderTest.word(
            after: "witness key: ",
            in: try await Self.command(place, "init", "witness.example/w1"))
        for log in logs { _ = try await Self.command(place, "add-log", log) }
        (program, port) = try await Self.start(place)
    }

    /// Runs a command on the directory.
    /// - Throws: when it fails.
    func command(_ words: String...) async throws -> String {
        try await Self.command(place, words)
    }

    private static func command(_ place: String, _ words: String...) async throws -> String {
        try await command(place, words)
    }

    private static func command(_ place: String, _ words: [String]) async throws -> String {
        let answer = try await RunningProgram.run(
            "reveille", ["witness"] + words + ["--directory", place])
        guard answer.status == 0 else { throw TestFailure(answer.output) }
        return answer.output
    }

    func restart() async throws { (program, port) = try await Self.start(place) }

    /// The same on a disk of its own, such as "256k", that only the witness sees: its files are
    /// then under `placeWithin`.
    /// - Returns: false when no such disk can be made here.
    func restart(within size: String) async throws -> Bool {
        let reveille = RunningProgram.folder.appending(path: "reveille").path
        program = try RunningProgram(
            "store-worker", ["within", place, size, reveille] + Self.serving(place))
        do {
            port = try await Self.port(of: program)
            return true
        } catch {
            if program.output.contains("skipped ") { return false }
            throw error
        }
    }

    var placeWithin: String { "/proc/\(program.identifier)/root" + place }

    /// Ends it in an orderly way; its exit status.
    func stop() async -> Int32 {
        program.signal(SIGTERM)
        return await program.exit()
    }

    private static func serving(_ place: String) -> [String] {
        ["witness", "serve", "--listen", "127.0.0.1:0", "--directory", place]
    }

    private static func start(_ place: String) async throws -> (RunningProgram, UInt16) {
        let program = try RunningProgram("reveille", serving(place))
        return (program, try await port(of: program))
    }

    private static func port(of program: RunningProgram) async throws -> UInt16 {
        let line = try await program.line(containing: "started port=")
        guard let port = UInt16(try ServiceUnderTest.word(after: "port=", in: line)) else {
            throw TestFailure(line)
        }
        return port
    }

    // MARK: A log of other make

    static let seed = String(repeating: "5a", count: 32)

    /// Runs Tests/Witnesses/log.py, or another script there.
    static func python(_ words: String..., script: String = "log.py") async throws -> String {
        let answer = try await RunningProgram.run(
            path: "/usr/bin/env",
            ["python3", Repository.absolute("Tests/Witnesses/" + script)] + words)
        guard answer.status == 0 else { throw TestFailure(answer.output) }
        return answer.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The verifier key of a log of other make.
    static func log(_ name: String) async throws -> String {
        try await python("vkey", name, seed)
    }

    /// Asks for a cosignature of a log of other make: the status, and whether there is one.
    func grow(_ name: String, from old: Int, to size: Int) async throws -> String {
        try await Self.python("grow", "\(port)", key, name, Self.seed, "\(old)", "\(size)")
    }
}
