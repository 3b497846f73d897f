import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed

@Suite("Hash of a secret")
struct SecretHashTests {
    @Test("its halves are the digest without a salt, and the key of the salted ones")
    func halves() throws {
        let name = Array("wake-feed/digest/1".utf8)
        var generator = SplitMix64(seed: 12)
        // Around the blocks of 128 bytes, too.
        for length in Array(16...300) + [383, 384, 385, 511, 512, 513, 1023, 1024] {
            let secret = bytes(length, &generator)
            let salt = try #require(BatchSalt(bytes(16, &generator)))
            let hash = Blake2b.hash((name + secret).span)
            let derived = SecretHash(of: SecretBytes(secret))
            let key = SIMD2<UInt64>(
                hash.span.littleEndian(at: 16), hash.span.littleEndian(at: 24))
            let words = SipHash128.hash(salt.bytes.span, key: key)
            var salted: [UInt8] = []
            for word in [words[0], words[1]] { salted.append(littleEndian: word) }
            #expect(derived.unsalted == Digest(hash.span), "\(length) bytes")
            #expect(derived.digest(salt: nil) == derived.unsalted)
            #expect(derived.digest(salt: salt) == Digest(salted.span), "\(length) bytes")
        }
    }

    @Test("digests of two salts have as many bits in common as chance gives")
    func unlinkable() throws {
        var generator = SplitMix64(seed: 13)
        var equal = 0
        for _ in 0..<2000 {
            let derived = SecretHash(of: SecretBytes(bytes(32, &generator)))
            let digests = try (0..<2).map { _ in
                let salt = try #require(BatchSalt(bytes(16, &generator)))
                return derived.digest(salt: salt)
            }
            equal += 64 - (digests[0].high ^ digests[1].high).nonzeroBitCount
        }
        // Half of 128,000, and six times the deviation of that sum, 179.
        #expect(abs(equal - 64_000) < 1074, "\(equal)")
    }

    private func bytes(_ count: Int, _ generator: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
