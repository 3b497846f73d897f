import Foundation
import TestSupport
import Testing
import WakeModel

@testable import WakePush
@testable import WakeServer

@Suite("Signatures of requests to a relay, read by others")
struct RelayPeerSignatureTests {
    /// Python's http-message-signatures: a reader of RFC 9421 that is not ours.
    private static let script = """
        import base64, json, sys
        from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver
        from http_message_signatures import algorithms, exceptions
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        class Keys(HTTPSignatureKeyResolver):
            def resolve_public_key(self, key_id):
                return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key_id + "="))
            def resolve_private_key(self, key_id):
                raise KeyError

        class Message:
            method = "POST"
            def __init__(self, case):
                self.url, self.headers = case["url"], case["fields"]

        case = json.load(open(sys.argv[1]))
        verifier = HTTPMessageVerifier(
            signature_algorithm=algorithms.ED25519, key_resolver=Keys())
        result, = verifier.verify(
            Message(case), expect_tag="reveille-relay", body=case["body"].encode(),
            require_components=(
                "@method", "@authority", "@path", "content-type", "content-digest"))
        assert result.label == "wakes", result.label
        assert len(base64.urlsafe_b64decode(result.parameters["nonce"] + "==")) == 16
        assert result.parameters["keyid"] == case["key"]
        assert len(result.covered_components) == 6, result.covered_components
        """

    static let isInstalled = PythonScript.has("http_message_signatures")

    private struct Case: Encodable {
        var url: String
        var fields: [String: String]
        var body: String
        let key: String
    }

    private func accepts(_ message: Case) throws -> Bool {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/case.json"
        try JSONEncoder().encode(message).write(to: URL(filePath: path))
        return try PythonScript.run(Self.script, [path]) == 0
    }

    @Test(
        "http-message-signatures accepts a request as it is, and refuses it changed",
        .enabled(if: isInstalled, "needs python3 with http-message-signatures"))
    func othersAccept() throws {
        let key = SigningKey(seed: [UInt8](repeating: 3, count: 32).span)
        let token = try PushToken(service: .apns, bytes: [UInt8](repeating: 0xAB, count: 32))
        let body = RelayBatch(lifetime: 7200, tokens: [token, token]).body()
        let request = RelayRequest(
            body: body.span, authority: Array("wake.example.org:8443".utf8), key: key,
            created: Int(Date().timeIntervalSince1970), nonce: .random())
        let fields = request.fields.map {
            ($0.name.description, String(decoding: $0.value, as: UTF8.self))
        }
        let message = Case(
            url: "https://wake.example.org:8443/v1/relay/wakes",
            fields: Dictionary(uniqueKeysWithValues: fields),
            body: String(decoding: body, as: UTF8.self), key: key.verifyingKey.text)
        #expect(try accepts(message))
        var other = message
        other.url = "https://other.example.org:8443/v1/relay/wakes"
        #expect(try !accepts(other))
        other = message
        other.body = message.body.replacing("7200", with: "7201")
        #expect(try !accepts(other))
        other = message
        other.fields["Content-Type"] = "text/plain"
        #expect(try !accepts(other))
    }
}
