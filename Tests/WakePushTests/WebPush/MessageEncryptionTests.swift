import Foundation
import TestSupport
import Testing
import WakeFetch
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("Encrypted messages of Web Push")
struct MessageEncryptionTests {
    /// RFC 8291 §5: the app's keys, and the sender's pair.
    private enum Example {
        static let p256dh =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyP"
            + "js7Vd8pZGH6SRpkNtoIAiw4"
        static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
        static let appScalar = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
        static let scalar = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        static let point =
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
            + "6TlzAC8wEqKK6PBru3jl7A8"
        static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
        static let body =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlml"
            + "MoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2K"
            + "s3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    }

    private let keys: SubscriptionKeys

    init() throws {
        keys = try SubscriptionKeys(
            p256dh: Array(Example.p256dh.utf8).span, auth: Array(Example.auth.utf8).span)
    }

    private func decoded(_ text: String) throws -> [UInt8] {
        let bytes = Base64URL.decode(Array(text.utf8).span)
        return try #require(bytes)
    }

    /// PKCS #8 (RFC 5958) around ECPrivateKey (RFC 5915), in PEM.
    private func pair(scalar: String, point: String) throws -> P256Key {
        let head: [UInt8] = [
            0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE,
            0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04,
            0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01, 0x04, 0x20,
        ]
        let middle: [UInt8] = [0xA1, 0x44, 0x03, 0x42, 0x00]
        let der = Data(try head + decoded(scalar) + middle + decoded(point))
        let text = der.base64EncodedString(options: .lineLength64Characters)
        let pem = Array("-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n".utf8)
        return try P256Key(.privateKey, pem: pem.span)
    }

    @Test("the example of RFC 8291 section 5, byte for byte")
    func vector() throws {
        let message = try EncryptedMessage(
            Array("When I grow up, I want to be a watermelon".utf8), to: keys,
            pair: pair(scalar: Example.scalar, point: Example.point), salt: decoded(Example.salt))
        #expect(
            String(decoding: Base64URL.encode(message.bytes.span), as: UTF8.self) == Example.body)
    }

    @Test("a point beside the curve is no key")
    func offCurve() throws {
        var point = try decoded(Example.p256dh)
        point[64] ^= 1
        let keys = try SubscriptionKeys(
            p256dh: Base64URL.encode(point.span).span, auth: Array(Example.auth.utf8).span)
        #expect(throws: SigningError.keyMalformed) { try EncryptedMessage([1], to: keys) }
        #expect(throws: SigningError.keyMalformed) { try P256Key(point: [4]) }
        let token = try PushToken(endpoint: Array("https://a.example/x".utf8).span, keys: keys)
        #expect(throws: FetchError.invalidURL) { try Self.request(token) }
    }

    private static func request(_ token: PushToken) throws(FetchError) -> FetchRequest {
        try WebPushRequest(lifetime: 60, body: .empty).fetch(
            token, host: Array("a.example".utf8), authorization: SecretBytes([0x61]),
            addresses: [WebPushWorld.address])
    }

    /// Reads bodies with a library that is not ours; the app's scalar, its secret, and bodies.
    private static let reader = """
        import base64, sys
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        def decode(text):
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

        curve = ec.SECP256R1()
        key = ec.derive_private_key(int.from_bytes(decode(sys.argv[1]), "big"), curve)
        own = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        secret = decode(sys.argv[2])
        seen = set()
        for body in map(decode, sys.argv[3:]):
            salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
            sender, record = body[21:21 + length], body[21 + length:]
            assert size == 4096 and length == 65 and len(record) == 18
            seen |= {salt, sender}
            point = ec.EllipticCurvePublicKey.from_encoded_point(curve, sender)
            shared = key.exchange(ec.ECDH(), point)
            info = b"WebPush: info\\0" + own + sender
            ikm = HKDF(SHA256(), 32, secret, info).derive(shared)
            cek = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\\0").derive(ikm)
            nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\\0").derive(ikm)
            assert AESGCM(cek).decrypt(nonce, record, None) == b"1\\2"
        assert len(seen) == 2 * len(sys.argv[3:])
        """

    @Test(
        "an independent reader opens what is sent, each with a key and a salt of its own",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"))
    func reader() throws {
        let token = try PushToken(
            endpoint: Array("https://a.example/x".utf8).span, keys: keys)
        let requests = try (0..<20).map { _ in try Self.request(token) }
        for request in requests {
            let coding = request.fields.first { "\($0.name)" == "Content-Encoding" }
            #expect(coding.map { $0.value } == Array("aes128gcm".utf8))
            #expect(request.url.bytes == Array("https://a.example/x".utf8))
        }
        let bodies = requests.compactMap(\.body).map {
            String(decoding: Base64URL.encode($0.span), as: UTF8.self)
        }
        let arguments = [Example.appScalar, Example.auth] + bodies
        #expect(try bodies.count == 20 && PythonScript.run(Self.reader, arguments) == 0)
    }
}
