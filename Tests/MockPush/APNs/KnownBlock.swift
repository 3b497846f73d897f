/// A header block of a request that deserved to be delivered. The same bytes but for the push token
/// mean the same fields again, as long as the decoder's table has not changed and the clock still
/// shows the same second (provider tokens age, and expirations come).
struct KnownBlock {
    private let block: [UInt8]
    /// Where the 64 digits of the push token are.
    private let tokenAt: Int
    private let second: Int
    /// Which fields it holds: see `RequestCheck.open`.
    let profile: Int

    private static let path = Array("/3/device/".utf8)
    private static let digits = 64

    /// Nil when the block changes the table, or its path is not one plain literal with a token of
    /// 32 bytes.
    /// - Parameter token: what the whole look at it has found.
    init?(_ block: Span<UInt8>, token: TokenWords, second: Int, profile: Int) {
        guard let value = Self.pathValue(of: block), value.count == Self.path.count + Self.digits,
            TokenWords(hex: block, at: value.lowerBound + Self.path.count) == token
        else { return nil }
        for index in Self.path.indices where block[value.lowerBound + index] != Self.path[index] {
            return nil
        }
        var copy: [UInt8] = []
        copy.reserveCapacity(block.count)
        for index in block.indices { copy.append(block[index]) }
        self.block = copy
        tokenAt = value.lowerBound + Self.path.count
        self.second = second
        self.profile = profile
    }

    /// The push token of another such block; nil when it must be looked at in full.
    func token(of other: Span<UInt8>, second: Int) -> TokenWords? {
        let end = tokenAt + Self.digits
        guard second == self.second, other.count == block.count,
            Bytes.same(other, block, 0..<tokenAt), Bytes.same(other, block, end..<block.count)
        else { return nil }
        return TokenWords(hex: other, at: tokenAt)
    }

    /// Walks the representations of RFC 7541 §6; nil as soon as one would change the table.
    private static func pathValue(of block: Span<UInt8>) -> Range<Int>? {
        var position = 0
        var found: Range<Int>?
        while position < block.count {
            let byte = block[position]
            if byte & 0x80 != 0 {
                guard integer(block, &position, mask: 0x7F) != nil else { return nil }
                continue
            }
            guard byte & 0xE0 == 0, let name = integer(block, &position, mask: 0x0F) else {
                return nil
            }
            if name == 0, string(block, &position) == nil { return nil }
            let isHuffman = position < block.count && block[position] & 0x80 != 0
            guard let value = string(block, &position) else { return nil }
            // RFC 7541 appendix A: 4 and 5 are named `:path`.
            if name == 4 || name == 5 {
                if isHuffman || found != nil { return nil }
                found = value
            }
        }
        return found
    }

    private static func string(_ block: Span<UInt8>, _ position: inout Int) -> Range<Int>? {
        guard let count = integer(block, &position, mask: 0x7F), count <= block.count - position
        else { return nil }
        defer { position += count }
        return position..<position + count
    }

    /// RFC 7541 §5.1
    private static func integer(
        _ block: Span<UInt8>, _ position: inout Int, mask: UInt8
    ) -> Int? {
        guard position < block.count else { return nil }
        var value = Int(block[position] & mask)
        position += 1
        if value < Int(mask) { return value }
        for shift in stride(from: 0, through: 21, by: 7) {
            guard position < block.count else { return nil }
            let byte = block[position]
            position += 1
            value += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
