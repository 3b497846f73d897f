import TestSupport
import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeFeed

@Suite("Keyed hash")
struct KeyedHashTests {
    @Test("equals libsodium's for every length around its blocks, salted and not")
    func lengths() {
        var generator = SplitMix64(seed: 11)
        for keyCount in [1, 31, 32, 64] {
            let key = bytes(keyCount, &generator)
            let hash = KeyedHash(key: key.span)
            for length in Array(1...300) + [383, 384, 385, 511, 512, 513, 1023, 1024] {
                for tail in [0, 16, 64] {
                    let message = bytes(length, &generator)
                    let salt = bytes(tail, &generator)
                    guard hash.hash(message.span, salt.span) == expected(message + salt, key: key)
                    else {
                        Issue.record("\(length) and \(tail) bytes, key \(keyCount)")
                        return
                    }
                }
            }
        }
    }

    @Test("a digest is libsodium's keyed hash of secret and salt")
    func digests() throws {
        let name = Array("wake-feed/digest/1".utf8)
        let key = Blake2b.hash(name.span)
        var generator = SplitMix64(seed: 12)
        for round in 0..<300 {
            let salt = round % 2 == 0 ? BatchSalt(bytes(16, &generator)) : nil
            let secret = bytes(Int.random(in: 16...1024, using: &generator), &generator)
            let message = secret + (salt?.bytes ?? [])
            let digest = Digest(of: SecretBytes(secret), salt: salt)
            #expect(digest == expected(message, key: key), "round \(round)")
        }
    }

    private func expected(_ message: [UInt8], key: [UInt8]) -> Digest {
        let hash = Blake2b.hash(message.span, count: 16, key: key.span)
        return Digest(hash.span)
    }

    private func bytes(_ count: Int, _ generator: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
