import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("VAPID", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct VAPIDTests {
    private let pair: SigningKeyPair
    private let key: VAPIDKey
    private let origin = VAPIDTokenProvider.origin(host: Array("push.example.org".utf8))

    init() throws {
        pair = try SigningKeyPair()
        key = try VAPIDKey(file: pair.privatePath)
    }

    private func reading(_ wall: Int, uptime: Int = 1000) -> ClockReading {
        ClockReading(wall: wall, uptime: uptime, boot: [1])
    }

    private func decoded(_ part: ArraySlice<UInt8>) throws -> [UInt8] {
        let bytes = Base64URL.decode(part.span)
        return try #require(bytes)
    }

    /// The last 65 bytes of a SubjectPublicKeyInfo.
    private func opensslPoint(_ path: String) throws -> [UInt8] {
        let out = pair.directory.path + "/public.der"
        try OpenSSLCommand.run([
            "pkey", "-in", path, "-pubout", "-outform", "DER", "-ec_conv_form", "uncompressed",
            "-out", out,
        ])
        return Array(try Data(contentsOf: URL(filePath: out)).suffix(65))
    }

    @Test("the public key is the point that openssl shows, 87 characters")
    func point() throws {
        let point = try opensslPoint(pair.privatePath)
        #expect(point[0] == 4 && key.publicText.utf8.count == 87)
        #expect(key.publicText == String(decoding: Base64URL.encode(point.span), as: UTF8.self))
    }

    @Test("a key whose file holds the point compressed, or not at all, shows the same point")
    func compressed() throws {
        for (name, option) in [("c", ["-conv_form", "compressed"]), ("n", ["-no_public"])] {
            let path = pair.directory.path + "/\(name).pem"
            try OpenSSLCommand.run(["ec", "-in", pair.privatePath, "-out", path] + option)
            let pkcs8 = pair.directory.path + "/\(name).p8"
            try OpenSSLCommand.run([
                "pkcs8", "-topk8", "-nocrypt", "-in", path, "-out", pkcs8,
            ])
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: pkcs8)
            #expect(try VAPIDKey(file: pkcs8).publicText == key.publicText)
        }
    }

    @Test("a new key is a PKCS #8 file of mode 0600 that openssl reads; none is overwritten")
    func create() throws {
        let path = pair.directory.path + "/vapid.key"
        let made = try VAPIDKey.create(path)
        let status = try FileStatus(of: path)
        #expect(status.mode == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let point = try opensslPoint(path)
        #expect(made.publicText == String(decoding: Base64URL.encode(point.span), as: UTF8.self))
        #expect(throws: VAPIDKeyError.file(.file(FileError(.open, EEXIST)))) {
            try VAPIDKey.create(path)
        }
        #expect(try VAPIDKey(file: path).publicText == made.publicText)
        #expect(try VAPIDKey.create(path + "2").publicText != made.publicText)
    }

    @Test("a key file that others can read, that is missing, or of another kind is refused")
    func refused() throws {
        #expect(throws: VAPIDKeyError.file(.file(FileError(.open, ENOENT)))) {
            try VAPIDKey(file: "/nonexistent")
        }
        let other = try SigningKeyPair(curve: "P-384")
        #expect(throws: VAPIDKeyError.key(.keyOfOtherKind)) {
            try VAPIDKey(file: other.privatePath)
        }
        #expect(throws: VAPIDKeyError.self) { try VAPIDKey(file: pair.publicPath) }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640], ofItemAtPath: pair.privatePath)
        #expect(throws: VAPIDKeyError.file(.notPrivate(mode: 0o640))) {
            try VAPIDKey(file: pair.privatePath)
        }
        for error in [VAPIDKeyError.file(.foreign), .key(.keyOfOtherKind), .key(.keyMalformed)] {
            #expect(error.message.split(separator: "\n").count == 2)
            #expect(error.message.contains("hint: "))
        }
    }

    @Test("header and claims are those of RFC 8292, member by member")
    func content() throws {
        let token = try #require(
            ProviderToken.vapid(
                key, origin: origin, subject: "mailto:a@b.org", now: reading(1_700_000_000)))
        let parts = token.text.copy().dropFirst("vapid t=".utf8.count)
            .split(separator: UInt8(ascii: "."))
        #expect(parts.count == 3)
        let texts = try parts.prefix(2).map {
            String(decoding: try decoded($0), as: UTF8.self)
        }
        #expect(texts[0] == #"{"typ":"JWT","alg":"ES256"}"#)
        #expect(
            texts[1]
                == #"{"aud":"https://push.example.org","exp":1700043200,"sub":"mailto:a@b.org"}"#)
        let bare = try #require(
            ProviderToken.vapid(key, origin: origin, subject: nil, now: reading(0)))
        let claims = try decoded(bare.text.copy().split(separator: UInt8(ascii: "."))[1])
        #expect(
            String(decoding: claims, as: UTF8.self)
                == #"{"aud":"https://push.example.org","exp":43200}"#)
        #expect(ProviderToken.lifetimeOfVAPID <= 24 * 3600 && "\(token)" == "(ProviderToken)")
        #expect("\(key)" == "(VAPIDKey)")
    }

    @Test(
        "PyJWT accepts the token with the key of the same header, and refuses another key",
        .enabled(
            if: PythonScript.has("jwt, cryptography"), "needs python3 with pyjwt and cryptography"))
    func pyJWT() throws {
        let now = Int(Date().timeIntervalSince1970)
        let token = try #require(
            ProviderToken.vapid(
                key, origin: origin, subject: "https://example.org", now: reading(now)))
        let header = String(decoding: token.text.copy(), as: UTF8.self)
        let script = """
            import base64, jwt, sys, time
            from cryptography.hazmat.primitives.asymmetric import ec
            scheme, rest = sys.argv[1].split(" ", 1)
            assert scheme == "vapid"
            fields = dict(part.strip().split("=", 1) for part in rest.split(","))
            assert set(fields) == {"t", "k"}
            point = sys.argv[2] if len(sys.argv) > 2 else fields["k"]
            raw = base64.urlsafe_b64decode(point + "=")
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
            claims = jwt.decode(fields["t"], key, algorithms=["ES256"],
                audience="https://push.example.org", options={"require": ["aud", "exp"]})
            assert claims["sub"] == "https://example.org"
            assert time.time() < claims["exp"] <= time.time() + 24 * 3600
            assert jwt.get_unverified_header(fields["t"]) == {"typ": "JWT", "alg": "ES256"}
            """
        #expect(try PythonScript.run(script, [header]) == 0)
        let foreign = try SigningKeyPair()
        let other = try VAPIDKey(file: foreign.privatePath)
        #expect(try PythonScript.run(script, [header, other.publicText]) != 0)
    }

    @Test(
        "py-vapid verifies the token with the key",
        .enabled(if: isPyVAPIDInstalled, "needs python3 with py-vapid"))
    func pyVAPID() throws {
        let now = Int(Date().timeIntervalSince1970)
        let token = try #require(
            ProviderToken.vapid(key, origin: origin, subject: "mailto:a@b.org", now: reading(now)))
        let header = String(decoding: token.text.copy(), as: UTF8.self)
        let script = """
            import sys
            from py_vapid import Vapid02
            assert Vapid02.verify(sys.argv[1])
            """
        #expect(try PythonScript.run(script, [header]) == 0)
        #expect(
            try PythonScript.run(script, [header.replacing("vapid t=ey", with: "vapid t=fy")]) != 0)
    }

    private static let isPyVAPIDInstalled = PythonScript.has("py_vapid")
}

