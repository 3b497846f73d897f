import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeCrypto

@Suite("Secret boxes opened in Swift are those of libsodium")
struct PlainSecretBoxTests {
    private func both(_ box: [UInt8], _ key: [UInt8]) -> (plain: [UInt8]?, library: [UInt8]?) {
        (PlainSecretBox.open(box.span, key: key.span), SecretBox.open(box.span, key: key.span))
    }

    @Test("a box of every length opens")
    func lengths() {
        var random = SplitMix64(seed: 6)
        for length in Array(0...300) + [1023, 1024, 1025, 5000] {
            let (message, key, nonce) = (random.bytes(length), random.bytes(32), random.bytes(24))
            let box = SecretBox.seal(message.span, nonce: nonce.span, key: key.span)
            let opened = both(box, key)
            #expect(opened.plain == message && opened.library == message, "\(length) bytes")
        }
    }

    @Test("a box with any bit changed, or under another key, opens in neither")
    func damage() {
        var random = SplitMix64(seed: 7)
        for length in [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 254] {
            let (message, key, nonce) = (random.bytes(length), random.bytes(32), random.bytes(24))
            let box = SecretBox.seal(message.span, nonce: nonce.span, key: key.span)
            for index in box.indices {
                var other = box
                other[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                let opened = both(other, key)
                #expect(opened.plain == nil && opened.library == nil, "\(length): byte \(index)")
            }
            for index in key.indices {
                var other = key
                other[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                #expect(both(box, other).plain == nil)
            }
            #expect(both(Array(box.dropLast()) + [0, 0], key).plain == nil)
        }
    }

    /// The sums of Poly1305 come to the ends of their range when blocks are full of ones.
    @Test("the authenticator of extreme blocks is that of libsodium")
    func extremes() {
        var random = SplitMix64(seed: 8)
        for round in 0..<800 {
            let (key, nonce) = (random.bytes(32), random.bytes(24))
            let length = round % 100
            let zeros = [UInt8](repeating: 0, count: length)
            // Zeros sealed are the stream: with it the ciphertext can be chosen.
            let stream = SecretBox.seal(zeros.span, nonce: nonce.span, key: key.span).dropFirst(40)
            let wanted: [UInt8] = (0..<length).map { index in
                switch round % 4 {
                case 0: 0xFF
                case 1: index / 16 % 2 == 0 ? 0xFF : 0
                case 2: index % 16 == 0 ? 0xFB : 0xFF
                default: 0
                }
            }
            let message = zip(stream, wanted).map { $0 ^ $1 }
            let box = SecretBox.seal(message.span, nonce: nonce.span, key: key.span)
            #expect(box.dropFirst(40).elementsEqual(wanted))
            #expect(both(box, key).plain == message, "round \(round)")
        }
    }
}
