import Foundation
import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("FCM assertions", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMAssertionTests {
    private let account: ServiceAccountFile

    init() throws { account = try ServiceAccountFile() }

    private func parts(_ assertion: FCMAssertion) -> [ArraySlice<UInt8>] {
        assertion.text.copy().split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    }

    private func decoded(_ part: ArraySlice<UInt8>) throws -> [UInt8] {
        let bytes = Base64URL.decode(part.span)
        return try #require(bytes)
    }

    @Test("header and claims are what Google documents, member by member")
    func content() throws {
        let assertion = try #require(
            FCMAssertion(try account.credentials(), now: 1_700_000_000))
        let parts = parts(assertion)
        #expect(parts.count == 3)
        #expect(
            String(decoding: try decoded(parts[0]), as: UTF8.self)
                == #"{"alg":"RS256","typ":"JWT","#
                + #""kid":"0123456789abcdef0123456789abcdef01234567"}"#)
        #expect(
            String(decoding: try decoded(parts[1]), as: UTF8.self)
                == #"{"iss":"pusher@example-project.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.googleapis.com/token","#
                + #""iat":1700000000,"exp":1700003600}"#)
        #expect(try decoded(parts[2]).count == 256)
    }

    @Test("a file without a key id makes a header without kid")
    func withoutKeyID() throws {
        var members = account.members()
        members["private_key_id"] = nil
        try account.write(members)
        let assertion = try #require(FCMAssertion(try account.credentials(), now: 1))
        #expect(try decoded(parts(assertion)[0]) == Array(#"{"alg":"RS256","typ":"JWT"}"#.utf8))
    }

    @Test("openssl accepts what we sign with any size of key, and nothing beside it")
    func opensslAccepts() throws {
        for bits in [2048, 3072, 4096] {
            let account = try ServiceAccountFile(owner: 1, bits: bits)
            let assertion = try #require(FCMAssertion(try account.credentials(), now: 1000))
            let text = assertion.text.copy()
            let dot = try #require(text.lastIndex(of: UInt8(ascii: ".")))
            let signature = try decoded(text[(dot + 1)...])
            #expect(signature.count == bits / 8)
            #expect(try account.opensslAccepts(signature, message: Array(text[..<dot])))
            var changed = Array(text[..<dot])
            changed[dot / 2] ^= 1
            #expect(try !account.opensslAccepts(signature, message: changed))
            #expect(try !self.account.opensslAccepts(signature, message: Array(text[..<dot])))
        }
    }

    @Test(
        "PyJWT accepts signature, audience and times, and refuses another key",
        .enabled(
            if: PythonScript.has("jwt, cryptography"), "needs python3 with pyjwt and cryptography"))
    func pyJWTAccepts() throws {
        let now = Int(Date().timeIntervalSince1970)
        let assertion = try #require(FCMAssertion(try account.credentials(), now: now))
        let text = String(decoding: assertion.text.copy(), as: UTF8.self)
        let script = """
            import jwt, sys
            claims = jwt.decode(sys.argv[1], open(sys.argv[2]).read(), algorithms=["RS256"],
                audience="https://oauth2.googleapis.com/token", issuer=sys.argv[3],
                options={"require": ["iss", "scope", "aud", "iat", "exp"]})
            assert claims["exp"] - claims["iat"] == 3600
            assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
            header = jwt.get_unverified_header(sys.argv[1])
            assert header == {"alg": "RS256", "typ": "JWT", "kid": "01234567" + "89abcdef" +
                "0123456789abcdef01234567"}
            """
        let email = ServiceAccountFile.email
        #expect(try PythonScript.run(script, [text, account.publicPath, email]) == 0)
        let other = try ServiceAccountFile(owner: 1)
        #expect(try PythonScript.run(script, [text, other.publicPath, email]) != 0)
    }

    @Test("the form holds the grant type escaped and the assertion as it is")
    func form() throws {
        let assertion = try #require(FCMAssertion(try account.credentials(), now: 1000))
        let form = String(decoding: FCMTokenExchange.form(assertion), as: UTF8.self)
        let fields = form.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        #expect(fields.map { $0[0] } == ["grant_type", "assertion"])
        #expect(
            fields[0][1].removingPercentEncoding == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(Array(fields[1][1].utf8) == assertion.text.copy())
    }

    @Test("an assertion prints nothing of itself")
    func redacted() throws {
        let assertion = try #require(FCMAssertion(try account.credentials(), now: 1000))
        #expect(
            "\(assertion)" == "(FCMAssertion)" && String(reflecting: assertion) == "(FCMAssertion)")
        #expect(Mirror(reflecting: assertion).children.isEmpty)
    }

    @Test("an account's key signs on several threads at once")
    func threads() async throws {
        let credentials = try account.credentials()
        let first = try #require(FCMAssertion(credentials, now: 5)).text
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask { FCMAssertion(credentials, now: 5)?.text == first }
            }
            // PKCS #1 padding has no chance in it (RFC 8017 §8.2): all are equal.
            for await isEqual in group { #expect(isEqual) }
        }
    }
}