@Suite(
    "VAPID tokens in use", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct VAPIDTokensTests {
    private let key: VAPIDKey
    private let start = ClockReading(wall: 1_700_000_000, uptime: 50_000, boot: [1])

    init() throws {
        let pair = try SigningKeyPair()
        key = try VAPIDKey(file: pair.privatePath)
    }

    private func origin(_ number: Int = 0) -> [UInt8] { Array("https://p\(number).org".utf8) }

    private func later(_ wall: Int, _ uptime: Int, boot: [UInt8] = [1]) -> ClockReading {
        ClockReading(wall: start.wall + wall, uptime: start.uptime + uptime, boot: boot)
    }

    @Test("one token serves an origin for eleven hours, and another origin has its own")
    func reuse() throws {
        let tokens = Tokens(key)
        let first = try #require(tokens.value(origin(), at: start))
        let usual = ProviderToken.lifetimeOfVAPID - 3600
        #expect(usual == 11 * 3600)
        #expect(tokens.value(origin(), at: later(usual - 1, usual - 1)) == first)
        #expect(tokens.value(origin(1), at: start) != first)
        #expect(tokens.value(origin(), at: later(usual, usual)) != first)
        #expect(tokens.count == 2)
    }

    @Test("a clock that was set makes the token anew; one that drifts a little does not")
    func clockJumps() throws {
        for jump in [301, -301, 86_400, -86_400 * 365] {
            let tokens = Tokens(key)
            let first = try #require(tokens.value(origin(), at: start))
            #expect(tokens.value(origin(), at: later(60 + 300, 60)) == first)
            #expect(tokens.value(origin(), at: later(60 - 300, 60)) == first)
            #expect(tokens.value(origin(), at: later(60 + jump, 60)) != first)
        }
    }

    @Test("an age that is not known is no age to use a token at")
    func anotherBoot() throws {
        let tokens = Tokens(key)
        let first = try #require(tokens.value(origin(), at: start))
        let reading = ClockReading(wall: start.wall + 60, uptime: 90_000, boot: [2])
        #expect(tokens.value(origin(), at: reading) != first)
    }

    @Test("so many origins are remembered, and the one unused for longest is forgotten")
    func bounded() throws {
        let tokens = Tokens(key)
        let first = try #require(tokens.value(origin(0), at: start))
        let second = try #require(tokens.value(origin(1), at: start))
        for number in 2..<VAPIDTokenProvider.limit { _ = tokens.value(origin(number), at: start) }
        #expect(tokens.value(origin(0), at: start) == first)
        _ = tokens.value(origin(-1), at: start)
        #expect(tokens.count == VAPIDTokenProvider.limit)
        #expect(tokens.value(origin(0), at: start) == first)
        #expect(tokens.value(origin(1), at: start) != second)
    }

    /// For expectations, which cannot change a value.
    private final class Tokens {
        private var tokens: VAPIDTokenProvider

        init(_ key: VAPIDKey) { tokens = VAPIDTokenProvider(key, subject: nil) }

        var count: Int { tokens.count }

        func value(_ origin: [UInt8], at now: ClockReading) -> SecretBytes? {
            tokens.authorization(origin, at: now)
        }
    }
}
