import Foundation
import TestSupport

/// The client with another clock on its wall: Debian's `faketime`.
enum FakeTime {
    private static let path = "/usr/bin/faketime"

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
}
