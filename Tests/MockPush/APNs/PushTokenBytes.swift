import WakeSystem

/// A push token of 32 bytes as four words, or a longer one, up to 100 bytes, with the rest behind.
struct PushTokenBytes: Hashable {
    let words: TokenWords
    /// Nil for a token of 32 bytes, which is what all devices have today.
    let rest: [UInt8]?

    init(_ words: TokenWords) {
        self.words = words
        rest = nil
    }

    /// Nil unless `hex` is 32 to 100 bytes in hexadecimal digits.
    init?(hex: ArraySlice<UInt8>) {
        guard hex.count >= 64, hex.count <= 200, hex.count.isMultiple(of: 2) else { return nil }
        guard let words = TokenWords(hex: hex.span, at: 0) else { return nil }
        self.words = words
        if hex.count == 64 {
            rest = nil
            return
        }
        var digits: [UInt8] = []
        for character in hex.dropFirst(64) {
            guard let digit = Character(UnicodeScalar(character)).hexDigitValue else { return nil }
            digits.append(UInt8(digit))
        }
        rest = digits
    }

    /// Whether the token begins with these digits (0 to 15 each).
    func begins(with digits: [UInt8]) -> Bool {
        for (place, digit) in digits.enumerated() {
            let own: UInt8? =
                place < 64
                ? words.digit(place)
                : rest.flatMap { rest in
                    place - 64 < rest.count ? rest[place - 64] : nil
                }
            if own != digit { return false }
        }
        return true
    }
}

/// 32 bytes.
struct TokenWords: Hashable {
    var first: UInt64
    var second: UInt64
    var third: UInt64
    var fourth: UInt64

    init(first: UInt64, second: UInt64, third: UInt64, fourth: UInt64) {
        self.first = first
        self.second = second
        self.third = third
        self.fourth = fourth
    }

    /// Reads 64 hexadecimal digits of either case; nil when they are not.
    init?(hex: Span<UInt8>, at start: Int) {
        guard start >= 0, start + 64 <= hex.count else { return nil }
        var isHex = true
        func word(_ place: Int) -> UInt64 {
            let high = Self.eight(Bytes.word(hex, at: start + place * 16), &isHex)
            let low = Self.eight(Bytes.word(hex, at: start + place * 16 + 8), &isHex)
            return high << 32 | low
        }
        first = word(0)
        second = word(1)
        third = word(2)
        fourth = word(3)
        if !isHex { return nil }
    }

    var isZero: Bool { first | second | third | fourth == 0 }

    /// The hexadecimal digit at `place`, 0 to 63.
    func digit(_ place: Int) -> UInt8 {
        let word =
            switch place / 16 {
            case 0: first
            case 1: second
            case 2: third
            default: fourth
            }
        return UInt8(word >> UInt64(60 - place % 16 * 4) & 0xF)
    }

    /// Eight digits at once, each in its byte of `characters`; no byte's work reaches the next.
    private static func eight(_ characters: UInt64, _ isHex: inout Bool) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let letters = (characters >> 6) & ones
        var digits = (characters & (ones &* 0x0F)) &+ letters &* 9
        // What these digits look like, in lower case, must be what was read.
        let aboveNine = ((digits &+ ones &* 6) >> 4) & ones
        let expected = digits &+ ones &* 0x30 &+ aboveNine &* 0x27
        let tooLarge = digits & (ones &* 0xF0)
        isHex = isHex && tooLarge == 0 && expected == characters | letters << 5
        digits = (digits | digits >> 4) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits >> 8) & 0x0000_FFFF_0000_FFFF
        return (digits | digits >> 16) & 0xFFFF_FFFF
    }
}
