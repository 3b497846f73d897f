import Foundation
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite("APNs credentials", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct APNsCredentialsTests {
    @Test("a key file that others may read is refused", arguments: [0o640, 0o604, 0o620, 0o644])
    func mode(_ mode: Int) throws {
        let pair = try SigningKeyPair()
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: pair.privatePath)
        #expect(throws: APNsCredentialError.keyFile(.notPrivate(mode: mode_t(mode)))) {
            try ProviderTokenTests.credentials(pair)
        }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o400], ofItemAtPath: pair.privatePath)
        #expect(try ProviderTokenTests.credentials(pair).topic == "org.example.app")
    }

    @Test("a key file that is missing, empty, huge or no key is refused by its fault")
    func files() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/key.p8"
        #expect(throws: APNsCredentialError.keyFile(.file(FileError(.open, ENOENT)))) {
            try Self.load(path)
        }
        try Self.write("", path)
        #expect(throws: APNsCredentialError.key(.keyMalformed)) { try Self.load(path) }
        try Self.write("-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n", path)
        #expect(throws: APNsCredentialError.key(.keyMalformed)) { try Self.load(path) }
        try Self.write(String(repeating: "x", count: 9000), path)
        #expect(throws: APNsCredentialError.key(.keyMalformed)) {
            try Self.load(path)
        }
    }

    @Test("names that Apple does not give are refused by their setting")
    func names() throws {
        let pair = try SigningKeyPair()
        for name in ["", "TEAM12345", "TEAM1234567", "team123456", "TEAM\"12345", "TEAM 12345"] {
            #expect(throws: APNsCredentialError.teamID) {
                try ProviderTokenTests.credentials(pair, team: name)
            }
            #expect(throws: APNsCredentialError.keyID) {
                try ProviderTokenTests.credentials(pair, keyID: name)
            }
        }
        for topic in [
            "", "org example", "org.example\r\nx: y", "örg", String(repeating: "a", count: 256),
        ] {
            #expect(throws: APNsCredentialError.topic) {
                try APNsCredentials(
                    teamID: "TEAM123456", keyID: "ABC123DEFG", topic: topic,
                    keyFile: pair.privatePath)
            }
        }
    }

    @Test("every refusal names its setting and what to do")
    func messages() {
        let errors: [(APNsCredentialError, String)] = [
            (.teamID, "team-id"), (.keyID, "key-id"), (.topic, "topic"),
            (.keyFile(.file(FileError(.open, ENOENT))), "key"), (.keyFile(.foreign), "chmod 600"),
            (.key(.keyMalformed), ".p8"), (.key(.libraryMissing(.notFound)), "libssl3"),
        ]
        for (error, word) in errors {
            #expect(error.message.contains(word) && error.message.contains("\nhint: "))
            #expect(error.message.hasPrefix("[apns] "))
        }
    }

    private static func load(_ path: String) throws -> APNsCredentials {
        try APNsCredentials(
            teamID: "TEAM123456", keyID: "ABC123DEFG", topic: "org.example.app", keyFile: path)
    }

    private static func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
