import Testing
import WakeModel
import WakeSystem

@Suite("The faces of libsodium")
struct SodiumTests {
    private func hex(_ text: String) -> [UInt8] { Hex.decode(Array(text.utf8).span) ?? [] }

    // `#expect` cannot take calls whose arguments are spans.
    private func hash(_ bytes: [UInt8]) -> [UInt8] { Blake2b.hash(bytes.span) }
    private func open(_ box: [UInt8], _ associated: [UInt8], _ key: KeyMemory) -> [UInt8]? {
        SealedBox.open(box.span, associated: associated.span, key: key)
    }
    private func seal(_ key: KeyMemory) -> [UInt8] {
        let message: [UInt8] = [1, 2, 3]
        let associated: [UInt8] = [9]
        return SealedBox.seal(message.span, associated: associated.span, key: key)
    }
    private func openSecret(_ box: [UInt8], _ key: [UInt8]) -> [UInt8]? {
        SecretBox.open(box.span, key: key.span)
    }
    private func verifies(_ key: VerifyingKey, _ signature: [UInt8], _ message: [UInt8]) -> Bool {
        key.verifies(signature.span, of: message.span)
    }

    @Test("BLAKE2b-256 equals a known value, in one call and in pieces")
    func blake2b() {
        // printf abc | b2sum -l 256
        let expected = hex("bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
        let abc = Array("abc".utf8)
        #expect(hash(abc) == expected)
        let pieces = Blake2b()
        for byte in abc { pieces.update(CollectionOfOne(byte).span) }
        pieces.update([UInt8]().span)
        #expect(pieces.finish() == expected)
        let keyed = Blake2b.hash(abc.span, key: abc.span)
        #expect(keyed != expected)
    }

    @Test("Ed25519 signs as RFC 8032 §7.1 test 2 says")
    func ed25519() throws {
        let key = SigningKey(
            seed: hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").span)
        #expect(
            key.verifyingKey.bytes
                == hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
        let signature = key.sign(CollectionOfOne(0x72).span)
        #expect(
            signature
                == hex(
                    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"))
        #expect(verifies(key.verifyingKey, signature, [0x72]))
        #expect(!verifies(key.verifyingKey, signature, [0x73]))
        #expect(VerifyingKey(text: key.verifyingKey.text) == key.verifyingKey)
        // A point of small order would verify anything.
        #expect(VerifyingKey([UInt8](repeating: 0, count: 32)) == nil)
    }

    @Test("a sealed box opens with its key and associated bytes, and with nothing else")
    func sealedBox() {
        let key = KeyMemory.random()
        let sealed = seal(key)
        #expect(sealed.count == 3 + SealedBox.overheadBytes)
        #expect(open(sealed, [9], key) == [1, 2, 3])
        #expect(open(sealed, [8], key) == nil)
        #expect(open(sealed, [9], .random()) == nil)
        #expect(seal(key) != sealed)
        for index in sealed.indices {
            var other = sealed
            other[index] ^= 1
            #expect(open(other, [9], key) == nil)
        }
        #expect(open([1], [], key) == nil)
    }

    @Test("a secret box opens with its key alone")
    func secretBox() {
        let key = Sodium.random(32)
        let nonce = Sodium.random(24)
        let box = SecretBox.seal([UInt8]().span, nonce: nonce.span, key: key.span)
        #expect(openSecret(box, key) == [])
        #expect(openSecret(box, Sodium.random(32)) == nil)
    }

    @Test("subkeys differ by number and context and repeat for the same")
    func derivation() {
        let master = KeyMemory(Array<UInt8>(0..<32).span)
        let one = master.derive(1, context: "contexta").withSpan { $0.array }
        #expect(one == master.derive(1, context: "contexta").withSpan { $0.array })
        #expect(one != master.derive(2, context: "contexta").withSpan { $0.array })
        #expect(one != master.derive(1, context: "contextb").withSpan { $0.array })
    }
}
