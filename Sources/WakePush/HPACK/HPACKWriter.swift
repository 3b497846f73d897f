/// Writes single representations of fields (RFC 7541 §6).
package enum HPACKWriter {
    package enum Indexing {
        /// Both sides remember the field (§6.2.1).
        case incremental
        /// Nobody remembers it (§6.2.2).
        case without
        /// Nobody ever may, not even on a further hop: secrets (§6.2.3, §7.1.3).
        case never
    }

    static func indexed(_ index: Int, into block: inout [UInt8]) {
        HPACKInteger.write(index, prefix: 7, pattern: 0x80, into: &block)
    }

    /// §6.3
    static func tableSize(_ size: Int, into block: inout [UInt8]) {
        HPACKInteger.write(size, prefix: 5, pattern: 0x20, into: &block)
    }

    /// The first byte or bytes of a literal, up to its value.
    /// - Parameter staticName: index of the name in the static table; nil writes it out.
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

    /// In the Huffman code where that is shorter: strings are coded once and sent a million times.
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
}

extension HPACKWriter {
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
