private import Foundation

/// An authority of its own, and servers' certificates of it, by `openssl`.
package struct TestAuthority: Sendable {
    private let directory: TemporaryDirectory

    package init() throws {
        directory = try TemporaryDirectory()
        try OpenSSLCommand.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", path("ca.key"), "-out", certificate, "-days", "2", "-subj",
            "/CN=Authority",
        ])
    }

    /// The path of the authority's own certificate.
    package var certificate: String { path("ca.pem") }

    /// A certificate and its key, for a host name.
    /// - Parameter days: 0 for one that has expired, as its end is its beginning.
    package func issue(
        for name: String, also others: [String] = [], days: Int = 1
    ) throws -> (certificate: String, key: String) {
        let (key, request) = (path("\(name).key"), path("\(name).csr"))
        let names = ([name] + others).map { "DNS:\($0)" }.joined(separator: ",")
        let (issued, words) = (path("\(name).pem"), path("\(name).ext"))
        try Data("subjectAltName=\(names)\n".utf8).write(to: URL(filePath: words))
        try OpenSSLCommand.run([
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            key, "-out", request, "-subj", "/CN=\(name)",
        ])
        try OpenSSLCommand.run([
            "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", path("ca.key"),
            "-set_serial", "7", "-days", "\(days)", "-extfile", words, "-out", issued,
        ])
        return (issued, key)
    }

    private func path(_ name: String) -> String { directory.path + "/" + name }
}
