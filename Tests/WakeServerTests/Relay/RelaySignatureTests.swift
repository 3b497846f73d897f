import Testing
import WakeModel
import WakeSystem

@testable import WakePush
@testable import WakeServer

@Suite("Signatures of requests to a relay")
struct RelaySignatureTests {
    static let authority = Array("wake.example.org".utf8)
    static let nonce = SignatureNonce(1, 2)

    static func key(_ byte: UInt8 = 7) -> SigningKey {
        SigningKey(seed: [UInt8](repeating: byte, count: 32).span)
    }

    static func request(_ body: String = "{}", created: Int = 1_700_000_000) -> RelayRequest {
        let bytes = Array(body.utf8)
        return RelayRequest(
            body: bytes.span, authority: authority, key: key(), created: created, nonce: nonce)
    }

    static func field(_ name: String, of request: RelayRequest) -> [UInt8]? {
        request.fields.first { $0.name.description == name }?.value
    }

    /// Parses the fields of a request, changed.
    static func parsed(
        _ request: RelayRequest, _ name: String = "",
        _ change: ([UInt8]) -> [UInt8]? = { $0 }
    ) throws(SignatureError) -> RelayRequest {
        func value(_ field: String) -> [UInt8]? {
            let value = Self.field(field, of: request) ?? []
            return field == name ? change(value) : value
        }
        return try RelayRequest(
            contentType: value("Content-Type"), contentDigest: value("Content-Digest"),
            signatureInput: value("Signature-Input"), signature: value("Signature"))
    }

