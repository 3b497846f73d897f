/// The Huffman code of HPACK (RFC 7541 appendix B). The code is canonical: symbols of one length
/// have consecutive codes in the order of their values, so the lengths say everything.
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
    /// Bits by which `pairs` is asked: two symbols of what headers mostly consist of.
    static let pairBits = 12
    /// For the next 12 bits: the one or two symbols that they begin with (bits 0 to 15), how many
    /// these are (16 and 17) and the bits they take (24 on), or 0.
    let pairs: [UInt32]
    /// Symbols ordered by length, then value; for each length the first code and where its symbols
    /// begin.
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
