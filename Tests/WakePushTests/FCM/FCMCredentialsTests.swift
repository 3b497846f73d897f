import Foundation
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite("FCM credentials", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMCredentialsTests {
    private let account: ServiceAccountFile

    init() throws { account = try ServiceAccountFile() }

    @Test("a file as Google gives it out is read")
    func whole() throws {
        let credentials = try account.credentials()
        #expect(credentials.projectID == "example-project")
        #expect(credentials.clientEmail == ServiceAccountFile.email)
        #expect(credentials.privateKeyID?.count == 40)
        #expect(credentials.audience == "https://oauth2.googleapis.com/token")
    }

    @Test("an editor's byte order mark before the file is no fault")
    func mark() throws {
        let file = URL(filePath: account.file)
        try (Data([0xEF, 0xBB, 0xBF]) + Data(contentsOf: file)).write(to: file)
        #expect(try account.credentials().projectID == "example-project")
        #expect(
            try FCMCredentials.identity(file: account.file, project: nil).projectID
                == "example-project")
    }

    @Test("a file that others may read is refused", arguments: [0o640, 0o604, 0o620, 0o644])
    func mode(_ mode: Int) throws {
        try account.setMode(mode)
        #expect(throws: FCMCredentialError.file(.notPrivate(mode: mode_t(mode)))) {
            try account.credentials()
        }
        try account.setMode(0o400)
        #expect(try account.credentials().projectID == "example-project")
    }

    @Test("a file that is missing, huge or no JSON object is refused by its fault")
    func files() throws {
        let absent = account.directory.path + "/absent.json"
        #expect(throws: FCMCredentialError.file(.file(FileError(.open, ENOENT)))) {
            try FCMCredentials(file: absent)
        }
        try account.write(Data(repeating: 0x20, count: 16_385))
        #expect(throws: FCMCredentialError.fileMalformed) {
            try account.credentials()
        }
        for text in ["", "{", "[]", "null", "{}x", #"{"type":1}"#, #"{"type":"a","type":"a"}"#] {
            try account.write(Data(text.utf8))
            #expect(throws: FCMCredentialError.fileMalformed) { try account.credentials() }
        }
    }

    @Test("a file cut short at any point is refused")
    func everyCut() throws {
        let whole = try Array(Data(contentsOf: URL(filePath: account.file)))
        for count in 0..<whole.count - 1 where count % 7 == 0 || count > whole.count - 9 {
            #expect(throws: FCMCredentialError.fileMalformed) {
                try FCMCredentials(json: Array(whole.prefix(count)))
            }
        }
        #expect(try FCMCredentials(json: whole).projectID == "example-project")
    }

    @Test("a member that is missing or not of Google's form is refused by its name")
    func members() throws {
        let cases: [(String, [Any?], FCMCredentialError)] = [
            ("type", [nil, "", "authorized_user", "external_account"], .type),
            (
                "project_id",
                [nil, "", "..", "a/b", "a b", "a?b", "a\r\nb", String(repeating: "a", count: 129)],
                .projectID
            ),
            ("client_email", [nil, "", "nobody", "a b@c", "a@\u{e9}"], .clientEmail),
            ("private_key_id", ["", "a b", String(repeating: "a", count: 129)], .privateKeyID),
            (
                "token_uri",
                [
                    nil, "", "http://oauth2.googleapis.com/token", "ftp://127.0.0.1/", "token",
                    "https://user@example.org/", "https://a b/",
                    "http://example.onion/token", "http://10.0.0.1/token",
                ], .tokenURI
            ),
            (
                "private_key", [nil, "", "key", "-----BEGIN PRIVATE KEY-----\nMII"],
                .key(.keyMalformed)
            ),
        ]
        for (name, values, error) in cases {
            for value in values {
                var members = account.members()
                members[name] = value
                try account.write(members)
                #expect(throws: error) { try account.credentials() }
            }
        }
    }

    @Test("members that are not needed may be anything, and a key id may be missing")
    func unknownMembers() throws {
        var members = account.members()
        members["private_key_id"] = nil
        members["client_id"] = ["a": [1.5, -2e3, true, NSNull(), "x"]] as [String: Any]
        try account.write(members)
        #expect(try account.credentials().privateKeyID == nil)
    }

    @Test("an http address is taken on this machine only")
    func loopback() throws {
        for address in ["http://127.0.0.1:1/token", "http://localhost/t", "http://[::1]:9/token"] {
            try account.write(account.members(tokenURI: address))
            #expect(try account.credentials().audience == address)
        }
    }

    @Test("keys that are not RSA of 2048 bits or more are refused by their fault")
    func keys() throws {
        let weak = try ServiceAccountFile(bits: 1024)
        #expect(throws: FCMCredentialError.key(.keyOfOtherSize)) { try weak.credentials() }
        var members = account.members()
        members["private_key"] = String(
            decoding: try SigningKeyPair().privatePEM, as: UTF8.self)
        try account.write(members)
        #expect(throws: FCMCredentialError.key(.keyOfOtherKind)) { try account.credentials() }
        let path = account.directory.path
        for (algorithm, name) in [("RSA-PSS", "pss.pem"), ("ED25519", "ed.pem")] {
            try OpenSSLCommand.run(["genpkey", "-algorithm", algorithm, "-out", path + "/" + name])
            members["private_key"] = try String(contentsOfFile: path + "/" + name, encoding: .utf8)
            try account.write(members)
            #expect(throws: FCMCredentialError.key(.keyOfOtherKind)) { try account.credentials() }
        }
        try OpenSSLCommand.run([
            "pkey", "-in", path + "/key.pem", "-aes256", "-passout", "pass:x", "-out",
            path + "/locked.pem",
        ])
        members["private_key"] = try String(contentsOfFile: path + "/locked.pem", encoding: .utf8)
        try account.write(members)
        #expect(throws: FCMCredentialError.key(.keyMalformed)) { try account.credentials() }
    }

    @Test("every refusal says what to do in two lines, and nothing of the file's content")
    func messages() {
        let errors: [(FCMCredentialError, String)] = [
            (.file(.file(FileError(.open, ENOENT))), "cannot read"), (.file(.foreign), "chmod 600"),
            (.fileMalformed, "JSON"), (.type, "Generate new"), (.projectID, "project_id"),
            (.clientEmail, "client_email"), (.privateKeyID, "private_key_id"),
            (.tokenURI, "token_uri"), (.key(.keyMalformed), "private_key"),
            (.key(.keyOfOtherKind), "RSA"), (.key(.keyOfOtherSize), "2048"),
            (.key(.libraryMissing(.notFound)), "libssl3"),
            (.key(.libraryMissing(.functionMissing)), "libssl3"),
            (.key(.refused(OpenSSLReason(text: "unsupported"))), "unsupported"),
        ]
        for (error, word) in errors {
            let lines = error.message.split(separator: "\n")
            #expect(lines.count == 2 && error.message.contains(word))
            #expect(lines[0].hasPrefix("[fcm] key: ") && lines[1].hasPrefix("hint: "))
        }
        #expect(Set(errors.map(\.0.message)).count == errors.count)
    }

    @Test("credentials and keys print nothing of themselves")
    func redacted() throws {
        let credentials = try account.credentials()
        #expect("\(credentials)" == "(FCMCredentials)")
        #expect(String(reflecting: credentials) == "(FCMCredentials)")
        #expect(Mirror(reflecting: credentials).children.isEmpty)
        #expect("\(credentials.key)" == "(RSAKey)")
        #expect(String(reflecting: credentials.key) == "(RSAKey)")
    }
}