    @Test("base and signature of RFC 9421 B.2.6 are the RFC's own")
    func vector() throws {
        let components: [(name: StaticString, value: String)] = [
            ("date", "Tue, 20 Apr 2021 02:07:55 GMT"), ("@method", "POST"), ("@path", "/foo"),
            ("@authority", "example.com"), ("content-type", "application/json"),
            ("content-length", "18"),
        ]
        let parameters =
            #"("date" "@method" "@path" "@authority" "content-type" "content-length")"#
            + #";created=1618884473;keyid="test-key-ed25519""#
        let base = SignatureBase.bytes(
            components.map { ($0.name, Array($0.value.utf8)) }, parameters: Array(parameters.utf8))
        let expected =
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n"
            + "\"@authority\": example.com\n\"content-type\": application/json\n"
            + "\"content-length\": 18\n\"@signature-params\": \(parameters)"
        #expect(String(decoding: base, as: UTF8.self) == expected)

        let text =
            "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1"
            + "u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
        let signature = try #require(StructuredBytes.decode(Array(text.utf8)[...]))
        let key = try #require(
            VerifyingKey(text: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"))
        let verifies = key.verifies(signature.span, of: base.span)
        #expect(verifies)
        let seedText = Array("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU".utf8)
        let decoded = Base64URL.decode(seedText.span)
        let seed = try #require(decoded)
        let signed = SigningKey(seed: seed.span).sign(base.span)
        #expect(signed == signature)
    }

    @Test("the digest of RFC 9530 D.1 is the RFC's own, and reads back")
    func digestVector() {
        let body = Array(#"{"hello": "world"}"#.utf8) + [0x0A]
        let digest = ContentDigest(of: body.span)
        let field = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        #expect(String(decoding: digest.field, as: UTF8.self) == field)
        #expect(ContentDigest(field: digest.field) == digest)
    }

    @Test(
        "a digest field of any other form is none",
        arguments: [
            "", "sha-256", "sha-256=", "sha-256=::", "sha-512=:AAAA:",
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg:",
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDh=:",
            "sha-256=:RK_0qy18MlBSVnWgjwz6lZEWjP_lF5HF9bvEF8FabDg=:",
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:, sha-512=:AAAA:",
            "SHA-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
            " sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
        ])
    func digestForms(_ field: String) {
        #expect(ContentDigest(field: Array(field.utf8)) == nil)
    }

    @Test("the fields of a request are those of the contract, byte for byte")
    func fields() throws {
        let request = Self.request()
        let id = Self.key().verifyingKey.text
        #expect(id.utf8.count == 43)
        let input =
            #"wakes=("@method" "@authority" "@path" "content-type" "content-digest")"#
            + #";created=1700000000;nonce="AAAAAAAAAAEAAAAAAAAAAg";keyid="\#(id)""#
            + #";alg="ed25519";tag="reveille-relay""#
        let value = try #require(Self.field("Signature-Input", of: request))
        #expect(String(decoding: value, as: UTF8.self) == input)
        let signature = try #require(Self.field("Signature", of: request))
        #expect(signature.starts(with: Array("wakes=:".utf8)) && signature.count == 96)
        #expect(
            request.fields.map(\.name.description) == [
                "Content-Type", "Content-Digest", "Signature-Input", "Signature",
            ])
    }

    @Test("what was signed parses to itself and verifies with its key, authority and body only")
    func roundTrip() throws {
        let request = Self.request("{\"a\":1}")
        let parsed = try Self.parsed(request)
        #expect(parsed == request && parsed.key == Self.key().verifyingKey.bytes)
        try parsed.verify(authority: Self.authority, key: Self.key().verifyingKey)
        let body = Array("{\"a\":1}".utf8)
        try parsed.verify(body: body.span)
        #expect(throws: SignatureError.wrong) {
            try parsed.verify(authority: Self.authority, key: Self.key(8).verifyingKey)
        }
        #expect(throws: SignatureError.wrong) {
            try parsed.verify(
                authority: Array("other.example.org".utf8), key: Self.key().verifyingKey)
        }
        #expect(throws: SignatureError.wrong) {
            let other = Array("{\"a\":2}".utf8)
            try parsed.verify(body: other.span)
        }
    }

    @Test("any byte changed in any field is malformed or wrong")
    func anyByte() throws {
        let request = Self.request()
        for (name, value) in request.fields {
            for index in value.indices {
                let fault = #expect(throws: SignatureError.self) {
                    let parsed = try Self.parsed(request, name.description) { bytes in
                        var bytes = bytes
                        bytes[index] ^= 1
                        return bytes
                    }
                    let key = try #require(VerifyingKey(Self.key().verifyingKey.bytes))
                    try parsed.verify(authority: Self.authority, key: key)
                }
                #expect(fault == .malformed || fault == .wrong, "byte \(index) of \(name)")
            }
            for count in value.indices {
                #expect(throws: SignatureError.malformed) {
                    try Self.parsed(request, name.description) { Array($0.prefix(count)) }
                }
            }
        }
    }

    @Test("parameters may come in any order, and count in that order")
    func order() throws {
        let id = Self.key().verifyingKey.text
        let parameters =
            #"("@method" "@authority" "@path" "content-type" "content-digest")"#
            + #";tag="reveille-relay";keyid="\#(id)";alg="ed25519";nonce="AAAAAAAAAAEAAAAAAAAAAg""#
            + ";created=1700000000"
        let body = Array("{}".utf8)
        let digest = ContentDigest(of: body.span).field
        let base = SignatureBase.bytes(
            [
                ("@method", Array("POST".utf8)), ("@authority", Self.authority),
                ("@path", Array("/v1/relay/wakes".utf8)),
                ("content-type", Array("application/json".utf8)), ("content-digest", digest),
            ], parameters: Array(parameters.utf8))
        let signature = Self.key().sign(base.span)
        let request = try RelayRequest(
            contentType: Array("application/json".utf8), contentDigest: digest,
            signatureInput: Array("wakes=\(parameters)".utf8),
            signature: Array("wakes=".utf8) + StructuredBytes.encode(signature))
        try request.verify(authority: Self.authority, key: Self.key().verifyingKey)
    }

    @Test("without its fields there is no signature")
    func missing() throws {
        let request = Self.request()
        for name in ["Signature", "Signature-Input"] {
            #expect(throws: SignatureError.missing) {
                try Self.parsed(request, name) { _ in nil }
            }
        }
        for name in ["Content-Type", "Content-Digest"] {
            #expect(throws: SignatureError.malformed) {
                try Self.parsed(request, name) { _ in nil }
            }
        }
    }

    @Test(
        "other components, labels and parameters are malformed",
        arguments: [
            (#"wakes=("#, #"other=("#), (#""@method" "#, ""), (#" "content-digest""#, ""),
            (#""@method" "@authority""#, #""@authority" "@method""#),
            (#""@path""#, #""@path";req"#), (#""@path" "#, #""@path""#),
            (#""content-digest")"#, #""content-digest" "date")"#),
            (#";alg="ed25519""#, ""), (#";alg="ed25519""#, #";alg="rsa-pss-sha512""#),
            (#";tag="reveille-relay""#, #";tag="else""#), (#";created=1700000000"#, ""),
            (#";created=1700000000"#, #";created=1700000000;created=1700000000"#),
            (#";created=1700000000"#, #";created=-1"#),
            (#";created=1700000000"#, #";created="1700000000""#),
            (#";created=1700000000"#, #";created=1700000000;expires=1700000060"#),
            (#"AAAAAAAAAAEAAAAAAAAAAg"#, #"AAAAAAAAAAEAAAAAAAAAAh"#),
            (#"AAAAAAAAAAEAAAAAAAAAAg"#, #"AAAA"#), (#";tag="reveille-relay""#, #";tag"#),
            (#";tag="reveille-relay""#, #";tag="reveille-relay", more=("@path")"#),
        ])
    func otherForms(_ part: String, _ other: String) throws {
        let request = Self.request()
        #expect(throws: SignatureError.malformed) {
            try Self.parsed(request, "Signature-Input") { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(text.contains(part))
                return Array(text.replacing(part, with: other).utf8)
            }
        }
    }
}
