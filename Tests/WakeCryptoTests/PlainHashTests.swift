import CCrypto
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeCrypto

/// This program links libsodium, so `Blake2b`, `SHA256` and `SipHash128` are its functions, and
/// what they are compared with is what apps on phones have.
@Suite("Hashes in Swift are those of libsodium")
struct PlainHashTests {
    private func hex(_ text: String) -> [UInt8] { Hex.decode(Array(text.utf8).span) ?? [] }

    private func plain(_ bytes: [UInt8], count: Int = 32, key: [UInt8] = []) -> [UInt8] {
        var hash = PlainBlake2b(count: count, key: key.span)
        hash.update(bytes.span)
        return hash.finish()
    }

    @Test("the tests of this module compare with libsodium")
    func linked() {
        #expect(unsafe wake_crypto_table() != nil)
    }

    @Test("BLAKE2b of every length up to three blocks, with and without a key, of any size")
    func blake2b() {
        var random = SplitMix64(seed: 1)
        for length in Array(0...400) + [511, 512, 513, 1023, 1024, 1025, 65_536, 70_001] {
            let bytes = random.bytes(length)
            let count = Int.random(in: 16...64, using: &random)
            let key = random.bytes(Int.random(in: 1...64, using: &random))
            #expect(plain(bytes) == Blake2b.hash(bytes.span), "\(length) bytes")
            #expect(plain(bytes, count: count) == Blake2b.hash(bytes.span, count: count))
            let keyed = Blake2b.hash(bytes.span, count: count, key: key.span)
            #expect(plain(bytes, count: count, key: key) == keyed, "\(length) bytes")
        }
    }

    @Test("BLAKE2b does not depend on how the bytes come")
    func pieces() {
        var random = SplitMix64(seed: 2)
        for round in 0..<600 {
            let bytes = random.bytes(
                Int.random(in: 0...(round % 3 == 0 ? 2000 : 300), using: &random))
            let key = random.bytes([0, 0, 1, 32, 64][round % 5])
            var hash = PlainBlake2b(count: 32, key: key.span)
            let library = Blake2b(key: key.isEmpty ? nil : key.span)
            var start = 0
            while start < bytes.count {
                let most = [1, 130, 128, 64, 700][round % 5]
                let end = min(bytes.count, start + Int.random(in: 0...most, using: &random))
                hash.update(bytes.span.extracting(start..<end))
                library.update(bytes.span.extracting(start..<end))
                start = end
            }
            let ended = library.finish()
            #expect(hash.finish() == ended && plain(bytes, key: key) == ended, "round \(round)")
        }
    }

    @Test("BLAKE2b of two runs, and the first word, are of the same hash")
    func words() {
        var random = SplitMix64(seed: 3)
        for length in 0...300 {
            let bytes = random.bytes(length)
            let cut = Int.random(in: 0...length, using: &random)
            var hash = PlainBlake2b(count: 32)
            hash.update(bytes.span)
            let plain = hash.finishWords()
            let words = Blake2b.words(
                bytes.span.extracting(0..<cut), bytes.span.extracting(cut..<length))
            #expect(words == plain, "\(length) bytes")
            let whole = Blake2b.hash(bytes.span)
            #expect(whole.span.littleEndian(at: 24) == words[3])
            #expect(whole.span.bigEndian(at: 0) == Blake2b.start(of: bytes.span))
        }
    }

    @Test("BLAKE2b passes the self-test of RFC 7693, appendix E")
    func appendix() {
        func sequence(_ length: Int) -> [UInt8] {
            var (a, b) = (0xDEAD_4BAD &* UInt32(length), UInt32(1))
            return (0..<length).map { _ in
                (a, b) = (b, a &+ b)
                return UInt8(b >> 24)
            }
        }
        var all: [UInt8] = []
        for count in [20, 32, 48, 64] {
            for length in [0, 3, 128, 129, 255, 1024] {
                all += plain(sequence(length), count: count)
                all += plain(sequence(length), count: count, key: sequence(count))
            }
        }
        #expect(
            plain(all) == hex("c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475"))
        #expect(
            plain(Array("abc".utf8), count: 64)
                == hex(
                    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"))
    }

    @Test("SHA-256 of every length up to five blocks")
    func sha256() {
        var random = SplitMix64(seed: 4)
        for length in Array(0...330) + [4095, 4096, 70_001] {
            let bytes = random.bytes(length)
            let plain = PlainSHA256.hash(bytes.span)
            #expect(plain == SHA256.hash(bytes.span), "\(length) bytes")
        }
        let abc = Array("abc".utf8)
        let plain = PlainSHA256.hash(abc.span)
        // FIPS 180-4, example of one block.
        #expect(plain == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    }

    @Test("SHA-512 of every length up to two blocks")
    func sha512() {
        let abc = Array("abc".utf8)
        let plain = PlainSHA512.hash(abc.span)
        #expect(
            plain
                == hex(
                    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"))
        // python3: hashlib.sha512(b"".join(sha512(bytes(range(n))).digest()
        // for n in range(257)))
        let all = (0...256).flatMap { length in
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            return PlainSHA512.hash(bytes.span)
        }
        let ofAll = PlainSHA512.hash(all.span)
        #expect(ofAll == hex(Self.ofAll))
    }

    private static let ofAll =
        "2e08877da7c9c5c3aaf44718904d89b4a2c17e6cf78b234dcf48514711aa7c69"
        + "563308d5c6777e8cbba6f01f150b8837c8b29d7c178bb2d7a3229eacf895750b"

    @Test("SipHash-2-4-128 of every length, and the first values of the authors' reference code")
    func sipHash() {
        var random = SplitMix64(seed: 5)
        for length in 0...300 {
            let bytes = random.bytes(length)
            let key = SIMD2(random.next(), random.next())
            #expect(
                PlainSipHash.hash(bytes.span, key: key) == SipHash128.hash(bytes.span, key: key))
        }
        // vectors.h, vectors_sip128: messages of 0, 1 and 16 bytes 00, 01 … under such a key.
        let key = (0..<16).map { UInt8($0) }
        let words = SIMD2<UInt64>(key.span.littleEndian(at: 0), key.span.littleEndian(at: 8))
        for (count, expected) in [
            (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
            (16, "6ee2a4ca67b054bbfd3315bf85230577"),
        ] {
            let hash = PlainSipHash.hash(key.span.extracting(0..<count), key: words)
            let bytes = hex(expected)
            #expect(hash[0] == bytes.span.littleEndian(at: 0), "\(count) bytes")
            #expect(hash[1] == bytes.span.littleEndian(at: 8), "\(count) bytes")
        }
    }
}

extension SplitMix64 {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
    }
}
