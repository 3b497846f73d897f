/// Decodes the header blocks of one connection, one after the other (RFC 7541 §3).
package struct HPACKDecoder: Sendable {
    /// What we allow the sender's table to grow to, bytes. 4096 holds until a sender has obeyed our
    /// smaller SETTINGS_HEADER_TABLE_SIZE (RFC 7541 §4.2), and some never do.
    private let limit: Int
    private var table: DynamicTable

    package init(limit: Int = 4096) {
        self.limit = limit
        table = DynamicTable(capacity: limit)
    }

    package var tableSize: Int { table.size }
    package var tableCount: Int { table.count }

    /// - Parameter list: is emptied first. After an error neither it nor the decoder is of use.
    package mutating func decode(
        _ block: Span<UInt8>, into list: inout HeaderList
    ) throws(HPACKError) {
        list.removeAll()
        var position = 0
        var mayResize = true
        while position < block.count {
            let byte = block[position]
            if byte & 0x80 != 0 {  // RFC 7541 §6.1
                let index = try HPACKInteger.read(block, at: &position, prefix: 7)
                try indexed(index, into: &list)
            } else if byte & 0x40 != 0 {  // §6.2.1
                try literal(block, at: &position, prefix: 6, false, into: &list)
                try insertLast(of: list)
            } else if byte & 0x20 != 0 {  // §6.3
                let size = try HPACKInteger.read(block, at: &position, prefix: 5)
                guard mayResize, size <= limit else { throw .badTableSize }
                table.resize(to: size)
                continue
            } else {  // §6.2.2, §6.2.3
                try literal(block, at: &position, prefix: 4, byte & 0x10 != 0, into: &list)
            }
            // §4.2: a change of size comes before the first field.
            mayResize = false
        }
    }

    private func indexed(_ index: Int, into list: inout HeaderList) throws(HPACKError) {
        guard index > 0 else { throw .badIndex }
        if index <= StaticTable.count { return try list.appendStatic(index) }
        guard let name = table.name(at: index - StaticTable.count - 1),
            let value = table.value(at: index - StaticTable.count - 1)
        else { throw .badIndex }
        list.beginField(staticName: 0, isSensitive: false)
        list.append(name)
        list.endName()
        list.append(value)
        try list.endField()
    }

    private func literal(
        _ block: Span<UInt8>, at position: inout Int, prefix: Int, _ isSensitive: Bool,
        into list: inout HeaderList
    ) throws(HPACKError) {
        let index = try HPACKInteger.read(block, at: &position, prefix: prefix)
        if index > 0, index <= StaticTable.count {
            list.beginField(staticName: index, isSensitive: isSensitive)
        } else if index > 0 {
            guard let name = table.name(at: index - StaticTable.count - 1) else {
                throw .badIndex
            }
            list.beginField(staticName: 0, isSensitive: isSensitive)
            list.append(name)
            list.endName()
        } else {
            list.beginField(staticName: 0, isSensitive: isSensitive)
            try string(block, at: &position, into: &list)
            list.endName()
        }
        try string(block, at: &position, into: &list)
        try list.endField()
    }

    /// RFC 7541 §5.2
    private func string(
        _ block: Span<UInt8>, at position: inout Int, into list: inout HeaderList
    ) throws(HPACKError) {
        guard position < block.count else { throw .truncated }
        let isHuffman = block[position] & 0x80 != 0
        let count = try HPACKInteger.read(block, at: &position, prefix: 7)
        guard count <= block.count - position else { throw .truncated }
        let bytes = block.extracting(position..<position + count)
        position += count
        if isHuffman {
            try list.append(huffman: bytes)
        } else {
            list.append(bytes)
        }
    }

    private mutating func insertLast(of list: HeaderList) throws(HPACKError) {
        table.insert(name: list.name(list.count - 1), value: list.value(list.count - 1))
    }
}
