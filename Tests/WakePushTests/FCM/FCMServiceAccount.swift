import Foundation
import TestSupport

@testable import WakePush

/// A service account of no project that exists: an RSA key by `openssl`, and the JSON file around
/// it as Google gives it out, in a directory of their own.
struct FCMServiceAccount {
    static let email = "pusher@example-project.iam.gserviceaccount.com"

    let directory: TemporaryDirectory
    let pem: String
    let publicPath: String
    let file: String

    init(
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
    func members(tokenURI: String = "https://oauth2.googleapis.com/token") -> [String: Any] {
        [
            "type": "service_account",
            "project_id": "example-project",
            "private_key_id": "0123456789abcdef0123456789abcdef01234567",
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

    func write(_ members: [String: Any]) throws {
        try write(JSONSerialization.data(withJSONObject: members, options: [.prettyPrinted]))
    }

    func write(_ data: Data) throws {
        try data.write(to: URL(filePath: file))
        try setMode(0o600)
    }

    func setMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }

    func credentials() throws -> FCMCredentials { try FCMCredentials(file: file) }

    /// Whether `openssl dgst -verify` accepts an RS256 signature over a message.
    func opensslAccepts(_ signature: [UInt8], message: [UInt8]) throws -> Bool {
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
