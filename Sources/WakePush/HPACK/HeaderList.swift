import WakeSystem

/// The fields of one header block, in an arena that is reused. Holds secrets: never shown.
package struct HeaderList: Sendable, Redacted {
    /// Most bytes of names, values and 32 a field (RFC 9113 §6.5.2): far above any honest answer.
    package static let limit = 65_536

    struct Field {
        /// Index of the name in the static table, or 0: the name is in the arena.
        var staticName: Int
        /// The value, too, is that of the static table.
        var isStatic: Bool
        var start: Int
        var nameCount: Int
        var valueCount: Int
    }

    private(set) var fields: [Field] = []
    private var bytes: [UInt8] = []
    private var size = 0

    package init() {}

    package var count: Int { fields.count }

    package mutating func removeAll() {
        fields.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        size = 0
    }

    package func name(_ index: Int) -> ArraySlice<UInt8> {
        let field = fields[index]
        if field.staticName > 0 { return StaticTable.names[field.staticName][...] }
        return bytes[field.start..<field.start + field.nameCount]
    }

    package func value(_ index: Int) -> ArraySlice<UInt8> {
        let field = fields[index]
        if field.isStatic { return StaticTable.values[field.staticName][...] }
        let start = field.start + field.nameCount
        return bytes[start..<start + field.valueCount]
    }

    mutating func appendStatic(_ index: Int) throws(HPACKError) {
        fields.append(
            Field(staticName: index, isStatic: true, start: 0, nameCount: 0, valueCount: 0))
        try grow(by: 64)
    }

    /// Begins a field; the decoder appends the value to the arena, then calls `endField`.
    mutating func beginField(staticName: Int) {
        fields.append(
            Field(
                staticName: staticName, isStatic: false, start: bytes.count, nameCount: 0,
                valueCount: 0))
    }

    mutating func append(_ span: Span<UInt8>) { bytes.append(span: span) }
    mutating func append(_ slice: ArraySlice<UInt8>) { bytes.append(contentsOf: slice) }

    mutating func append(huffman coded: Span<UInt8>) throws(HPACKError) {
        // 5 bits a symbol at least: the result is bounded before it is made.
        guard size + bytes.count + coded.count * 2 <= 2 * Self.limit else { throw .listTooLarge }
        try Huffman.decode(coded, into: &bytes)
    }

    mutating func endName() {
        let last = fields.count - 1
        fields[last].nameCount = bytes.count - fields[last].start
    }

    mutating func endField() throws(HPACKError) {
        let last = fields.count - 1
        let used = bytes.count - fields[last].start
        fields[last].valueCount = used - fields[last].nameCount
        try grow(by: used + 32)
    }

    private mutating func grow(by count: Int) throws(HPACKError) {
        size += count
        guard size <= Self.limit else { throw .listTooLarge }
    }
}
