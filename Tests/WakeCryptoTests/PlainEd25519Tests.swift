import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeCrypto

/// Both must decide alike, whatever a hostile holder of a key signs: a feed that one device refuses
/// and another accepts would be two feeds.
@Suite("Signatures verified in Swift are those that libsodium verifies")
struct PlainEd25519Tests {
    /// L of RFC 8032 §5.1, the lowest byte first.
    private static let order = Hex.decode(
        Array("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010".utf8).span)

    private func hex(_ text: String) -> [UInt8] { Hex.decode(Array(text.utf8).span) ?? [] }

    /// The verdict of both.
    private func verdict(
        _ signature: [UInt8], _ message: [UInt8], _ key: [UInt8],
        _ place: SourceLocation = #_sourceLocation
    ) -> Bool {
        let plain = PlainEd25519.verifies(signature.span, of: message.span, key: key.span)
        let library = VerifyingKey(trusted: key).verifies(signature.span, of: message.span)
        #expect(plain == library, "\(signature) \(message) \(key)", sourceLocation: place)
        return plain && library
    }

    private func isKey(
        _ bytes: [UInt8], _ place: SourceLocation = #_sourceLocation
    ) -> Bool {
        let plain = PlainEd25519.isValidPoint(bytes.span)
        #expect(plain == (VerifyingKey(bytes) != nil), "\(bytes)", sourceLocation: place)
        return plain
    }

