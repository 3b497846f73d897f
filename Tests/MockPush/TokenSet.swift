/// Distinct push tokens, flat: four words a place, open addressing, at most half full. A million
/// tokens take 64 MiB and about one cache miss each.
struct TokenSet {
    private var words: [UInt64]
    private var mask: Int
    /// Of the places; the token of zeros, which marks a free place, is not in one.
    private var used = 0
    private var hasZero = false
    /// Tokens of more than 32 bytes.
    private var long: Set<PushTokenBytes> = []

    init() {
        mask = 4095
        words = [UInt64](repeating: 0, count: 4 * 4096)
    }

    var count: Int { used + (hasZero ? 1 : 0) + long.count }

    /// - Returns: false when the token was there already.
    mutating func insert(_ token: PushTokenBytes) -> Bool {
        if token.rest != nil { return long.insert(token).inserted }
        if token.words.isZero {
            defer { hasZero = true }
            return !hasZero
        }
        if used * 2 > mask { grow() }
        return insert(token.words)
    }

    private mutating func insert(_ token: TokenWords) -> Bool {
        var place = Self.hash(token) & mask
        while true {
            let start = place * 4
            let (first, second, third, fourth) = (
                words[start], words[start + 1], words[start + 2], words[start + 3]
            )
            if first | second | third | fourth == 0 {
                words[start] = token.first
                words[start + 1] = token.second
                words[start + 2] = token.third
                words[start + 3] = token.fourth
                used += 1
                return true
            }
            if first == token.first, second == token.second, third == token.third,
                fourth == token.fourth
            {
                return false
            }
            place = (place + 1) & mask
        }
    }

    /// Tokens may be consecutive numbers: all bits of them reach the low ones.
    private static func hash(_ token: TokenWords) -> Int {
        var mixed = token.first ^ token.second &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ token.third) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 29 ^ token.fourth) &* 0x94D0_49BB_1331_11EB
        return Int(truncatingIfNeeded: mixed >> 32)
    }

    private mutating func grow() {
        let old = words
        mask = mask * 2 + 1
        words = [UInt64](repeating: 0, count: 4 * (mask + 1))
        used = 0
        for start in stride(from: 0, to: old.count, by: 4) {
            guard old[start] | old[start + 1] | old[start + 2] | old[start + 3] != 0 else {
                continue
            }
            _ = insert(
                TokenWords(
                    first: old[start], second: old[start + 1], third: old[start + 2],
                    fourth: old[start + 3]))
        }
    }
}
