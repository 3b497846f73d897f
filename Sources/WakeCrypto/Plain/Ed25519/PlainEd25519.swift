import WakeBytes

/// Ed25519 (RFC 8032 §5.1.7) in Swift: it accepts what libsodium accepts. Everything here is
/// public, so that the time may depend on all of it.
enum PlainEd25519 {
    /// As `crypto_core_ed25519_is_valid_point`: written in the one way, of the prime order.
    static func isValidPoint(_ bytes: Span<UInt8>) -> Bool {
        guard let point = EdwardsPoint(bytes), !point.isOfSmallOrder else { return false }
        return EdwardsPoint.sum(.order, point).isIdentity
    }

    /// As `crypto_sign_verify_detached`: keys and signatures of small order verify nothing, and of
    /// the numbers that sign alike only the smallest does.
    static func verifies(
        _ signature: Span<UInt8>, of message: Span<UInt8>, key: Span<UInt8>
    ) -> Bool {
        guard let scalar = EdwardsScalar(canonical: signature.extracting(32..<64)),
            let point = EdwardsPoint(key), !point.isOfSmallOrder
        else { return false }
        let commitment = signature.extracting(0..<32)
        var hashed = commitment.array
        hashed.reserveCapacity(64 + message.count)
        hashed.append(span: key)
        hashed.append(span: message)
        let challenge = EdwardsScalar(reducing: PlainSHA512.hash(hashed.span).span)
        let expected = EdwardsPoint.sum(challenge, -point, scalar)
        return commitment.equals(expected.bytes) && !expected.isOfSmallOrder
    }
}

/// A number modulo the order L of the base point (RFC 8032 §5.1), or L itself.
struct EdwardsScalar: Sendable {
    /// The lowest first.
    private var words: SIMD4<UInt64>

    static let zero = EdwardsScalar(words: SIMD4())
    static let order = EdwardsScalar(
        words: SIMD4(0x5812_631A_5CF5_D3ED, 0x14DE_F9DE_A2F7_9CD6, 0, 0x1000_0000_0000_0000))

    private init(words: SIMD4<UInt64>) { self.words = words }

    /// - Parameter bytes: 32, the lowest first; nil unless the number is below L.
    init?(canonical bytes: Span<UInt8>) {
        words = SIMD4()
        for index in 0..<4 { words[index] = bytes.littleEndian(at: 8 * index) }
        guard reduced.isOver else { return nil }
    }

    /// - Parameter bytes: the lowest first, of a number of any size. It is divided bit by bit, in a
    ///   thirtieth of the time of a verification.
    init(reducing bytes: Span<UInt8>) {
        self = .zero
        for index in bytes.indices.reversed() {
            for bit in stride(from: UInt64(8), to: 0, by: -1) {
                double(adding: UInt64(bytes[index]) >> (bit - 1) & 1)
                let (rest, isOver) = reduced
                if !isOver { self = rest }
            }
        }
    }

    /// Twice the number, which is below L, and one bit: no overflow.
    private mutating func double(adding bit: UInt64) {
        var carry = bit
        for index in 0..<4 {
            let word = words[index]
            words[index] = word &<< 1 | carry
            carry = word &>> 63
        }
    }

    /// The number less L, and whether that is below zero.
    private var reduced: (rest: EdwardsScalar, isOver: Bool) {
        var (rest, isOver) = (words, false)
        for index in 0..<4 {
            let (first, isBelow) = words[index].subtractingReportingOverflow(
                Self.order.words[index])
            let (second, isBelowZero) = first.subtractingReportingOverflow(isOver ? 1 : 0)
            rest[index] = second
            isOver = isBelow || isBelowZero
        }
        return (EdwardsScalar(words: rest), isOver)
    }

    /// The number in 256 digits for the powers of two, each 0 or odd and from −15 to 15, with at
    /// least four zeros after each that is none.
    var digits: [Int8] {
        var digits = [Int8](repeating: 0, count: 256)
        var (place, carry) = (0, UInt64(0))
        while place < 256 {
            let window = bits(at: place) &+ carry
            guard window & 1 == 1 else {
                place += 1
                continue
            }
            carry = window >> 4
            digits[place] = Int8(truncatingIfNeeded: window) - (carry == 1 ? 32 : 0)
            place += 5
        }
        return digits
    }

    /// Five bits from a place on.
    private func bits(at place: Int) -> UInt64 {
        let (index, shift) = (place / 64, UInt64(place % 64))
        var bits = words[index] >> shift
        if shift > 59, index < 3 { bits |= words[index + 1] << (64 - shift) }
        return bits & 31
    }
}
