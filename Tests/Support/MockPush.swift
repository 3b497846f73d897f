/// The mock of APNs as a child process.
package struct MockPush: Sendable {
    private let mock: MockProgram

    package var program: RunningProgram { mock.program }
    package var port: Int { mock.ports[0] }

    /// - Parameter arguments: flags of `mock-push`.
    package init(_ arguments: [String]) async throws {
        mock = try await MockProgram(arguments)
    }

    /// Ends it and reads its report.
    package func report() async throws -> Report { try await mock.report() }

    package typealias Report = MockReport<Own>

    /// What APNs alone has.
    package struct Own: Decodable, Sendable {
        package let providerTokens: Int
    }
}
