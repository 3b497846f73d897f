/// Distinct push tokens: one after the other in chunks, and a flat table of places with open
/// addressing, at most half full. A million tokens take 48 MiB, and about one cache miss each.
struct TokenSet {
    /// Tokens in a chunk, as a power of two.
    private static let chunkBits = 14

    /// Four words a token.
    private var chunks: [[UInt64]] = []
    private var used = 0
    /// The upper half is that of the token's hash, the lower its number from 1; 0: free.
    private var places = [UInt64](repeating: 0, count: 8192)
    /// Tokens of more than 32 bytes.
    private var long: Set<PushTokenBytes> = []

    var count: Int { used + long.count }

    /// - Returns: false when the token was there already.
    mutating func insert(_ token: PushTokenBytes) -> Bool {
        if token.rest != nil { return long.insert(token).inserted }
        if used * 2 >= places.count { grow() }
        let hash = Self.hash(token.words)
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while case let known = places[place], known != 0 {
            if (known ^ hash) >> 32 == 0, isSame(known, token.words) { return false }
            place = (place + 1) & mask
        }
        append(token.words)
        places[place] = (hash >> 32) << 32 | UInt64(used)
        return true
    }

    private func isSame(_ known: UInt64, _ token: TokenWords) -> Bool {
        let number = Int(known & 0xFFFF_FFFF) - 1
        let start = (number & (1 << Self.chunkBits - 1)) * 4
        let chunk = chunks[number >> Self.chunkBits]
        return chunk[start] == token.first && chunk[start + 1] == token.second
            && chunk[start + 2] == token.third && chunk[start + 3] == token.fourth
    }

    private mutating func append(_ token: TokenWords) {
        precondition(used < UInt32.max, "more push tokens than there are people")
        if used & (1 << Self.chunkBits - 1) == 0 {
            var chunk: [UInt64] = []
            chunk.reserveCapacity(4 << Self.chunkBits)
            chunks.append(chunk)
        }
        let last = chunks.count - 1
        chunks[last].append(token.first)
        chunks[last].append(token.second)
        chunks[last].append(token.third)
        chunks[last].append(token.fourth)
        used += 1
    }

    /// Tokens may be consecutive numbers: all bits of them reach both halves.
    private static func hash(_ token: TokenWords) -> UInt64 {
        var mixed = token.first ^ token.second &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ token.third) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 29 ^ token.fourth) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Four times the places, from the tokens: the table holds half a hash only.
    private mutating func grow() {
        places = [UInt64](repeating: 0, count: places.count * 4)
        let mask = places.count - 1
        var number: UInt64 = 0
        for chunk in chunks {
            for start in stride(from: 0, to: chunk.count, by: 4) {
                number += 1
                let hash = Self.hash(
                    TokenWords(
                        first: chunk[start], second: chunk[start + 1], third: chunk[start + 2],
                        fourth: chunk[start + 3]))
                var place = Int(truncatingIfNeeded: hash) & mask
                while places[place] != 0 { place = (place + 1) & mask }
                places[place] = (hash >> 32) << 32 | number
            }
        }
    }
}
