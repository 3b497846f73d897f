import Foundation
import TestSupport

/// The client with another clock on its wall: Debian's `faketime`.
enum FakeTime {
    fileprivate static let path = "/usr/bin/faketime"

    /// Why tests that need it are skipped.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)

    /// Runs a command of the client to its end.
    /// - Parameter offset: such as `+25h` or `-1y`.
    static func run(
        _ client: ClientUnderTest, _ offset: String, _ words: String...
    ) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            path: path, ["-f", offset, Mounts.client] + words + ["--state", client.state])
    }

    /// Runs a command of the service to its end.
    static func service(
        _ offset: String, _ words: String...
    ) async throws -> (status: Int32, output: String) {
        let program = RunningProgram.folder.appending(path: "reveille").path
        return try await RunningProgram.run(path: path, ["-f", offset, program] + words)
    }

    /// The clock of a service that a test sets while the service runs.
    struct Clock {
        private let file: String

        init(_ file: String) throws {
            self.file = file
            try set("+0")
        }

        func set(_ offset: String) throws {
            try Data(offset.utf8).write(to: URL(filePath: file), options: .atomic)
        }

        /// Starts the service; it ends with the program that is given back.
        func serve(_ configuration: String) throws -> RunningProgram {
            let program = RunningProgram.folder.appending(path: "reveille").path
            return try RunningProgram(
                path: FakeTime.path,
                [
                    "-m", "-f", "+0", "/usr/bin/env", "-u", "FAKETIME",
                    "FAKETIME_TIMESTAMP_FILE=\(file)", "FAKETIME_NO_CACHE=1", "setpriv",
                    "--pdeathsig", "KILL", program, "serve", "--config", configuration,
                ])
        }
    }
}
