import WakeBytes

/// XSalsa20-Poly1305 (Bernstein 2008 and 2005), as libsodium's `crypto_secretbox` puts it together.
enum PlainSecretBox {
    /// - Parameters:
    ///   - box: nonce (24), tag (16), ciphertext.
    ///   - key: 32 bytes.
    static func open(_ box: Span<UInt8>, key: Span<UInt8>) -> [UInt8]? {
        var subkey = Salsa20.subkey(key, box.extracting(0..<16))
        let ciphertext = box.extracting(40..<box.count)
        // The first 32 bytes of the stream are the authenticator's key.
        var stream = Salsa20.stream(
            subkey.span, box.extracting(16..<24), count: 32 + ciphertext.count)
        defer {
            subkey.wipe()
            stream.wipe()
        }
        let tag = Poly1305.tag(of: ciphertext, key: stream.span.extracting(0..<32))
        let (low, high): (UInt64, UInt64) = (box.littleEndian(at: 24), box.littleEndian(at: 32))
        // Both halves in any case: the time says nothing of the tag.
        guard (tag.low ^ low) | (tag.high ^ high) == 0 else { return nil }
        return [UInt8](capacity: ciphertext.count) { message in
            for index in ciphertext.indices {
                message.append(ciphertext[index] ^ stream[32 + index])
            }
        }
    }
}

private enum Salsa20 {
    /// "expand 32-byte k".
    private static let constants: [UInt32] = [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574]
    /// The words of the columns, then of the rows.
    private static let quarters = [
        (0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
        (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14),
    ]

    /// HSalsa20.
    /// - Parameter input: 16 bytes.
    static func subkey(_ key: Span<UInt8>, _ input: Span<UInt8>) -> [UInt8] {
        let mixed = mixed(matrix(key, input))
        return [0, 5, 10, 15, 6, 7, 8, 9].reduce(into: []) {
            $0.append(littleEndian: mixed[$1])
        }
    }

    /// - Parameter nonce: 8 bytes.
    static func stream(_ key: Span<UInt8>, _ nonce: Span<UInt8>, count: Int) -> [UInt8] {
        var stream: [UInt8] = []
        stream.reserveCapacity(count + 63)
        var number: UInt64 = 0
        while stream.count < count {
            var input = nonce.array
            input.append(littleEndian: number)
            let matrix = matrix(key, input.span)
            for (mixed, word) in zip(mixed(matrix), matrix) {
                stream.append(littleEndian: mixed &+ word)
            }
            number += 1
        }
        return stream
    }

    private static func matrix(_ key: Span<UInt8>, _ input: Span<UInt8>) -> [UInt32] {
        func words(_ bytes: Span<UInt8>, from start: Int) -> [UInt32] {
            (0..<4).map { bytes.littleEndian(at: start + 4 * $0) }
        }
        return [constants[0]] + words(key, from: 0) + [constants[1]] + words(input, from: 0)
            + [constants[2]] + words(key, from: 16) + [constants[3]]
    }

    private static func mixed(_ matrix: [UInt32]) -> [UInt32] {
        var words = matrix
        for _ in 0..<10 {
            for (a, b, c, d) in quarters {
                words[b] ^= (words[a] &+ words[d]).rotated(right: 25)
                words[c] ^= (words[b] &+ words[a]).rotated(right: 23)
                words[d] ^= (words[c] &+ words[b]).rotated(right: 19)
                words[a] ^= (words[d] &+ words[c]).rotated(right: 14)
            }
        }
        return words
    }
}

/// Numbers modulo 2^130 − 5 in five limbs of 26 bits.
private enum Poly1305 {
    private static let mask: UInt64 = 1 << 26 - 1
    /// Bits that the key's first half does not have.
    private static let clamp: [UInt64] = [
        0x3FF_FFFF, 0x3FF_FF03, 0x3FF_C0FF, 0x3F0_3FFF, 0x00F_FFFF,
    ]

    /// - Parameter key: 32 bytes, for this message alone.
    static func tag(of message: Span<UInt8>, key: Span<UInt8>) -> (low: UInt64, high: UInt64) {
        var point = limbs(key.extracting(0..<16), end: 0)
        for index in 0..<5 { point[index] &= clamp[index] }
        var sum: [UInt64] = [0, 0, 0, 0, 0]
        var start = 0
        while start < message.count {
            let end = min(start + 16, message.count)
            var block = message.extracting(start..<end).array
            // After the last byte comes a one: within a short block, or above a whole one.
            if block.count < 16 {
                block.append(1)
                block += repeatElement(0, count: 16 - block.count)
            }
            let added = limbs(block.span, end: end - start == 16 ? 1 << 24 : 0)
            for index in 0..<5 { sum[index] += added[index] }
            sum = product(sum, point)
            start = end
        }
        let (low, high) = reduced(sum)
        let (end, carry) = low.addingReportingOverflow(key.littleEndian(at: 16))
        return (end, high &+ key.littleEndian(at: 24) &+ (carry ? 1 : 0))
    }

    private static func limbs(_ bytes: Span<UInt8>, end: UInt64) -> [UInt64] {
        let (low, high): (UInt64, UInt64) = (bytes.littleEndian(at: 0), bytes.littleEndian(at: 8))
        return [
            low & mask, low >> 26 & mask, (low >> 52 | high << 12) & mask, high >> 14 & mask,
            high >> 40 | end,
        ]
    }

    private static func product(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
        var product: [UInt64] = [0, 0, 0, 0, 0]
        for i in 0..<5 {
            for j in 0..<5 {
                // 2^130 is 5.
                product[(i + j) % 5] += a[i] * b[j] * (i + j < 5 ? 1 : 5)
            }
        }
        return carried(product)
    }

    private static func carried(_ limbs: [UInt64]) -> [UInt64] {
        var (limbs, carry) = (limbs, UInt64(0))
        for index in 0..<5 {
            limbs[index] += carry
            carry = limbs[index] >> 26
            limbs[index] &= mask
        }
        limbs[0] += 5 * carry
        limbs[1] += limbs[0] >> 26
        limbs[0] &= mask
        return limbs
    }

    /// The number below 2^130 − 5, modulo 2^128.
    private static func reduced(_ limbs: [UInt64]) -> (low: UInt64, high: UInt64) {
        let limbs = carried(limbs)
        // With 5 more, a number that is too large reaches 2^130.
        var (larger, carry) = (limbs, UInt64(5))
        for index in 0..<5 {
            larger[index] += carry
            carry = larger[index] >> 26
            larger[index] &= mask
        }
        let choice = 0 &- carry
        let number = zip(limbs, larger).map { $0 & ~choice | $1 & choice }
        return (
            number[0] | number[1] << 26 | number[2] << 52,
            number[2] >> 12 | number[3] << 14 | number[4] << 40
        )
    }
}
