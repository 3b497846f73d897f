import Foundation
import TestSupport

/// An installation that shares not a line with ours: Python's http.client, with signatures by
/// Python's cryptography, written from the protocol alone.
enum PythonPeer {
    private static let script = """
        import base64, hashlib, http.client, json, os, sys, time
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        def url(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

        mode, seed, authority, ahead = sys.argv[1:5]
        # What is signed in the second in which a relay started, it does not take.
        time.sleep(1 - time.time() % 1)
        body = sys.stdin.buffer.read()
        key = Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(seed + "="))
        raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        digest = "sha-256=:" + base64.b64encode(hashlib.sha256(body).digest()).decode() + ":"
        parameters = (
            '("@method" "@authority" "@path" "content-type" "content-digest")'
            f';tag="reveille-relay";alg="ed25519";keyid="{url(raw)}"'
            f';nonce="{url(os.urandom(16))}";created={int(time.time()) + int(ahead)}')
        base = "\\n".join([
            '"@method": POST', f'"@authority": {authority}', '"@path": /v1/relay/wakes',
            '"content-type": application/json', f'"content-digest": {digest}',
            f'"@signature-params": {parameters}'])
        fields = {
            "Content-Type": "application/json", "Content-Digest": digest,
            "Signature-Input": "wakes=" + parameters,
            "Signature": "wakes=:" + base64.b64encode(key.sign(base.encode())).decode() + ":"}
        if mode == "sign":
            print(f"POST /v1/relay/wakes HTTP/1.1\\r\\nHost: {authority}\\r", end="\\n")
            for name, value in fields.items():
                print(f"{name}: {value}\\r", end="\\n")
            print(f"Content-Length: {len(body)}\\r\\n\\r", end="\\n", flush=True)
            sys.stdout.buffer.write(body)
        else:
            connection = http.client.HTTPConnection(authority, timeout=30)
            connection.request("POST", "/v1/relay/wakes", body, fields)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                print(answer.status, json.loads(content)["code"],
                    answer.getheader("Retry-After"))
            else:
                assert answer.getheader("Transfer-Encoding") == "chunked"
                lines = [json.loads(line) for line in content.splitlines()]
                words = {}
                for line in lines[:-1]:
                    words[line["delivery"]] = words.get(line["delivery"], 0) + 1
                assert sorted(line["wake"] for line in lines[:-1]) == list(range(len(lines) - 1))
                print(200, lines[-1]["done"], json.dumps(words, sort_keys=True))
        """

    /// Whichever comes first in the environment: Tests/check may have made one with packages.
    private static let environment = "/usr/bin/env"

    /// Why tests that need it are skipped.
    static let isInstalled: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: environment)
        process.arguments = ["python3", "-c", "import cryptography"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// A body for these push tokens of APNs.
    static func body(_ devices: [TestDevice]) -> [UInt8] {
        let wakes = devices.map { String(decoding: $0.body, as: UTF8.self) }
        return Array(#"{"lifetime":7200,"wakes":[\#(wakes.joined(separator: ","))]}"#.utf8)
    }

    /// Sends a request.
    /// - Parameter ahead: seconds that its clock is ahead: a relay that has just started takes
    ///   nothing that was signed before it did.
    /// - Returns: status, code and Retry-After; or status, number, and deliveries by their words.
    static func send(
        _ body: [UInt8], to authority: String, seed: String = RelayOwner.seed, ahead: Int = 5
    ) async throws -> String {
        try await run("send", body, authority, seed, ahead)
    }

    /// Sends requests until one is not stale: the relay has run for long enough.
    static func wait(for authority: String) async throws {
        let body = body([TestDevice()])
        while try await send(body, to: authority).contains("signature_stale") {
            try Task.checkCancellation()
        }
    }

    /// The bytes of a signed request.
    static func sign(
        _ body: [UInt8], for authority: String, seed: String = RelayOwner.seed, ahead: Int = 5
    ) async throws -> [UInt8] {
        Array(try await run("sign", body, authority, seed, ahead).utf8)
    }

    private static func run(
        _ mode: String, _ body: [UInt8], _ authority: String, _ seed: String, _ ahead: Int
    ) async throws -> String {
        let (status, output) = try await RunningProgram.run(
            path: environment, ["python3", "-c", script, mode, seed, authority, String(ahead)],
            input: body)
        guard status == 0 else { throw TestFailure(output) }
        return output
    }
}
