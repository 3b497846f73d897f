import Foundation
import TestSupport

@testable import WakePush

/// The `openssl` command: an implementation of keys and signatures that is not ours.
enum JWTOpenSSL {
    /// Why tests that need it are skipped.
    static let isInstalled = (try? run(["version"])) != nil

    /// Runs it to its end and returns what it said on standard output.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let (status, output) = try status(arguments)
        guard status == 0 else { throw TestFailure("openssl \(arguments[0]): status \(status)") }
        return output
    }

    static func status(_ arguments: [String]) throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
}

/// A key pair made by `openssl`, in a directory of its own.
struct JWTKeyPair {
    let directory: TemporaryDirectory
    /// PKCS #8, mode 0600.
    let privatePath: String
    let publicPath: String

    init(curve: String = "P-256") throws {
        directory = try TemporaryDirectory()
        privatePath = directory.path + "/AuthKey.p8"
        publicPath = directory.path + "/public.pem"
        try JWTOpenSSL.run([
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out",
            privatePath,
        ])
        try JWTOpenSSL.run(["pkey", "-in", privatePath, "-pubout", "-out", publicPath])
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: privatePath)
    }

    var privatePEM: [UInt8] { get throws { try bytes(privatePath) } }
    var publicPEM: [UInt8] { get throws { try bytes(publicPath) } }

    /// A file of the pair's directory.
    func bytes(of name: String) throws -> [UInt8] { try bytes(directory.path + "/" + name) }

    private func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    /// Whether `openssl dgst -verify` accepts a DER signature over a message.
    func opensslAccepts(der: [UInt8], message: [UInt8]) throws -> Bool {
        let signature = directory.path + "/signature.der"
        let text = directory.path + "/message"
        try Data(der).write(to: URL(filePath: signature))
        try Data(message).write(to: URL(filePath: text))
        let (status, _) = try JWTOpenSSL.status([
            "dgst", "-sha256", "-verify", publicPath, "-signature", signature, text,
        ])
        return status == 0
    }

    /// A DER signature by `openssl dgst -sign`.
    func opensslSigns(_ message: [UInt8]) throws -> [UInt8] {
        let signature = directory.path + "/signature.der"
        let text = directory.path + "/message"
        try Data(message).write(to: URL(filePath: text))
        try JWTOpenSSL.run(["dgst", "-sha256", "-sign", privatePath, "-out", signature, text])
        return try bytes(signature)
    }
}

// Spans cannot pass through the macros of tests.

extension P256Key {
    convenience init(_ half: Half, pem: [UInt8]) throws(SigningError) {
        try self.init(half, pem: pem.span)
    }

    func sign(_ message: [UInt8]) -> ECDSASignature? { sign(message.span) }

    func verifies(_ signature: ECDSASignature, of message: [UInt8]) -> Bool {
        verifies(signature, of: message.span)
    }
}

extension ECDSASignature {
    init?(der: [UInt8]) { self.init(der: der.span) }
}
