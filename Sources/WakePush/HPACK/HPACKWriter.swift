/// Writes single representations of fields (RFC 7541 §6).
package enum HPACKWriter {
    package enum Indexing {
        /// Into the peer's table (§6.2.1).
        case incremental
        /// §6.2.2
        case without
        /// Into no table, not even on a further hop: secrets (§6.2.3, §7.1.3).
        case never
    }

    static func indexed(_ index: Int, into block: inout [UInt8]) {
        HPACKInteger.write(index, prefix: 7, pattern: 0x80, into: &block)
    }

    /// §6.3
    static func tableSize(_ size: Int, into block: inout [UInt8]) {
        HPACKInteger.write(size, prefix: 5, pattern: 0x20, into: &block)
    }

    /// A literal up to its value, its name by index in the static table or, nil, written out.
    static func literalName(
        _ name: [UInt8], staticName: Int?, _ indexing: Indexing, into block: inout [UInt8]
    ) {
        let (prefix, pattern): (Int, UInt8) =
            switch indexing {
            case .incremental: (6, 0x40)
            case .without: (4, 0x00)
            case .never: (4, 0x10)
            }
        HPACKInteger.write(staticName ?? 0, prefix: prefix, pattern: pattern, into: &block)
        if staticName == nil { string(name, into: &block) }
    }

    /// A literal, its name by the static table where that has it.
    package static func literal(
        name: [UInt8], value: [UInt8], _ indexing: Indexing, into block: inout [UInt8]
    ) {
        let index = StaticTable.find(name: name, value: value).name
        literalName(name, staticName: index, indexing, into: &block)
        string(value, into: &block)
    }

    /// In the Huffman code where that is shorter.
    static func string(_ bytes: [UInt8], into block: inout [UInt8]) {
        let coded = Huffman.codedCount(bytes)
        if coded < bytes.count {
            HPACKInteger.write(coded, prefix: 7, pattern: 0x80, into: &block)
            Huffman.encode(bytes, into: &block)
        } else {
            HPACKInteger.write(bytes.count, prefix: 7, into: &block)
            block.append(contentsOf: bytes)
        }
    }

    /// The index of a field that the static table holds, or a literal.
    static func literalOrIndex(_ name: String, _ value: String, into block: inout [UInt8]) {
        let name = Array(name.utf8)
        let value = Array(value.utf8)
        if let whole = StaticTable.find(name: name, value: value).whole {
            indexed(whole, into: &block)
        } else {
            literal(name: name, value: value, .without, into: &block)
        }
    }
}

/// Integers with a prefix of 1 to 8 bits (RFC 7541 §5.1).
enum HPACKInteger {
    static func read(
        _ bytes: Span<UInt8>, at position: inout Int, prefix: Int
    ) throws(HPACKError) -> Int {
        guard position < bytes.count else { throw .truncated }
        let mask = (1 << prefix) - 1
        var value = Int(bytes[position]) & mask
        position += 1
        if value < mask { return value }
        var shift = 0
        while true {
            guard position < bytes.count else { throw .truncated }
            let byte = bytes[position]
            position += 1
            value += Int(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
            // 4 bytes hold more than any length we accept.
            guard shift <= 21 else { throw .integerTooLarge }
        }
    }

    /// Appends `value`; `pattern` holds the bits above the prefix.
    static func write(_ value: Int, prefix: Int, pattern: UInt8 = 0, into bytes: inout [UInt8]) {
        precondition(value >= 0, "lengths and indices are not negative")
        let mask = (1 << prefix) - 1
        guard value >= mask else {
            bytes.append(pattern | UInt8(value))
            return
        }
        bytes.append(pattern | UInt8(mask))
        var rest = value - mask
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
