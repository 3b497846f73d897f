/// The mock of FCM as a child process, by TLS as `localhost`, with a service account that it knows.
package struct MockFCM: Sendable {
    private let mock: MockProgram
    package let account: ServiceAccountFile
    /// PEM file of who vouches for the mock's certificate.
    package let authority: String
    private let certificates: TestAuthority

    package var program: RunningProgram { mock.program }
    /// Of messages, and of exchanges by TLS.
    package var port: Int { mock.ports[0] }
    /// Of exchanges without TLS.
    package var tokenPort: Int { mock.ports[1] }

    /// - Parameter flags: of `mock-push --service fcm`; certificate and account are given.
    package init(_ flags: [String] = []) async throws {
        certificates = try TestAuthority()
        authority = certificates.certificate
        account = try ServiceAccountFile()
        let shown = try certificates.issue(for: "localhost")
        let arguments = [
            "--service", "fcm", "--token-port", "0", "--email", ServiceAccountFile.email,
            "--key-id", ServiceAccountFile.keyID, "--project", ServiceAccountFile.project,
            "--certificate", shown.certificate, "--key", shown.key,
        ]
        mock = try await MockProgram(arguments + flags, places: ["port", "token port"])
        try account.write(account.members(tokenURI: tokenURI))
    }

    /// What the account's file says.
    package var tokenURI: String { "http://127.0.0.1:\(tokenPort)/token" }

    /// The section of a service's configuration that leads here, by TLS.
    package var section: String {
        """
        [fcm]
        key = \(account.file)
        host = localhost
        port = \(port)
        ca = \(authority)
        connections = 1

        """
    }

    package func report() async throws -> Report { try await mock.report() }

    package typealias Report = MockReport<Own>

    /// What FCM alone has.
    package struct Own: Decodable, Sendable {
        /// Proper ones.
        package let exchanges: Int
        /// Access tokens.
        package let issued: Int
        /// Distinct and proper.
        package let assertions: Int
        /// Proper messages to installation IDs, and to topics.
        package let fids: Int
        package let topics: Int
    }
}
