private import Foundation

/// The mock of Web Push as a child process, by TLS as every name in one domain, with the VAPID key
/// that it expects.
package struct MockWebPush: Sendable {
    package static let domain = "push.example"

    private let mock: MockProgram
    /// PEM file of who vouches for the mock's certificate.
    package let authority: String
    private let certificates: TestAuthority
    private let pair: SigningKeyPair
    private let hosts: String

    package var program: RunningProgram { mock.program }
    package var port: Int { mock.ports[0] }
    /// The private VAPID key: PKCS #8, mode 0600.
    package var keyPath: String { pair.privatePath }
    /// `k=`: the point in base64url.
    package let publicKey: String

    /// - Parameters:
    ///   - flags: of `mock-push --service webpush`; certificate and public key are given.
    ///   - others: more host names.
    package init(_ flags: [String] = [], others: [String] = []) async throws {
        hosts = (["*.\(Self.domain)"] + others).joined(separator: ", ")
        certificates = try TestAuthority()
        authority = certificates.certificate
        pair = try SigningKeyPair()
        publicKey = Self.point(try pair.publicPEM)
        let shown = try certificates.issue(for: "*.\(Self.domain)", also: others)
        let arguments = [
            "--service", "webpush", "--public-key", publicKey, "--certificate", shown.certificate,
            "--key", shown.key,
        ]
        mock = try await MockProgram(arguments + flags)
    }

    /// The name of a numbered host.
    package static func host(_ number: Int) -> String { "h\(number).\(domain)" }

    /// Endpoint `number` of a host.
    package static func endpoint(_ number: Int, host: Int) -> String {
        "https://\(Self.host(host))/p/\(number)"
    }

    /// The section of a service's configuration that leads here, whatever the names resolve to.
    package var section: String {
        """
        [webpush]
        key = \(keyPath)
        hosts = \(hosts)
        connect = 127.0.0.1:\(port)
        ca = \(authority)

        """
    }

    package func report() async throws -> Report { try await mock.report() }

    package typealias Report = MockReport<Own>

    /// What Web Push alone has.
    package struct Own: Decodable, Sendable {
        package let redirects: Int
        package let redirectsFollowed: Int
        /// By name.
        package let hosts: [String: Host]
    }

    package struct Host: Decodable, Sendable {
        package let requests: Int
        package let delivered: Int
        package let duplicates: Int
        /// Distinct ones.
        package let endpoints: Int
        package let connections: Int
        /// Distinct values of `authorization`.
        package let credentials: Int
        package let mostAtOnce: Int
        /// Connections that fell silent in the handshake.
        package let silenced: Int
    }

    /// The last 65 bytes of a SubjectPublicKeyInfo.
    private static func point(_ pem: [UInt8]) -> String {
        let text = String(decoding: pem, as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("-") }.joined()
        let key = Data(base64Encoded: text) ?? Data()
        return key.suffix(65).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
