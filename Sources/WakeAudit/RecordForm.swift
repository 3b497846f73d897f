/// How rows of blobs of fixed lengths lie in the pages of a b-tree without rowids
/// (sqlite.org/fileformat2.html §1.6, §2.1, §2.4). All cells of a page are equally long, which is
/// what makes the rule for the space between them exact.
struct RecordForm: Equatable, Sendable {
    let lengths: [Int]
    let pageSize: Int
    /// The bytes every record begins with: its own length, and the type of each value.
    let header: [UInt8]
    /// Bytes of a record.
    let payloadCount: Int
    /// Bytes of a cell in a leaf: the payload's length and the payload.
    let leafCell: Int
    /// Bytes of a cell above the leaves: a page number before the same.
    var interiorCell: Int { leafCell + 4 }

    /// - Returns: nil when there is no column or a row would not fit without overflow pages.
    init?(lengths: [Int], pageSize: Int) {
        let longest = BTreePage.longestLocalPayload(inIndexOf: pageSize)
        guard !lengths.isEmpty, lengths.allSatisfy({ (1...longest).contains($0) }) else {
            return nil
        }
        var types: [UInt8] = []
        // §2.1: a blob of N bytes has serial type 12 + 2N.
        for length in lengths { types += Varint.encode(UInt64(12 + 2 * length)) }
        guard types.count < 127 else { return nil }
        header = [UInt8(types.count + 1)] + types
        payloadCount = header.count + lengths.reduce(0, +)
        leafCell = Varint.encode(UInt64(payloadCount)).count + payloadCount
        self.lengths = lengths
        self.pageSize = pageSize
        guard payloadCount <= longest else { return nil }
    }

    func cellCount(isLeaf: Bool) -> Int { isLeaf ? leafCell : interiorCell }
}

/// SQLite's big-endian numbers of 1 to 9 bytes (sqlite.org/fileformat2.html §1.6).
enum Varint {
    /// - Returns: nil when the number does not end before `bytes` does.
    static func read(
        _ bytes: Span<UInt8>, at start: Int, before end: Int
    ) -> (value: UInt64, end: Int)? {
        var value: UInt64 = 0
        var position = start
        while position < end {
            let byte = bytes[position]
            position += 1
            if position - start == 9 { return (value << 8 | UInt64(byte), position) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return (value, position) }
        }
        return nil
    }

    /// The shortest form, for values of less than 64 bits.
    static func encode(_ value: UInt64) -> [UInt8] {
        var rest = value >> 7
        var bytes = [UInt8(value & 0x7F)]
        while rest > 0 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes.reversed()
    }
}