    @Test(
        "the signatures of RFC 8032 §7.1",
        arguments: [
            (
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                    + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                    + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
            (
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                    + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
            ),
        ])
    func vectors(_ key: String, _ message: String, _ signature: String) {
        #expect(isKey(hex(key)))
        #expect(verdict(hex(signature), hex(message), hex(key)))
    }

    @Test("random signatures hold, of messages of every length, and with a bit changed none does")
    func random() {
        var random = SplitMix64(seed: 9)
        for length in 0...300 {
            let signer = SigningKey(seed: random.bytes(32).span)
            let message = random.bytes(length)
            let (signature, key) = (signer.sign(message.span), signer.verifyingKey.bytes)
            #expect(isKey(key))
            #expect(verdict(signature, message, key), "\(length) bytes")
            for _ in 0..<6 {
                var other = signature + key + message
                let bit = Int.random(in: 0..<other.count * 8, using: &random)
                other[bit / 8] ^= 1 << UInt8(bit % 8)
                let holds = verdict(Array(other[..<64]), Array(other[96...]), Array(other[64..<96]))
                #expect(!holds, "\(length) bytes, bit \(bit)")
            }
        }
    }

    @Test("of the numbers that sign alike only the one below the order does")
    func scalars() throws {
        var random = SplitMix64(seed: 10)
        let order = try #require(Self.order)
        for round in 0..<100 {
            let signer = SigningKey(seed: random.bytes(32).span)
            let (message, key) = (random.bytes(20), signer.verifyingKey.bytes)
            var signature = signer.sign(message.span)
            for _ in 0..<15 {
                signature = signature[..<32] + Self.sum(Array(signature[32...]), order)
                #expect(!verdict(signature, message, key), "round \(round)")
            }
        }
        // The ends of the range, for any signature.
        for change in 0..<64 {
            var scalar = order
            if change < 32 { scalar[change] &-= 1 } else { scalar[change - 32] &+= 1 }
            let isBelow = EdwardsScalar(canonical: scalar.span) != nil
            #expect(isBelow == (change < 32 ? order[change] != 0 : order[change - 32] == 0xFF))
        }
    }

    /// The numbers from 2^255 − 19 on can be written in two ways.
    @Test("keys and commitments that are written in another way count for nothing")
    func encodings() {
        var random = SplitMix64(seed: 11)
        let signer = SigningKey(seed: random.bytes(32).span)
        for number in 0..<60 {
            for sign in [UInt8(0), 0x80] {
                var bytes = [UInt8](repeating: 0xFF, count: 32)
                bytes[0] = UInt8(196 + number)
                bytes[31] = 0x7F | sign
                let isPoint = isKey(bytes)
                #expect(!isPoint || number < 41)
                let message = random.bytes(8)
                let signature = signer.sign(message.span)
                #expect(!verdict(bytes + signature[32...], message, signer.verifyingKey.bytes))
                #expect(!verdict(signature, message, bytes))
            }
        }
        for _ in 0..<800 {
            let bytes = random.bytes(32)
            _ = isKey(bytes)
            _ = verdict(random.bytes(63) + [0], [1], bytes)
        }
        for byte in UInt8.min...UInt8.max {
            _ = isKey([byte] + [UInt8](repeating: 0, count: 31))
            _ = isKey([UInt8](repeating: 0, count: 31) + [byte])
            _ = isKey([UInt8](repeating: byte, count: 32))
        }
    }

    /// Points are k·B + i·T, where T has the order 8: the holder of such a key can sign, and some
    /// of the signatures fulfil the equation.
    @Test("keys and commitments with a part of small order are judged alike")
    func smallOrders() throws {
        var random = SplitMix64(seed: 12)
        let torsion = hex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
        var accepted = 0
        for round in 0..<400 {
            let (i, j) = (UInt8(round % 8), UInt8.random(in: 0..<8, using: &random))
            let secret = round % 40 == 0 ? [0] : random.bytes(31)
            let nonce = round % 50 == 1 ? [0] : random.bytes(31)
            let key = try Self.point(torsion, times: i, plus: secret)
            let commitment = try Self.point(torsion, times: j, plus: nonce)
            let message = random.bytes(round % 30)
            let hashed = commitment + key + message
            let challenge = PlainSHA512.hash(hashed.span)
            let sum = Self.product(Self.reduced(challenge), secret, plus: nonce)
            #expect(isKey(key) == (i == 0 && secret != [0]), "round \(round)")
            if verdict(commitment + Self.reduced(sum), message, key) { accepted += 1 }
        }
        // The parts of small order cancel out in one of eight cases.
        #expect((20...100).contains(accepted), "\(accepted)")
    }

    @Test("numbers are multiplied alike, whatever their limbs")
    func field() {
        var random = SplitMix64(seed: 13)
        func number() -> FieldElement {
            func limb() -> UInt64 {
                [0, 1, 1 << 51 - 1, 1 << 51, 1 << 54 - 1, random.next() >> 10].randomElement(
                    using: &random) ?? 0
            }
            return FieldElement(limb(), limb(), limb(), limb(), limb())
        }
        for _ in 0..<2000 {
            let (a, b) = (number(), number())
            #expect((a * b).bytes == (b * a).bytes && (a * a).bytes == a.squared.bytes)
            #expect(((a - b) * (a - b)).bytes == (a.squared - (a * b + a * b) + b.squared).bytes)
            #expect((a - a).isZero && (a - b).bytes == (-(b - a)).bytes)
            #expect(a.isZero || (a * a.inverse).bytes == FieldElement.one.bytes)
            let bytes = a.bytes
            #expect(FieldElement(bytes.span).bytes == bytes)
        }
    }

    // MARK: Numbers of bytes, the lowest first

    private static func sum(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var carry = 0
        return zip(a, b).map { first, second in
            carry += Int(first) + Int(second)
            defer { carry >>= 8 }
            return UInt8(carry & 255)
        }
    }

    /// 64 bytes of a·b + c.
    private static func product(_ a: [UInt8], _ b: [UInt8], plus c: [UInt8]) -> [UInt8] {
        var sums = [Int](repeating: 0, count: 64)
        for (i, x) in a.enumerated() {
            for (j, y) in b.enumerated() { sums[i + j] += Int(x) * Int(y) }
        }
        for (i, x) in c.enumerated() { sums[i] += Int(x) }
        var carry = 0
        return sums.map { digit in
            carry += digit
            defer { carry >>= 8 }
            return UInt8(carry & 255)
        }
    }

    /// Modulo the order, by bits alone: 32 bytes.
    private static func reduced(_ bytes: [UInt8]) -> [UInt8] {
        let order = (Self.order ?? []) + [0]
        var rest = [UInt8](repeating: 0, count: 33)
        for bit in (0..<bytes.count * 8).reversed() {
            rest = sum(rest, rest)
            rest[0] |= bytes[bit / 8] >> UInt8(bit % 8) & 1
            // Above the order: add what makes it overflow.
            if !rest.reversed().lexicographicallyPrecedes(order.reversed()) {
                let complement = sum(order.map { ~$0 }, [1] + [UInt8](repeating: 0, count: 32))
                rest = sum(rest, complement)
            }
        }
        return Array(rest[..<32])
    }

    /// A multiple of a point, and a multiple of the base point.
    private static func point(
        _ bytes: [UInt8], times number: UInt8, plus secret: [UInt8]
    ) throws -> [UInt8] {
        let decoded = EdwardsPoint(bytes.span)
        let point = try #require(decoded)
        return EdwardsPoint.sum(
            EdwardsScalar(reducing: [number].span), point, EdwardsScalar(reducing: secret.span)
        ).bytes
    }
}
