import WakeSystem

/// Strings in HPACK's Huffman code (RFC 7541 §5.2).
enum Huffman {
    static func decode(_ coded: Span<UInt8>, into bytes: inout [UInt8]) throws(HPACKError) {
        let code = HuffmanCode.shared
        var place = bytes.count
        // 5 bits a symbol at least; a pair is always written as two bytes.
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
        // RFC 7541 §5.2: the rest is a beginning of end-of-string, at most 7 bits.
        guard count < 8, count == 0 || bits >> UInt64(64 - count) == (1 << UInt64(count)) - 1
        else { throw .badHuffman }
    }

    /// Fills up to at least 56 bits, if there are that many.
    private static func refill(
        _ bits: inout UInt64, _ count: inout Int, from coded: Span<UInt8>, at next: inout Int
    ) {
        if coded.count - next >= 8 {
            bits |= coded.bigEndian(at: next, as: UInt64.self) >> UInt64(count)
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

    /// The size of `plain` in the code, bytes.
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

/// The Huffman code of HPACK (RFC 7541 appendix B): canonical, so that the lengths define it.
struct HuffmanCode: Sendable {
    static let shared = HuffmanCode()
    /// End of string; never part of one (RFC 7541 §5.2).
    static let endOfString = 256
    static let longest = 30

    /// Code of each symbol, right-aligned, and its length in bits.
    let codes: [UInt32]
    let lengths: [UInt8]
    /// For the next 8 bits: symbol and length of a code of at most 8 bits, or length 0.
    let short: [(symbol: UInt8, length: UInt8)]
    static let pairBits = 12
    /// For the next 12 bits: the one or two symbols they begin with (bits 0 to 15), the number of
    /// symbols (16 and 17) and of their bits (24 on), or 0.
    let pairs: [UInt32]
    /// Symbols by length, then value; for each length the first code and its symbols' first index.
    let ordered: [UInt16]
    let firstCode: [UInt32]
    let firstIndex: [Int]

    private init() {
        let lengths = Self.codeLengths
        var codes = [UInt32](repeating: 0, count: lengths.count)
        var short = [(symbol: UInt8, length: UInt8)](repeating: (0, 0), count: 256)
        var ordered: [UInt16] = []
        var firstCode = [UInt32](repeating: 0, count: Self.longest + 2)
        var firstIndex = [Int](repeating: 0, count: Self.longest + 2)
        var code: UInt32 = 0
        for length in 1...Self.longest {
            code <<= 1
            firstCode[length] = code
            firstIndex[length] = ordered.count
            for symbol in lengths.indices where Int(lengths[symbol]) == length {
                codes[symbol] = code
                ordered.append(UInt16(symbol))
                if length <= 8 {
                    let first = Int(code) << (8 - length)
                    for entry in first..<first + (1 << (8 - length)) {
                        short[entry] = (UInt8(symbol), UInt8(length))
                    }
                }
                code += 1
            }
        }
        firstIndex[Self.longest + 1] = ordered.count
        self.lengths = lengths
        self.codes = codes
        self.short = short
        pairs = (0..<1 << Self.pairBits).map { Self.pair(UInt32($0), short) }
        self.ordered = ordered
        self.firstCode = firstCode
        self.firstIndex = firstIndex
    }

    private static func pair(_ bits: UInt32, _ short: [(symbol: UInt8, length: UInt8)]) -> UInt32 {
        let first = short[Int(bits >> 4)]
        guard first.length > 0 else { return 0 }
        let rest = bits << UInt32(first.length) & 0xfff
        let second = short[Int(rest >> 4)]
        let length = UInt32(first.length) + UInt32(second.length)
        guard second.length > 0, length <= UInt32(pairBits) else {
            return UInt32(first.length) << 24 | 1 << 16 | UInt32(first.symbol)
        }
        return length << 24 | 2 << 16 | UInt32(second.symbol) << 8 | UInt32(first.symbol)
    }

    private static let codeLengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28,
        28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11,
        10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8,
        15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5,
        6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
        7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
        23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21,
        23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25,
        26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26,
        28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]
}
