import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Provider tokens", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct ProviderTokenTests {
    static let start = ClockReading(
        wall: 1_700_000_000, uptime: 5000, boot: [UInt8](repeating: 1, count: 16))

    @Test("a token is what Apple asks for, and openssl accepts its signature")
    func shape() throws {
        let pair = try SigningKeyPair()
        let credentials = try Self.credentials(pair)
        let token = try #require(ProviderToken(mintedBy: credentials, at: Self.start))
        let parts = String(decoding: token.text.copy(), as: UTF8.self).split(separator: ".")
        try #require(parts.count == 3)
        let header = try Self.decode(parts[0])
        let claims = try Self.decode(parts[1])
        #expect(header == Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
        #expect(claims == Array(#"{"iss":"TEAM123456","iat":1700000000}"#.utf8))
        let raw = try Self.decode(parts[2])
        #expect(raw.count == 64)
        let signature = try #require(ECDSASignature(raw: raw))
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(try pair.opensslAccepts(der: signature.der(), message: signed))
        #expect(try !SigningKeyPair().opensslAccepts(der: signature.der(), message: signed))
    }

    @Test("a token prints nothing of itself")
    func redacted() throws {
        let credentials = try Self.credentials(SigningKeyPair())
        let token = try #require(ProviderToken(mintedBy: credentials, at: Self.start))
        #expect("\(token)" == "(ProviderToken)")
        #expect(String(reflecting: token) == "(ProviderToken)")
        #expect("\(credentials)" == "(APNsCredentials)")
        #expect(Mirror(reflecting: credentials).children.isEmpty)
    }

    @Test("a kept token is taken up again, alike in every byte and 0600")
    func kept() throws {
        let credentials = try Self.credentials(SigningKeyPair())
        let directory = try TemporaryDirectory()
        let path = directory.path + "/apns.token"
        let first = try Self.authorization(credentials, path, at: Self.start)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let again = try Self.authorization(credentials, path, at: Self.start.later(49 * 60))
        #expect(again == first)
    }

    @Test("a kept token of another key, key id or team is not used")
    func foreign() throws {
        let pair = try SigningKeyPair()
        let credentials = try Self.credentials(pair)
        let directory = try TemporaryDirectory()
        let path = directory.path + "/apns.token"
        let first = try Self.authorization(credentials, path, at: Self.start)
        let others = [
            try Self.credentials(SigningKeyPair()), try Self.credentials(pair, team: "TEAM999999"),
            try Self.credentials(pair, keyID: "ZZZZZZZZZZ"),
        ]
        for other in others {
            #expect(try ProviderTokenFile(path: path).read(other) == nil)
        }
        let kept = try ProviderTokenFile(path: path).read(credentials)
        #expect(try first == APNsRequest.authorization(#require(kept)))
    }

    @Test("a damaged file is no token, and no crash")
    func damaged() throws {
        let credentials = try Self.credentials(SigningKeyPair())
        let directory = try TemporaryDirectory()
        let path = directory.path + "/apns.token"
        let file = ProviderTokenFile(path: path)
        let token = try #require(ProviderToken(mintedBy: credentials, at: Self.start))
        file.write(token)
        let whole = Array(try Data(contentsOf: URL(filePath: path)))
        for count in stride(from: 0, to: whole.count, by: 7) {
            try Self.write(Array(whole.prefix(count)), path)
            #expect(try file.read(credentials) == nil)
        }
        for index in stride(from: 0, to: whole.count, by: 5) {
            var changed = whole
            changed[index] ^= 0x08
            try Self.write(changed, path)
            // Only what surrounds the signed part may change without being noticed.
            if let read = try file.read(credentials) { #expect(read.text == token.text) }
        }
        try Self.write(whole, path)
        #expect(try file.read(credentials) == token)
    }

    @Test("a token that cannot be kept is used all the same")
    func unwritable() throws {
        let credentials = try Self.credentials(SigningKeyPair())
        let directory = try TemporaryDirectory()
        let path = directory.path + "/absent/apns.token"
        let value = try Self.authorization(credentials, path, at: Self.start)
        #expect(value.starts(with: "bearer ey".utf8))
    }

    // MARK: Support

    /// The value of `authorization` that a new provider gives out.
    private static func authorization(
        _ credentials: APNsCredentials, _ path: String, at now: ClockReading
    ) throws -> [UInt8] {
        let tokens = try APNsTokenProvider(credentials, tokenFile: path)
        guard case .value(let value, _) = try tokens.credential(at: now) else {
            throw TestFailure("asked to wait")
        }
        return value
    }

    static func credentials(
        _ pair: SigningKeyPair, team: String = "TEAM123456", keyID: String = "ABC123DEFG"
    ) throws -> APNsCredentials {
        try APNsCredentials(
            teamID: team, keyID: keyID, topic: "org.example.app", keyFile: pair.privatePath)
    }

    private static func decode(_ part: Substring) throws -> [UInt8] {
        let text = Array(part.utf8)
        let bytes = Base64URL.decode(text.span)
        return try #require(bytes)
    }

    private static func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

extension ClockReading {
    /// The same machine, `seconds` later.
    func later(_ seconds: Int) -> ClockReading {
        ClockReading(wall: wall + seconds, uptime: uptime + seconds, boot: boot)
    }
}
