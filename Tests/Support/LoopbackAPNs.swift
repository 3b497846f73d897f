/// APNs as far as a service is concerned: the mock on loopback without TLS, with a key made for
/// this one test. It verifies provider tokens and everything else in a request.
package struct LoopbackAPNs {
    package let mock: MockPush
    package let pair: SigningKeyPair

    /// - Parameter flags: of the mock.
    package init(_ flags: [String] = []) async throws {
        pair = try SigningKeyPair()
        mock = try await MockPush(
            [
                "--public-key", pair.publicPath, "--key-id", "ABC123DEFG", "--team-id",
                "TEAM123456", "--topic", "org.example.app",
            ] + flags)
    }

    /// What leads a service to it.
    package var section: String {
        pair.section("host = 127.0.0.1", "port = \(mock.port)", "plain = on")
    }
}
