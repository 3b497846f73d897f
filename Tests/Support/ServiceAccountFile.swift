package import Foundation

/// A service account of no project that exists: an RSA key by `openssl`, and the JSON file around
/// it as Google gives it out, in a directory of their own.
package struct ServiceAccountFile: Sendable {
    package static let email = "pusher@example-project.iam.gserviceaccount.com"
    package static let project = "example-project"
    package static let keyID = "0123456789abcdef0123456789abcdef01234567"

    package let directory: TemporaryDirectory
    package let pem: String
    package let publicPath: String
    /// JSON, mode 0600.
    package let file: String

    /// - Parameter owner: another number, another key.
    package init(
        owner: Int = 0, bits: Int = 2048, tokenURI: String = "https://oauth2.googleapis.com/token"
    ) throws {
        directory = try TemporaryDirectory()
        let keyPath = directory.path + "/key.pem"
        publicPath = directory.path + "/public.pem"
        file = directory.path + "/account.json"
        pem = try SharedRSAKey.pem(owner: owner, bits: bits)
        try pem.write(toFile: keyPath, atomically: false, encoding: .utf8)
        try OpenSSLCommand.run(["pkey", "-in", keyPath, "-pubout", "-out", publicPath])
        try write(members(tokenURI: tokenURI))
    }

    /// As in a file of 2024.
    package func members(tokenURI: String = "https://oauth2.googleapis.com/token") -> [String: Any]
    {
        [
            "type": "service_account",
            "project_id": Self.project,
            "private_key_id": Self.keyID,
            "private_key": pem,
            "client_email": Self.email,
            "client_id": "100000000000000000001",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": tokenURI,
            "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
            "client_x509_cert_url": "https://www.googleapis.com/robot/v1/metadata/x509/pusher",
            "universe_domain": "googleapis.com",
        ]
    }

    package func write(_ members: [String: Any]) throws {
        try write(JSONSerialization.data(withJSONObject: members, options: [.prettyPrinted]))
    }

    package func write(_ data: Data) throws {
        try data.write(to: URL(filePath: file))
        try setMode(0o600)
    }

    package func setMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    /// Whether `openssl dgst -verify` accepts an RS256 signature over a message.
    package func opensslAccepts(_ signature: [UInt8], message: [UInt8]) throws -> Bool {
        let signaturePath = directory.path + "/signature"
        let messagePath = directory.path + "/message"
        try Data(signature).write(to: URL(filePath: signaturePath))
        try Data(message).write(to: URL(filePath: messagePath))
        let (status, _) = try OpenSSLCommand.status([
            "dgst", "-sha256", "-verify", publicPath, "-signature", signaturePath, messagePath,
        ])
        return status == 0
    }
}
