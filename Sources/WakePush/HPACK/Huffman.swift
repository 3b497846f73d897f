/// Strings in HPACK's Huffman code (RFC 7541 §5.2).
enum Huffman {
    /// Appends the plain form of `coded`.
    static func decode(_ coded: Span<UInt8>, into bytes: inout [UInt8]) throws(HPACKError) {
        let code = HuffmanCode.shared
        var bits: UInt64 = 0  // left-aligned
        var count = 0
        var next = 0
        while true {
            while count <= 56, next < coded.count {
                bits |= UInt64(coded[next]) << UInt64(56 - count)
                count += 8
                next += 1
            }
            let entry = code.short[Int(bits >> 56)]
            if entry.length > 0, Int(entry.length) <= count {
                bytes.append(entry.symbol)
                bits <<= UInt64(entry.length)
                count -= Int(entry.length)
                continue
            }
            guard let (symbol, length) = long(bits, count, code) else { break }
            guard symbol < HuffmanCode.endOfString else { throw .badHuffman }
            bytes.append(UInt8(symbol))
            bits <<= UInt64(length)
            count -= length
        }
        // RFC 7541 §5.2: what is left is the first bits of end-of-string, at most 7 of them.
        guard count < 8, count == 0 || bits >> UInt64(64 - count) == (1 << UInt64(count)) - 1
        else { throw .badHuffman }
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
