/// Decodes the header blocks of one connection, one after the other (RFC 7541 §3).
package struct HPACKDecoder: Sendable {
    /// The largest size of the sender's table, bytes. 4096 holds until a sender has obeyed our
    /// smaller SETTINGS_HEADER_TABLE_SIZE (RFC 7541 §4.2), and some never do.
    private let limit: Int
    private var table: DynamicTable

    package init(limit: Int = 4096) {
        self.limit = limit
        table = DynamicTable(capacity: limit)
    }

    package var tableSize: Int { table.size }
    package var tableCount: Int { table.count }

    /// Empties `list` first. After an error neither it nor the decoder can be used.
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
                try literal(block, at: &position, prefix: 6, into: &list)
                let last = list.count - 1
                table.insert(name: list.name(last), value: list.value(last))
            } else if byte & 0x20 != 0 {  // §6.3
                let size = try HPACKInteger.read(block, at: &position, prefix: 5)
                guard mayResize, size <= limit else { throw .badTableSize }
                table.resize(to: size)
                continue
            } else {  // §6.2.2, §6.2.3
                try literal(block, at: &position, prefix: 4, into: &list)
            }
            // §4.2: a change of size comes before the first field.
            mayResize = false
        }
    }

    private func indexed(_ index: Int, into list: inout HeaderList) throws(HPACKError) {
        guard index > 0 else { throw .badIndex }
        if index <= StaticTable.count { return try list.appendStatic(index) }
        guard let field = table.field(at: index - StaticTable.count - 1) else { throw .badIndex }
        list.beginField(staticName: 0)
        list.append(field.name)
        list.endName()
        list.append(field.value)
        try list.endField()
    }

    private func literal(
        _ block: Span<UInt8>, at position: inout Int, prefix: Int, into list: inout HeaderList
    ) throws(HPACKError) {
        let index = try HPACKInteger.read(block, at: &position, prefix: prefix)
        if index > 0, index <= StaticTable.count {
            list.beginField(staticName: index)
        } else if index > 0 {
            guard let field = table.field(at: index - StaticTable.count - 1) else {
                throw .badIndex
            }
            list.beginField(staticName: 0)
            list.append(field.name)
            list.endName()
        } else {
            list.beginField(staticName: 0)
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
        if isHuffman { try list.append(huffman: bytes) } else { list.append(bytes) }
    }
}

/// The fault of a header block. Each ends the connection (RFC 9113 §4.3).
package enum HPACKError: Error, Equatable {
    /// Within a field.
    case truncated
    /// An integer of more than 28 bits (RFC 7541 §5.1 asks for a limit).
    case integerTooLarge
    case badIndex
    /// Wrong padding, or end-of-string within a string.
    case badHuffman
    /// A table size above what we allow, or not at the start of the block (RFC 7541 §4.2, §6.3).
    case badTableSize
    case listTooLarge
}

/// The dynamic table (RFC 7541 §2.3.2): newest first.
private struct DynamicTable: Sendable {
    private struct Entry {
        var start: Int
        var nameCount: Int
        var valueCount: Int

        // RFC 7541 §4.1
        var size: Int { nameCount + valueCount + 32 }
    }

    private(set) var size = 0
    private(set) var capacity: Int
    /// Names and values one after the other; those before `first` are dead.
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    private var first = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { entries.count - first }

    /// The field at an index, 0 for the newest; nil when there is none.
    func field(at index: Int) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard index >= 0, index < count else { return nil }
        let entry = entries[entries.count - 1 - index]
        let value = entry.start + entry.nameCount
        return (bytes[entry.start..<value], bytes[value..<value + entry.valueCount])
    }

    mutating func resize(to capacity: Int) {
        self.capacity = capacity
        evict(until: capacity)
    }

    mutating func insert(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let entry = Entry(start: 0, nameCount: name.count, valueCount: value.count)
        guard entry.size <= capacity else {
            // RFC 7541 §4.4: an entry larger than the table empties it, and is no error.
            evict(until: 0)
            return
        }
        evict(until: capacity - entry.size)
        compact()
        var placed = entry
        placed.start = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
        entries.append(placed)
        size += placed.size
    }

    private mutating func evict(until limit: Int) {
        while size > limit {
            size -= entries[first].size
            first += 1
        }
        if first == entries.count {
            entries.removeAll(keepingCapacity: true)
            bytes.removeAll(keepingCapacity: true)
            first = 0
        }
    }

    /// Drops dead entries once they are as many as a full table can hold.
    private mutating func compact() {
        guard first >= 128 else { return }
        let dead = entries[first].start
        bytes.removeFirst(dead)
        entries.removeFirst(first)
        first = 0
        for index in entries.indices { entries[index].start -= dead }
    }
}
