import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("Proofs of work")
struct ProofTests {
    /// A row of the vectors in Policy/PROTOCOL.md.
    private struct Vector {
        let challenge: [UInt8]
        let token: InstanceToken
        let bits: Int
        let nonce: UInt64
        let proof: String
        let words: [String]
    }

    private static func vectors() throws -> [Vector] {
        let file = Repository.root.appending(path: "Policy/PROTOCOL.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let header = try #require(lines.firstIndex { $0.hasPrefix("| challenge |") })
        return try lines[(header + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let words = line.split(separator: "|").map { $0.filter { !" `".contains($0) } }
            let token = InstanceToken(text: Array(words[1].utf8).span)
            return Vector(
                challenge: Base64URL.decode(Array(words[0].utf8).span) ?? [],
                token: try #require(token), bits: try #require(Int(words[2])),
                nonce: try #require(UInt64(words[3])), proof: words[4], words: words)
        }
    }

    @Test("the first nonce is found for each vector of PROTOCOL.md, and for no other token")
    func vectors() throws {
        let vectors = try Self.vectors()
        #expect(vectors.count == 3)
        for vector in vectors {
            let found = ProofOfWork.search(
                0..<1 << 20, challenge: vector.challenge, token: vector.token, bits: vector.bits)
            #expect(found == vector.nonce)
            let proof = RegistrationProof(challenge: vector.challenge, nonce: vector.nonce)
            #expect(proof.text == Array(vector.proof.utf8))
            #expect(RegistrationProof(text: proof.text) == proof)
            #expect(proof.challenge == vector.challenge && proof.nonce == vector.nonce)
            let hash = Blake2b.hash(vector.challenge.span)
            let other = try #require(InstanceToken(hash))
            let again = vector.nonce..<vector.nonce + 1
            #expect(
                ProofOfWork.search(
                    again, challenge: vector.challenge, token: other, bits: vector.bits) == nil)
        }
    }

    @Test(
        "an independent BLAKE2b makes the same hashes of them",
        .enabled(if: PythonScript.has("hashlib"), "this machine has no Python"))
    func independent() throws {
        let script = """
            import sys, base64, hashlib
            decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            challenge, token, bits, nonce, proof, hash = sys.argv[1:]
            bytes = decode(challenge) + int(nonce).to_bytes(6, "big")
            made = hashlib.blake2b(b"reveille-proof-1" + bytes + decode(token), digest_size=32)
            zeros = 256 - int.from_bytes(made.digest(), "big").bit_length()
            sys.exit(0 if made.hexdigest() == hash and zeros >= int(bits)
                and decode(proof) == bytes else 1)
            """
        for vector in try Self.vectors() {
            #expect(try PythonScript.run(script, vector.words) == 0)
            var wrong = vector.words
            wrong[3] = "\(vector.nonce + 1)"
            #expect(try PythonScript.run(script, wrong) == 1)
        }
    }

    @Test("a challenge survives its problem document, whatever else that has; others are none")
    func challenge() throws {
        let bytes = Array(UInt8(100)..<124)
        let challenge = RegistrationChallenge(bytes: bytes, bits: 17, seconds: 600)
        let document = challenge.problem()
        #expect(RegistrationChallenge(problem: document) == challenge)
        let more = String(decoding: document, as: UTF8.self).dropLast() + #","detail":[1,{}]}"#
        #expect(RegistrationChallenge(problem: Array(more.utf8)) == challenge)
        for text in [
            "", "{}", #"{"code":"store_full"}"#, more.replacing(#""bits":17"#, with: #""bits":0"#),
            more.replacing("proof_needed", with: "proof"), more.replacing("ZGVm", with: "ZGV"),
            more.replacing(#""bits":17"#, with: #""bits":"17""#),
        ] {
            #expect(RegistrationChallenge(problem: Array(text.utf8)) == nil)
        }
    }

    @Test("a body with a proof has the one length too, and both are read")
    func body() throws {
        let proof = RegistrationProof(challenge: Array(0..<24), nonce: (1 << 48) - 1)
        let token = try PushToken(service: .apns, bytes: Array(repeating: 9, count: 100))
        let endpoint = Array(("https://a.b/" + String(repeating: "x", count: 490)).utf8)
        for token in [token, try PushToken(service: .webPush, bytes: endpoint)] {
            let bytes = RegistrationBody.encode(token, proof: proof)
            #expect(bytes.count == Limits.paddedBodyBytes)
            let body = try RegistrationBody(decoding: bytes)
            #expect(body.token == token && body.proof == proof)
        }
        for text in ["", "AAAA"] + ["A", "AA", "="].map({ String(repeating: $0, count: 39) }) {
            let body = Array(#"{"service":"fcm","token":"a","proof":"\#(text)"}"#.utf8)
            #expect(throws: RegistrationBodyError.json(.malformed)) {
                try RegistrationBody(decoding: body)
            }
        }
    }
}
