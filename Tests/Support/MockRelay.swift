/// The mock of an owner's relay as a child process, without TLS unless told.
package struct MockRelay: Sendable {
    package static let authority = "wake.example.org"

    private let mock: MockProgram
    private let certificates: TestAuthority?

    package var program: RunningProgram { mock.program }
    package var port: Int { mock.ports[0] }
    /// What `via` is. Plain, on loopback, it is also what is signed as authority.
    package var url: String { certificates == nil ? "http://127.0.0.1:\(port)" : secureURL }
    /// PEM file of who vouches for the mock's certificate; nil without TLS.
    package var certificateAuthority: String? { certificates?.certificate }

    private var secureURL: String { "https://localhost:\(port)" }

    /// - Parameters:
    ///   - flags: of `mock-push --service relay`.
    ///   - installations: public keys that may send, base64url; none: everybody may.
    ///   - authority: what must be signed; nil: whatever the Host field says.
    package init(
        _ flags: [String] = [], installations: [String] = [], authority: String? = nil,
        isSecure: Bool = false
    ) async throws {
        var arguments = ["--service", "relay"]
        arguments += installations.flatMap { ["--installation", $0] }
        if let authority { arguments += ["--authority", authority] }
        if isSecure {
            let certificates = try TestAuthority()
            let shown = try certificates.issue(for: "localhost")
            arguments += ["--certificate", shown.certificate, "--key", shown.key]
            self.certificates = certificates
        } else {
            certificates = nil
        }
        mock = try await MockProgram(arguments + flags)
    }

    package func report() async throws -> Report { try await mock.report() }

    package typealias Report = MockReport<Own>

    /// What a relay alone has.
    package struct Own: Decodable, Sendable {
        package let batches: Int
        package let wakes: Int
        package let largestBatch: Int
        package let mostAtOnce: Int
        /// Distinct ones.
        package let installations: Int
        package let services: [String: Int]
    }
}
