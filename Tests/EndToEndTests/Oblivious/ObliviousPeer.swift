import Foundation
import TestSupport

/// A client of Oblivious HTTP that shares not a line with ours: HPKE, binary HTTP and the
/// encapsulation in Python, written from RFC 9180, RFC 9292 and RFC 9458, on the primitives of
/// Python's cryptography.
enum ObliviousPeer {
    private static let script = #"""
        import hashlib, hmac, http.client, json, os, sys, urllib.parse
        from cryptography.hazmat.primitives.asymmetric.x25519 import (
            X25519PrivateKey, X25519PublicKey)
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        def raw(key):
            return key.public_bytes(Encoding.Raw, PublicFormat.Raw)

        def number(value, count):
            return value.to_bytes(count, "big")

        def mac(key, data):
            return hmac.new(key, data, hashlib.sha256).digest()

        def expand(key, info, count):
            out, block = b"", b""
            while len(out) < count:
                block = mac(key, block + info + bytes([len(out) // 32 + 1]))
                out += block
            return out[:count]

        def labeled_extract(suite, salt, label, data):
            return mac(salt, b"HPKE-v1" + suite + label + data)

        def labeled_expand(suite, key, label, info, count):
            return expand(key, number(count, 2) + b"HPKE-v1" + suite + label + info, count)

        CIPHERS = {1: (16, AESGCM), 3: (32, ChaCha20Poly1305)}

        def setup(receiver, info, cipher):
            ephemeral = X25519PrivateKey.generate()
            shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(receiver))
            enc = raw(ephemeral.public_key())
            kem = b"KEM" + number(0x20, 2)
            secret = labeled_expand(
                kem, labeled_extract(kem, b"", b"eae_prk", shared), b"shared_secret",
                enc + receiver, 32)
            suite = b"HPKE" + number(0x20, 2) + number(1, 2) + number(cipher, 2)
            context = (b"\0" + labeled_extract(suite, b"", b"psk_id_hash", b"")
                + labeled_extract(suite, b"", b"info_hash", info))
            master = labeled_extract(suite, secret, b"secret", b"")
            key = labeled_expand(suite, master, b"key", context, CIPHERS[cipher][0])
            nonce = labeled_expand(suite, master, b"base_nonce", context, 12)
            exporter = labeled_expand(suite, master, b"exp", context, 32)
            return enc, key, nonce, lambda label, count: labeled_expand(
                suite, exporter, b"sec", label, count)

        def varint(value):
            return number(value, 1) if value < 64 else number(value | 0x4000, 2)

        def read(data, at):
            count = 1 << (data[at] >> 6)
            value = int.from_bytes(data[at:at + count], "big") & ((1 << (8 * count - 2)) - 1)
            return value, at + count

        def text(value):
            return varint(len(value)) + value

        def request(plan):
            fields = b""
            if plan.get("token"):
                fields += text(b"authorization") + text(b"Bearer " + plan["token"].encode())
            body = plan.get("body", "").encode()
            if body:
                fields += text(b"content-type") + text(
                    plan.get("bodyType", "application/json").encode())
            for name, value in plan.get("fields", {}).items():
                fields += text(name.encode()) + text(value.encode())
            message = (text(plan["method"].encode()) + text(b"https") + text(b"wake.example.org")
                + text(plan.get("path", "/v1/registration").encode()))
            if plan.get("chunks"):
                message = b"\2" + message + fields + b"\0" + b"".join(
                    text(body[at:at + 50]) for at in range(0, len(body), 50)) + b"\0\0"
            else:
                message = b"\0" + message + text(fields) + text(body) + b"\0"
            if "message" in plan:
                message = bytes.fromhex(plan["message"])
            return message.ljust(plan.get("pad", 2048), b"\0")

        def response(data):
            kind, at = read(data, 0)
            assert kind == 1
            status, at = read(data, at)
            count, at = read(data, at)
            end, fields = at + count, {}
            while at < end:
                length, at = read(data, at)
                name, at = data[at:at + length].decode(), at + length
                length, at = read(data, at)
                fields[name], at = data[at:at + length].decode(), at + length
            length, at = read(data, at)
            body = data[at:at + length].decode()
            assert not any(data[at + length:])
            return {"status": status, "fields": fields, "body": body}

        def configurations(data):
            found = []
            while data:
                count = int.from_bytes(data[:2], "big")
                one, data = data[2:2 + count], data[2 + count:]
                assert one[1:3] == b"\0\x20" and int.from_bytes(one[35:37], "big") == len(one) - 37
                found.append(one)
            return found

        def fetch(url, method, body=None, kind=None, source=None):
            parts = urllib.parse.urlsplit(url)
            connection = http.client.HTTPConnection(
                parts.hostname, parts.port, timeout=60,
                source_address=(source, 0) if source else None)
            fields = {"Content-Type": kind} if kind else {}
            connection.request(method, parts.path or "/", body, fields)
            answer = connection.getresponse()
            # haproxy writes the names of fields in lower case.
            fields = {name.title(): value for name, value in answer.getheaders()}
            return answer.status, fields, answer.read()

        def exchange(plan):
            status, fields, keys = fetch(plan["keys"], "GET")
            assert status == 200 and fields["Content-Type"] == "application/ohttp-keys"
            one = configurations(keys)[plan.get("key", 0)]
            cipher = plan.get("cipher", 3)
            header = one[:3] + number(1, 2) + number(cipher, 2)
            enc, key, nonce, export = setup(
                one[3:35], b"message/bhttp request\0" + header, cipher)
            size, aead = CIPHERS[cipher]
            sealed = header + enc + aead(key).encrypt(nonce, request(plan), b"")
            if "cut" in plan:
                sealed = sealed[:plan["cut"]]
            if "flip" in plan:
                at = plan["flip"] % len(sealed)
                sealed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1:]
            for _ in range(plan.get("times", 1)):
                status, fields, content = fetch(
                    plan["url"], "POST", sealed, plan.get("type", "message/ohttp-req"),
                    plan.get("source"))
            result = {"sent": len(sealed), "status": status, "length": len(content),
                "type": fields.get("Content-Type")}
            if status == 200:
                salt, data = content[:max(size, 12)], content[max(size, 12):]
                secret = mac(enc + salt, export(b"message/bhttp response", max(size, 12)))
                result["inner"] = response(aead(expand(secret, b"key", size)).decrypt(
                    expand(secret, b"nonce", 12), data, b""))
            else:
                result["problem"] = json.loads(content)
            return result

        print(json.dumps([exchange(plan) for plan in json.load(sys.stdin)]))
        """#

    /// One encapsulated request, and how it differs from a proper one.
    struct Plan: Encodable {
        /// Where it is sent, and where the keys are.
        var url: String
        var keys: String
        var method = "GET"
        var path: String?
        var token: String?
        var body: String?
        /// The type of the body, if not JSON without parameters.
        var bodyType: String?
        var fields: [String: String]?
        var cipher: Int?
        /// Which of the keys, the current one first.
        var key: Int?
        /// Of unknown length, in chunks.
        var chunks: Bool?
        /// The binary message instead, hexadecimal.
        var message: String?
        var pad: Int?
        /// Bytes that are left of the encapsulated request.
        var cut: Int?
        /// The byte of it that is changed.
        var flip: Int?
        var times: Int?
        var type: String?
        /// The address that it is sent from, of 127.0.0.0/8.
        var source: String?
    }

    struct Answer: Decodable {
        struct Inner: Decodable {
            let status: Int
            let fields: [String: String]
            let body: String
        }

        struct Problem: Decodable {
            let type: String?
            let code: String
        }

        let sent: Int
        let status: Int
        let length: Int
        let type: String?
        let inner: Inner?
        let problem: Problem?
    }

    static let isInstalled = PythonScript.has("cryptography")

    static func exchange(_ plans: Plan...) async throws -> [Answer] { try await exchange(plans) }

    static func exchange(_ plans: [Plan]) async throws -> [Answer] {
        let input = Array(try JSONEncoder().encode(plans))
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env", ["python3", "-c", script], input: input)
        guard status == 0 else { throw TestFailure(output) }
        return try JSONDecoder().decode([Answer].self, from: Data(output.utf8))
    }
}
