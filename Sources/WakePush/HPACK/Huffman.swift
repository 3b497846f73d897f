/// Strings in HPACK's Huffman code (RFC 7541 §5.2).
enum Huffman {
    /// Appends the plain form of `coded`.
    static func decode(_ coded: Span<UInt8>, into bytes: inout [UInt8]) throws(HPACKError) {
        let code = HuffmanCode.shared
        var place = bytes.count
        // 5 bits a symbol at least; a pair is written even where it has but one.
        bytes.append(contentsOf: repeatElement(0, count: coded.count * 8 / 5 + 2))
        var plain = bytes.mutableSpan
        let pairs = code.pairs.span
        let short = code.short.span
        var bits: UInt64 = 0  // left-aligned; below `count` may be bits that come next
        var count = 0
        var next = 0
        while true {
            if count < 32 { refill(&bits, &count, from: coded, at: &next) }
            let pair = pairs[Int(bits >> (64 - UInt64(HuffmanCode.pairBits)))]
            if pair != 0, count >= HuffmanCode.pairBits {
                plain[place] = UInt8(truncatingIfNeeded: pair)
                plain[place + 1] = UInt8(truncatingIfNeeded: pair >> 8)
                place += Int(pair >> 16 & 3)
                bits <<= UInt64(pair >> 24)
                count -= Int(pair >> 24)
                continue
            }
            let entry = short[Int(bits >> 56)]
            if entry.length > 0, Int(entry.length) <= count {
                plain[place] = entry.symbol
                place += 1
                bits <<= UInt64(entry.length)
                count -= Int(entry.length)
                continue
            }
            guard let (symbol, length) = long(bits, count, code) else { break }
            guard symbol < HuffmanCode.endOfString else { throw .badHuffman }
            plain[place] = UInt8(symbol)
            place += 1
            bits <<= UInt64(length)
            count -= length
        }
        bytes.removeLast(bytes.count - place)
        // RFC 7541 §5.2: what is left is the first bits of end-of-string, at most 7 of them.
        guard count < 8, count == 0 || bits >> UInt64(64 - count) == (1 << UInt64(count)) - 1
        else { throw .badHuffman }
    }

    /// At least 56 bits, while there are as many.
    private static func refill(
        _ bits: inout UInt64, _ count: inout Int, from coded: Span<UInt8>, at next: inout Int
    ) {
        if coded.count - next >= 8 {
            let word = UInt64(coded.big32(at: next)) << 32 | UInt64(coded.big32(at: next + 4))
            bits |= word >> UInt64(count)
            let taken = (63 - count) / 8
            next += taken
            count += taken * 8
            return
        }
        while count <= 56, next < coded.count {
            bits |= UInt64(coded[next]) << UInt64(56 - count)
            count += 8
            next += 1
        }
    }

    /// The symbol of a code of more than 8 bits; nil when the bits end within one.
    private static func long(
        _ bits: UInt64, _ count: Int, _ code: HuffmanCode
    ) -> (symbol: Int, length: Int)? {
        guard count > 8 else { return nil }
        for length in 9...min(HuffmanCode.longest, max(9, count)) where length <= count {
            let value = UInt32(bits >> UInt64(64 - length))
            let first = code.firstCode[length]
            let symbols = code.firstIndex[length]..<code.firstIndex[length + 1]
            guard value >= first, Int(value - first) < symbols.count else { continue }
            return (Int(code.ordered[symbols.lowerBound + Int(value - first)]), length)
        }
        return nil
    }

    /// Bytes that `plain` takes in the code.
    static func codedCount(_ plain: [UInt8]) -> Int {
        let lengths = HuffmanCode.shared.lengths
        return (plain.reduce(0) { $0 + Int(lengths[Int($1)]) } + 7) / 8
    }

    static func encode(_ plain: [UInt8], into bytes: inout [UInt8]) {
        let code = HuffmanCode.shared
        var bits: UInt64 = 0  // right-aligned
        var count = 0
        for byte in plain {
            let length = Int(code.lengths[Int(byte)])
            bits = bits << UInt64(length) | UInt64(code.codes[Int(byte)])
            count += length
            while count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(count)))
            }
        }
        guard count > 0 else { return }
        let padding = UInt64(8 - count)
        bytes.append(UInt8(truncatingIfNeeded: (bits << padding) | ((1 << padding) - 1)))
    }
}
