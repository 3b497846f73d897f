private import Foundation

/// A key pair made by `openssl`, in a directory of its own.
package struct SigningKeyPair: Sendable {
    package let directory: TemporaryDirectory
    /// PKCS #8, mode 0600.
    package let privatePath: String
    package let publicPath: String

    package init(curve: String = "P-256") throws {
        directory = try TemporaryDirectory()
        privatePath = directory.path + "/AuthKey.p8"
        publicPath = directory.path + "/public.pem"
        try OpenSSLCommand.run([
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out",
            privatePath,
        ])
        try OpenSSLCommand.run(["pkey", "-in", privatePath, "-pubout", "-out", publicPath])
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: privatePath)
    }

    /// The section `[apns]` of a service that signs with this pair.
    /// - Parameter lines: what follows, such as where the push service is.
    package func section(topic: String = "org.example.app", _ lines: String...) -> String {
        let known = [
            "", "[apns]", "key = \(privatePath)", "key-id = ABC123DEFG", "team-id = TEAM123456",
            "topic = \(topic)",
        ]
        return (known + lines + [""]).joined(separator: "\n")
    }

    package var privatePEM: [UInt8] { get throws { try bytes(privatePath) } }
    package var publicPEM: [UInt8] { get throws { try bytes(publicPath) } }

    /// A file of the pair's directory.
    package func bytes(of name: String) throws -> [UInt8] {
        try bytes(directory.path + "/" + name)
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    /// Whether `openssl dgst -verify` accepts a DER signature over a message.
    package func opensslAccepts(der: [UInt8], message: [UInt8]) throws -> Bool {
        let signature = directory.path + "/signature.der"
        let text = directory.path + "/message"
        try Data(der).write(to: URL(filePath: signature))
        try Data(message).write(to: URL(filePath: text))
        let (status, _) = try OpenSSLCommand.status([
            "dgst", "-sha256", "-verify", publicPath, "-signature", signature, text,
        ])
        return status == 0
    }

    /// A DER signature by `openssl dgst -sign`.
    package func opensslSigns(_ message: [UInt8]) throws -> [UInt8] {
        let signature = directory.path + "/signature.der"
        let text = directory.path + "/message"
        try Data(message).write(to: URL(filePath: text))
        try OpenSSLCommand.run(["dgst", "-sha256", "-sign", privatePath, "-out", signature, text])
        return try bytes(signature)
    }
}
