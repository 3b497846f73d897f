private import Foundation

/// The mock push service as a child process.
package struct MockPush: Sendable {
    package let program: RunningProgram
    package let port: Int

    /// - Parameter arguments: flags of `mock-push`.
    package init(_ arguments: [String]) async throws {
        program = try RunningProgram("mock-push", arguments)
        let line = try await program.line(containing: "listening on port")
        guard let port = line.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw TestFailure("no port in: \(line)")
        }
        self.port = port
    }

    /// Ends it and reads its report.
    package func report() async throws -> Report {
        program.signal(SIGTERM)
        let line = try await program.line(containing: "\"connections\"")
        guard await program.exit() == 0 else { throw TestFailure("the mock failed: \(line)") }
        return try JSONDecoder().decode(Report.self, from: Data(line.utf8))
    }

    /// What the mock has seen and done.
    package struct Report: Decodable, Sendable {
        package let connections: Int
        package let requests: Int
        package let delivered: Int
        package let distinct: Int
        package let duplicates: Int
        package let providerTokens: Int
        package let mostStreams: Int
        package let answers: [String: Int]
        package let refusals: [String: Int]
        package let faults: [String: Int]
        package let violations: [String: Int]
        package let fields: [String: Int]
    }
}
