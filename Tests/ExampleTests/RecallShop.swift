import Foundation
import TestSupport

/// A shop that publishes recalls as plain files over HTTP, and a device that knows what is in its
/// cupboard.
struct RecallShop {
    let directory: TemporaryDirectory
    private let server: PublishedFiles

    private var published: URL { URL(filePath: directory.path + "/published") }
    private var cupboard: URL { URL(filePath: directory.path + "/cupboard") }

    init(cupboard numbers: String...) throws {
        directory = try TemporaryDirectory()
        server = try PublishedFiles(directory.path + "/published")
        try FileManager.default.createDirectory(
            at: published, withIntermediateDirectories: false)
        try keep(numbers)
    }

    /// What the device has at home from now on.
    func keep(_ numbers: [String]) throws {
        try numbers.joined(separator: "\n").write(to: cupboard, atomically: true, encoding: .utf8)
    }

    /// Adds text to a file, as the shop does: lines, or the beginning of one.
    func publish(_ text: String, in name: String) throws {
        let file = published.appending(path: name)
        if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    /// Starts the example on this shop and this device's state.
    func start(_ words: String...) throws -> RunningProgram {
        try RunningProgram(
            "example-recalls",
            [server.address, cupboard.path, directory.path + "/state"] + words)
    }

    /// Lets it look once.
    /// - Returns: what it told, sorted.
    func look() async throws -> [String] {
        let program = try start("--once")
        guard await program.exit() == 0 else { throw TestFailure(program.output) }
        return Self.told(program.output)
    }

    /// The batch numbers in what it said, sorted.
    static func told(_ output: String) -> [String] {
        reports(output).map(\.number).sorted()
    }

    /// Batch numbers with the ids of their matches.
    static func reports(_ output: String) -> [(number: String, id: String)] {
        output.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            return words.count == 3 && words[0] == "recalled:" ? (words[1], words[2]) : nil
        }
    }
}
